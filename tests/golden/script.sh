#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `kvmprof script` against `perf script`, byte for byte, on files of every kind that perf writes.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
# shellcheck source=tests/lib/recordings.sh
. "$SRC/tests/lib/recordings.sh"

# without_stubs FILE: whose stubs the linker made; perf 6.1 mistakes some (golden/names has them)
without_stubs() {
	sed -i -E 's/^([[:space:]]+[0-9a-f]+ ).*@plt/\1@plt/; s/;[^;]*@plt/;@plt/g' "$1"
}

# same_script NAME FILE OPTIONS…: both print the same, and something
same_script() {
	name=$1 file=$2
	shift 2
	perf script -i "$file" "$@" >perfs.txt 2>perf.err
	if ! "$KVMPROF" script -i "$file" "$@" >ours.txt 2>ours.err; then
		fail "$name" "$(cat ours.err)"
	elif ! [ -s perfs.txt ]; then
		fail "$name" "perf printed nothing: $(cat perf.err)"
	elif without_stubs ours.txt && without_stubs perfs.txt && cmp -s ours.txt perfs.txt; then
		pass "$name"
	else
		fail "$name" "$(diff ours.txt perfs.txt | head -n 20)"
	fi
}

perf_record chains.data -F 2000 -g
same_script "chains" chains.data
same_script "pid and tid" chains.data -F comm,pid,tid,time,event,ip,sym,dso
same_script "addresses only" chains.data -F ip
same_script "no addresses" chains.data -F comm,tid,time,period,event
same_script "changed fields" chains.data -F +pid,-period
same_script "nanoseconds" chains.data --ns
same_script "few frames" chains.data --max-stack 3
same_script "a command" chains.data --comms deepcalls
perf_record plain.data -F 2000
same_script "no chains" plain.data
perf_record events.data -F 1000 -e cpu-clock -e page-faults -e context-switches -g
same_script "several events" events.data
perf_record packed.data -F 2000 -g -z
same_script "compressed" packed.data
perf record -q -o - -F 2000 -g -- "$BUILD/bench/deepcalls" 0.5 >pipe.data 2>perf.log
same_script "pipe form" pipe.data
perf_record cpus.data -F 2000 -g -a
same_script "all CPUs" cpus.data
perf_record switched.data -F 1000 -g --switch-events --namespaces
same_script "records that do not matter here" switched.data

"$KVMPROF" script -i - <pipe.data >ours.txt
same "pipe form on standard input" "$("$KVMPROF" script -i pipe.data | cksum)" "$(cksum <ours.txt)"
same "pipe form through a pipe" "$(cksum <ours.txt)" \
	"$(dd if=pipe.data bs=4k 2>/dev/null | "$KVMPROF" script -i - | cksum)"

# A file on standard input, wherever the shell has read it to; through a pipe it is refused.
same "a file on standard input" "$("$KVMPROF" script -i plain.data | cksum)" \
	"$("$KVMPROF" script -i - <plain.data | cksum)"
same "a file on standard input, not at its start" "$("$KVMPROF" script -i plain.data | cksum)" \
	"$({ dd bs=100 count=1 of=/dev/null 2>/dev/null; "$KVMPROF" script -i -; } <plain.data | cksum)"
same "report of a file on standard input" "$("$KVMPROF" report -i plain.data | cksum)" \
	"$("$KVMPROF" report -i - <plain.data | cksum)"
for command in script report; do
	# shellcheck disable=SC2002 # a pipe is the point
	said=$(cat plain.data | "$KVMPROF" $command -i - 2>&1) && fail "$command: a file through a pipe"
	contains "$command: a file through a pipe: what to do" "$said" "give that with -i FILE or <FILE"
done

# Every form that the unit tests build: both byte orders, piped, two events, compressed. Not
# piped in the other byte order (3 and 7), where perf 6.1 takes some fields as they are.
mkdir forms
"$BUILD/fuzz/seeds-perfdata" forms
for form in 0 1 2 4 5 6 8 10 12 14; do
	same_script "made-up form $form" "forms/form-$form"
done

"$BUILD/tests/make-perfdata" guest.data "$PWD/.debug"
same_script "a guest's recording" guest.data

# Copies of the user's stack are not unwound: that is said, once, by each.
if perf record -q -e cpu-clock -F 500 --call-graph dwarf,1024 -o dwarf.data -- \
	gzip -c "$KVMPROF" >/dev/null 2>&1; then
	stacks=$(perf script -D -i dwarf.data 2>/dev/null | grep -c '^\.\.\. ustack: size [1-9]')
	for command in script 'script --folded' report 'flamegraph -q -o dwarf.html'; do
		# shellcheck disable=SC2086 # words
		"$KVMPROF" $command -i dwarf.data >/dev/null 2>dwarf.err
		contains "copies of stacks: $command" "$(grep -c 'user stack' dwarf.err) $(cat dwarf.err)" \
			"1 kvmprof: $stacks samples carry copies of the user stack"
	done
else
	skip 'copies of stacks' "$(why perf.cpu-clock 'perf cannot record them here')"
fi
"$KVMPROF" report -i chains.data >/dev/null 2>chains.err
same 'not a word of them without' 0 "$(grep -c 'user stack' chains.err)"

# A file that its recorder did not finish.
head -c "$(($(wc -c <chains.data) / 2))" chains.data >cut.data
status "a cut file is no error" 0 "$KVMPROF" script -i cut.data
"$KVMPROF" script -i cut.data >cut.txt 2>cut.err
contains "a cut file is a warning" "$(cat cut.err)" "ends early"
"$KVMPROF" script -i chains.data -F tid,time >whole.txt
"$KVMPROF" script -i cut.data -F tid,time >cut.txt 2>/dev/null
same "a cut file's samples are samples of the whole" "" "$(grep -vxF -f whole.txt cut.txt | head -n 5)"
check "and there are some" [ "$(wc -l <cut.txt)" -gt 100 ]

status "no such file" 1 "$KVMPROF" script -i nothing.data
contains "no such file says what to do" "$tap_output" "kvmprof record"
status "not a recording" 1 "$KVMPROF" script -i "$SRC/COPYING"
contains "not a recording says so" "$tap_output" "not a perf.data file"
status "a field that there is not" 2 "$KVMPROF" script -i chains.data -F no
full_disk() { "$KVMPROF" script -i chains.data >/dev/full; }
status "a full disk" 1 full_disk
contains "a full disk is named" "$tap_output" "No space left on device"
same "who stops reading ends it silently" "" \
	"$({ "$KVMPROF" script -i chains.data 2>&1 >&3 | cat; } 3>&1 | head -n 1 | grep -v deepcalls)"

# Folded chains, against perf script's text collapsed here.
perf script -i chains.data -F comm,ip,sym,dso 2>/dev/null |
	python3 "$SRC/tests/golden/collapse.py" >perfs.txt
"$KVMPROF" script -i chains.data --folded >ours.txt
without_stubs ours.txt
without_stubs perfs.txt
same "folded chains" "" "$(diff ours.txt perfs.txt | head -n 20)"
same "folded chains have all samples" "$(wc -l <whole.txt)" \
	"$(awk '{ n += $NF } END { print n }' ours.txt)"

tap_done
