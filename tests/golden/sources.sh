#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Where symbols come from: stripped programs whose names are in the cache, in a mounted guest, in
# .gnu_debugdata or on a debuginfod server. Stock perf says what the names are.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
command -v perf >/dev/null || skip_all "no perf"
export PERF_CONFIG=/dev/null
unset DEBUGINFOD_URLS
cd "$TMPDIR" || exit 1

cat >source.c <<END
volatile long sum;

static __attribute__((noinline)) void add_up(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
}

int main(void)
{
	for (int i = 0; i < 300; i++)
		add_up(1000000);
	return 0;
}
END
cc -O1 -g -Wl,--build-id=sha1 -o whole source.c || skip_all "no compiler"
strip -o program whole
strip --only-keep-debug -o program.debug whole
perf record -q -F 997 -o data -- ./program >perf.log 2>&1 ||
	skip_all "perf cannot record: $(head -n 1 perf.log)"
# Nothing of it is found by accident: neither the program nor perf's copy.
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir moved
mv program moved/

# names OPTIONS…: the symbols of the program's samples, most frequent first
names() {
	mkdir -p cache
	"$KVMPROF" script --buildid-dir "$PWD/cache" -i data -F comm,ip,sym "$@" 2>err.txt |
		awk '$1 == "program" { print $3 }' | sed 's/+0x.*//' | sort | uniq -c | sort -rn |
		awk '{ print $2; exit }'
}

# The recording has no build id for it unless the kernel or perf put it there.
perf buildid-list -i data 2>/dev/null | grep -q "^$id" ||
	skip_all "perf records no build ids here"

same "without any source" '[unknown]' "$(names)"
names >/dev/null
contains "what is missing is said" "$(grep -c 'no symbols found' err.txt) $(cat err.txt)" \
	"1 kvmprof: no symbols found of $PWD/program, build id $id"
contains "and where it can be said to be" "$(cat err.txt)" "--buildid-dir DIR"
for command in script 'script --folded' report 'flamegraph -o none.html'; do
	for option in buildid-dir guestvmlinux guestkallsyms; do
		# shellcheck disable=SC2086 # words
		status "$command --$option that is not there" 1 "$KVMPROF" $command -i data \
			--$option nowhere
		contains "is said" "$tap_output" "--$option nowhere: not found"
	done
done

# Segments, by which addresses are found, are in the program; the debug file alone is not enough.
"$KVMPROF" cache add --buildid-dir "$PWD/cache" program.debug moved/program
same "the cache" add_up "$(names)"
same "not asked" '[unknown]' "$(names --symbol-sources host)"
rm -rf cache

# A mounted guest, by pid as perf kvm has it, and as it is; another's program in its place.
mkdir -p "mount/4711$PWD" "mount/4712$PWD"
cp whole "mount/4711$PWD/program"
cp "$KVMPROF" "mount/4712$PWD/program"
same "--guestmount DIR/PID" add_up "$(names --guestmount mount)"
same "--guestmount DIR" add_up "$(names --guestmount mount/4711)"
same "--guestmount of another guest" '[unknown]' "$(names --guestmount mount/4712)"
names --guestmount mount/4712 -v >/dev/null
contains "that is told with -v" "$(cat err.txt)" "another build id"
names --guestmount mount/4712 >/dev/null
lacks "and not without" "$(cat err.txt)" "another build id"

# What a page cache has of it: not the code. Stock perf finds the names in what was made of that, at
# the right addresses.
perfs() {
	perf --buildid-dir "$PWD/cache" script -i data -F comm,ip,sym 2>/dev/null |
		awk '$1 == "program" { print $3 }' | sort | uniq -c | sort -rn |
		awk '{ print $2; exit }'
}
same "perf without any source" '[unknown]' "$(perfs)"
same "a part is stored as one" "a part" "$("$BUILD/tests/make-partial" whole cache 1 1)"
same "names from a part" add_up "$(names --symbol-sources cache)"
same "perf's, too" add_up "$(perfs)"
contains "perf lists it" "$(perf --buildid-dir "$PWD/cache" buildid-cache --list)" "$id"
same "less of it changes nothing" "a part" "$("$BUILD/tests/make-partial" whole cache 1 2)"
same "names from what there was" add_up "$(names --symbol-sources cache)"
same "all of it" whole "$("$BUILD/tests/make-partial" whole cache 0 0)"
check "is the file" cmp whole "cache/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-)/elf"
same "perf's names from all of it" add_up "$(perfs)"
rm -rf cache
same "no header, no file" 1 "$("$BUILD/tests/make-partial" whole cache 0 1 >/dev/null; echo $?)"
same "nothing is stored" '' "$(find cache -name elf 2>/dev/null)"

