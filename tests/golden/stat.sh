#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kvmprof stat: what is refused, and why. The printed forms are tests/unit/test-stat-print.c's, counting is
# tests/lab/lab-stat.sh's.
set -eu
. "$SRC/tests/lib/tap.sh"

cd "$TMPDIR"
guest=no-guest-has-this-name-$$

# refused PIECE OPTION…: status 2, nothing is run, and the reason
refused() {
	piece=$1
	shift
	status "$* is refused" 2 "$KVMPROF" stat "$@" touch ran
	contains "$*: why" "$tap_output" "$piece"
}
refused 'exclude each other' -p 1 -a
refused 'exclude each other' --vm x -a
refused 'exclude each other' -x , -j
refused 'is for -o' --append
refused 'are for -I' --summary
refused 'are for -I' --interval-count 3
refused 'excludes -e' -n -e cycles
refused 'excludes -e' -n -d
refused 'exclude each other' -o out.txt --log-fd 3
refused 'exclude each other' --duration 1 --timeout 1000
refused "bad value '5'" --timeout 5
refused 'between fields' -x ''
refused "bad value '5'" -I 5

# no_event EVENT PIECE: status 1, one line with the event and what to do
no_event() {
	status "$1 is refused" 1 "$KVMPROF" stat -e "$1" touch ran
	contains "$1: why" "$tap_output" "$2"
	same "$1: in one line" 1 "$(printf '%s\n' "$tap_output" | wc -l)"
}
no_event cycles:p 'leave out p'
no_event 'cycles:S' 'leave the letter out'
no_event '{cycles,instructions}' 'leave out the braces'
no_event page-faults:G 'never in guest mode: leave out G'
no_event task-clock:u 'leave out u and k'
no_event cycles:z "none of perf's modifiers"
no_event nosuch 'no such event'
if [ -d /sys/kernel/tracing/events/sched/sched_switch ]; then
	no_event sched:sched_switch:G 'leave out G'
	no_event sched:sched_switch:k 'leave out u and k'
else
	skip 'tracepoints' 'no tracefs'
fi

status 'no such guest' 1 "$KVMPROF" stat --vm "$guest" -o out.txt -- touch ran
check 'the command has not run' test ! -e ran
contains 'the file says when, as perf has it' "$(cat out.txt)" '# started on '
status 'JSON into a file' 1 "$KVMPROF" stat --vm "$guest" -j -o out.json -- touch ran
same 'has no comment' '' "$(cat out.json)"
status 'appending' 1 "$KVMPROF" stat --vm "$guest" -o out.txt --append -- touch ran
same 'leaves what is there' 2 "$(grep -c '^# started on ' out.txt)"
status 'a file descriptor that is not open' 1 "$KVMPROF" stat --vm "$guest" --log-fd 77 -- touch ran
contains 'is said' "$tap_output" 'cannot write to file descriptor 77'
status 'no folder for the file' 1 "$KVMPROF" stat --vm "$guest" -o no/out.txt -- touch ran
contains 'is said' "$tap_output" 'cannot write no/out.txt'
tap_done
