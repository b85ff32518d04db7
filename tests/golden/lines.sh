#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Inlined functions and source lines against perf script's.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
command -v perf >/dev/null || skip_all "no perf"
command -v addr2line >/dev/null || skip_all "no addr2line, which perf asks"
export PERF_CONFIG=/dev/null
unset DEBUGINFOD_URLS
cd "$TMPDIR" || exit 1

cat >source.c <<END
volatile long sum;

static inline __attribute__((always_inline)) void innermost(long i)
{
	sum += i;
	sum ^= i;
}

static inline __attribute__((always_inline)) void middle(long n)
{
	for (long i = 0; i < n; i++)
		innermost(i);
}

static __attribute__((noinline)) void work(long n)
{
	middle(n);
	asm volatile("");
}

int main(void)
{
	for (int i = 0; i < 300; i++)
		work(1000000);
	return 0;
}
END
cc -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o program source.c ||
	skip_all "no compiler"
perf record -q -g -e cpu-clock:u -F 997 -o data -- ./program >perf.log 2>&1 ||
	skip_all "$(why perf.cpu-clock "perf cannot record: $(head -n 1 perf.log)")"

# perf 6.1 looks for inlined functions only where it unwinds by DWARF itself; it asks addr2line, and so
# do we: for each address the names, innermost first, without the function that is really called.
"$KVMPROF" script -i data --inline -F comm,ip,sym,dso >ours.txt
# Those of the program: the loader can have been sampled, too, and it has lines on some machines.
awk '$NF == "(inlined)" { held[n++] = $1 " " $2; next }
	/\/program\)$/ { for (i = 0; i < n; i++) print held[i] }
	{ n = 0 }' ours.txt | sort -u >inlined.txt
awk '{ print $1 }' inlined.txt | sort -u | while read -r address; do
	addr2line -f -i -e program "$address" | awk -v address="$address" 'NR % 2 { name[n++] = $1 }
		END { for (i = 0; i < n - 1; i++) print address, name[i] }'
done | sort -u >wanted.txt
same "inlined functions" '' "$(diff inlined.txt wanted.txt | head -n 20)"
check "there are some of the program" [ -s inlined.txt ]
contains "there are some" "$(cat ours.txt)" "innermost (inlined)"
contains "into each other" "$(cat ours.txt)" "middle (inlined)"
check "innermost first" grep -q 'innermost middle work' <<END
$(awk '{ printf "%s ", $2 }' ours.txt)
END
# Of libraries binutils and elfutils name some files otherwise.
"$KVMPROF" script -i data -F comm,ip,sym,srcline | grep 'source.c:' >ours.txt
perf script -i data --no-inline -F comm,ip,sym,srcline 2>perf.err | grep 'source.c:' >perfs.txt
same "source lines" '' "$(diff ours.txt perfs.txt | head -n 20)"
contains "there are some lines" "$(cat ours.txt)" "source.c:5"
lacks "not without being asked" "$("$KVMPROF" script -i data)" inlined
"$KVMPROF" script -i data --max-stack 2 --inline -F ip,sym >short.txt
# The deepest: a sample of the program's start may have one frame only.
same "--max-stack counts them" 2 "$(awk 'NF { n++ } n > max { max = n } !NF { n = 0 }
	END { print max }' short.txt)"
contains "report --inline" "$("$KVMPROF" report -i data --inline --no-children)" innermost
lacks "report" "$("$KVMPROF" report -i data --no-children)" innermost
contains "folded" "$("$KVMPROF" script -i data --inline --folded)" ';work;middle;innermost '
"$KVMPROF" flamegraph -i data --inline -o - >page.html
contains "flamegraph --inline" "$(grep -o '"innermost"' page.html | head -n 1)" innermost

# The same from a debug file in the cache.
objcopy --only-keep-debug program program.debug
strip program
"$KVMPROF" cache add --buildid-dir cache program program.debug
contains "by a debug file" "$("$KVMPROF" script -i data --buildid-dir cache --inline -F ip,sym \
	--symbol-sources cache)" "innermost (inlined)"
tap_done