# What stripped programs keep, as Fedora makes it.
if command -v xz >/dev/null; then
	nm -D whole --format=posix --defined-only | awk '{ print $1 }' | sort >dynamic
	nm whole --format=posix --defined-only |
		awk '$2 == "T" || $2 == "t" { print $1 }' | sort | comm -13 dynamic - >keep
	objcopy -S --remove-section .gdb_index --remove-section .comment \
		--keep-symbols=keep program.debug mini >mini.log 2>&1
	xz -k mini
	objcopy --add-section .gnu_debugdata=mini.xz moved/program mini-program
	lacks "the program has no .symtab" "$(readelf -S mini-program)" .symtab
	"$KVMPROF" cache add --buildid-dir "$PWD/cache" mini-program
	same ".gnu_debugdata" add_up "$(names)"
	rm -rf cache
else
	skip ".gnu_debugdata" "no xz"
fi

# The client's library, and a server on the loopback.
DEBUGINFOD_URLS=http://127.0.0.1:1/ DEBUGINFOD_CACHE_PATH=$PWD/no-client
export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
same "a server that is not there" '[unknown]' "$(names)"
lacks "is no failure" "$(cat err.txt)" error
mkdir broken
: >broken/libdebuginfod.so.1
LD_LIBRARY_PATH=$PWD/broken names >/dev/null
contains "without the client's library it says so" "$(cat err.txt)" "libdebuginfod.so.1 is not there"
LD_LIBRARY_PATH=$PWD/broken DEBUGINFOD_URLS='' names >/dev/null
lacks "but only when servers are asked for" "$(cat err.txt)" libdebuginfod
if command -v debuginfod >/dev/null; then
	mkdir served
	cp program.debug moved/program served/
	port=$((20000 + $$ % 20000))
	DEBUGINFOD_URLS='' debuginfod -F -p "$port" -d "$PWD/server.sqlite" -t 0 -g 0 \
		"$PWD/served" >server.log 2>&1 &
	server=$!
	DEBUGINFOD_URLS=http://127.0.0.1:$port/
	for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		DEBUGINFOD_CACHE_PATH=$PWD/client-$second
		found=$(names)
		[ "$found" != add_up ] || break
		kill -0 "$server" 2>/dev/null || break
		sleep 1
	done
	same "debuginfod" add_up "$found"
	DEBUGINFOD_CACHE_PATH=$PWD/client-other
	same "debuginfod is not asked" '[unknown]' "$(names --symbol-sources cache,host)"
	DEBUGINFOD_CACHE_PATH=$PWD/client-only
	same "debuginfod alone" add_up "$(names --symbol-sources debuginfod)"
	kill "$server"
	wait "$server" 2>/dev/null
	same "what was fetched stays" add_up "$(names)"
	DEBUGINFOD_CACHE_PATH=$PWD/client-none
	same "and the server is gone" '[unknown]' "$(names)"
else
	skip "debuginfod" "no debuginfod"
fi
unset DEBUGINFOD_URLS

# C++ names.
cat >source.cc <<END
volatile long sum;
namespace space { struct thing { void work(long n); }; }
__attribute__((noinline)) void space::thing::work(long n)
{
	for (long i = 0; i < n; i++)
		sum += i;
}
int main()
{
	space::thing t;
	for (int i = 0; i < 300; i++)
		t.work(1000000);
}
END
if g++ -O1 -o program source.cc 2>/dev/null; then
	perf record -q -F 997 -o data -- ./program >perf.log 2>&1
	same "demangled" 'space::thing::work' "$(names)"
	same "--no-demangle" _ZN5space5thing4workEl "$(names --no-demangle)"
	contains "report --no-demangle" "$("$KVMPROF" report -i data --no-demangle)" _ZN5space
	lacks "report" "$("$KVMPROF" report -i data)" _ZN5space
	"$KVMPROF" flamegraph -i data -o - --no-demangle >page.html
	contains "flamegraph --no-demangle" "$(grep -o '_ZN5space5thing4workEl' page.html | head -n 1)" \
		_ZN5space
	"$KVMPROF" flamegraph -i data -o - >page.html
	same "flamegraph" '' "$(grep -o '_ZN5space5thing4workEl' page.html | head -n 1)"
else
	skip "demangling" "no g++"
fi

for list in '' nothing 'cache,cache' gateway; do
	status "--symbol-sources '$list'" 2 "$KVMPROF" script -i data --symbol-sources "$list"
done
tap_done
