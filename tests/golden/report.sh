#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `kvmprof report` against `perf report --stdio`: the same entries, percentages and call graphs.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
cd "$TMPDIR" || exit 1
# shellcheck source=tests/lib/recordings.sh
. "$SRC/tests/lib/recordings.sh"

# same_report FILE OPTIONS…: of entries with one of $words, if there are any
words=
same_report() {
	file=$1
	shift
	perf report --stdio -i "$file" "$@" >perfs.txt 2>perf.err
	if ! "$KVMPROF" report --stdio -i "$file" "$@" >ours.txt 2>ours.err; then
		fail "$file $*" "$(cat ours.err)"
	elif ! grep -q '%' perfs.txt; then
		fail "$file $*" "perf printed nothing: $(cat perf.err)"
	else
		# shellcheck disable=SC2086 # words
		check "$file $*" python3 "$SRC/tests/golden/report-compare.py" ours.txt perfs.txt $words
	fi
}

perf_record chains -F 4000 -g
same_report chains
same_report chains -g
same_report chains --no-children
same_report chains --no-children -g caller
same_report chains --children -g callee
same_report chains --no-children -G
same_report chains --sort comm
same_report chains --sort dso
same_report chains --sort dso --no-children
same_report chains --sort sym
same_report chains --sort sym --no-children
same_report chains --sort pid,cpu,sym
same_report chains --sort comm,dso -g graph,2
same_report chains -g fractal
same_report chains -g fractal --no-children
same_report chains -g graph,0.1,3,callee,function,period --no-children
same_report chains -g flat --no-children
same_report chains -g folded --no-children
same_report chains -g none
same_report chains --percent-limit 5
same_report chains --max-stack 6
same_report chains --max-stack 6 --no-children
perf_record plain -F 4000
same_report plain
same_report plain --sort comm,sym
perf_record events -F 1000 -e cpu-clock -e page-faults -g
same_report events
same_report events --no-children
perf_record packed -F 2000 -g -z
same_report packed
# Whatever else runs here may be of objects that have names for some of their code only. perf 6.1
# compares two functions by their places in the object, other code by address: no order, by which it
# does not find again what is in its trees of chains and of entries without object. Hence no graphs.
# Nor does it find all functions that have others inside: only what the test ran counts.
perf_record cpus -F 1000 -g -a
same_report cpus --sort cpu -g none
words="deepcalls swapper"
same_report cpus --sort comm,dso,sym -g none
same_report cpus --sort comm,dso,sym --no-children -g none
words=
"$BUILD/tests/make-perfdata" guest "$PWD/.debug"
same_report guest
same_report guest --no-children
same_report guest --sort comm,sym

# The forms that perf does not have.
"$KVMPROF" report -i chains --no-children --sort comm -g caller >long.txt
"$KVMPROF" report -i chains --tree >short.txt
same "--tree" "$(cksum <long.txt)" "$(cksum <short.txt)"
"$KVMPROF" report -i chains --no-children -g none >long.txt
"$KVMPROF" report -i chains --flat >short.txt
same "--flat" "$(cksum <long.txt)" "$(cksum <short.txt)"
"$KVMPROF" report -i chains --flat --sort comm,module,vcpu >long.txt
contains "--sort module,vcpu" "$(cat long.txt)" "Command    Shared Object"
contains "what became of events" "$(cat long.txt)" "#   lost records"
contains "what the recorder counted" "$("$KVMPROF" report -i guest)" "# Accounting of the recorder:"
same "a filter leaves percentages alone" \
	"$("$KVMPROF" report -i chains --flat --sort sym | grep ' \[.\] add_up$')" \
	"$("$KVMPROF" report -i chains --flat --sort sym --comm deepcalls | grep ' \[.\] add_up$')"
same "a filter of nothing" 0 \
	"$("$KVMPROF" report -i chains --flat --comm nobody | grep -c '%')"

status "no chains, but -g" 1 "$KVMPROF" report -i plain -g
contains "no chains, but -g says why" "$tap_output" "no call chains"
status "a key that there is not" 2 "$KVMPROF" report -i chains --sort colour
status "a graph that there is not" 2 "$KVMPROF" report -i chains -g pie
status "no such file" 1 "$KVMPROF" report -i nothing
size=$(wc -c <chains)
head -c "$((size / 2))" chains >"cut"
status "a cut file is no error" 0 "$KVMPROF" report -i cut
contains "a cut file is named" "$tap_output" "ends early"

tap_done
