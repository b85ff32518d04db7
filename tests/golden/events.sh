#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Several events in one file, as stock perf has them; events that cannot be had, and why.
set -eu
. "$SRC/tests/lib/tap.sh"

cd "$TMPDIR"
HOME=$TMPDIR
export HOME
unset XDG_CACHE_HOME
"$BUILD/tests/make-events" perf.data

# headers: the events of a report
headers() {
	grep '^# Samples: .* of event '
}

want="# Samples: 3  of event 'cpu-clock'
# Samples: 4  of event 'kvm:kvm_exit'
# Samples: 5  of event 'sched:sched_switch'
# Samples: 6  of event 'entries'
# Samples: 7  of event 'cpu-clock:u'"
same 'report: a section for each' "$want" "$("$KVMPROF" report 2>/dev/null | headers)"
"$KVMPROF" script >ours 2>/dev/null
for name in cpu-clock kvm:kvm_exit sched:sched_switch entries cpu-clock:u; do
	same "script: samples of $name" \
		"$(echo "$want" | sed -n "s/# Samples: \([0-9]*\)  of event '$name'/\1/p")" \
		"$(grep -cF " $name: " ours)"
done
same 'script: the note behind a record is found' 25 \
	"$("$KVMPROF" script -F comm,stop 2>/dev/null | grep -c complete)"

"$KVMPROF" flamegraph -o page.html 2>err
contains 'flamegraph: says of which event it is' "$(cat err)" \
	'event cpu-clock:u, of 5 the one with the most samples; -e chooses another'
"$KVMPROF" flamegraph -e entries -o page.html 2>err
lacks 'flamegraph: not when it was told' "$(cat err)" 'the most samples'
contains 'flamegraph: it is of that one' "$(cat page.html)" '"entries","6 samples"'
status 'flamegraph: an event that there is not' 1 "$KVMPROF" flamegraph -e nosuch
contains 'flamegraph: names those that there are' "$tap_output" 'cpu-clock, kvm:kvm_exit, '

if command -v perf >/dev/null; then
	same 'perf report: the same sections' "$want" \
		"$(perf report --stdio -i perf.data 2>/dev/null | headers)"
	perf script -i perf.data >theirs 2>err || :
	same 'perf script: the same samples' "$(grep -c '^spinner' ours)" "$(grep -c '^spinner' theirs)"
	contains 'perf script: fields of an exit' "$(cat theirs)" 'reason hlt rip 0xabc1'
	contains 'perf script: fields of an entry' "$(cat theirs)" 'vcpu 5'
	contains 'perf script: text' "$(cat theirs)" 'next_comm=idle'
else
	skip 'perf has the same' 'no perf'
fi

# refused EVENT PIECE: one line, with the event and what to do
refused() {
	status "$1 is refused" 1 "$KVMPROF" record -e "$1" -o out.data touch ran
	contains "$1: why" "$tap_output" "$2"
	same "$1: in one line" 1 "$(printf '%s\n' "$tap_output" | wc -l)"
}
refused cycles:p 'leave out p'
refused cycles:GH 'leave out H'
refused cycles:S 'leave the letter out'
refused cycles:z "none of perf's modifiers"
refused '{cycles,instructions}' 'leave out the braces'
refused cpu-clock/foo=1/ 'no such event'
refused cpu-clock,nosuch "event 'nosuch'"
refused cpu-clock, 'syntax'
status 'a filter of nothing' 2 "$KVMPROF" record --filter 'a == 1' -e cpu-clock -o out.data
contains 'is told where it goes' "$tap_output" '-e comes first'
status 'a filter of what is no tracepoint' 1 \
	"$KVMPROF" record -e cpu-clock --filter 'a == 1' -o out.data touch ran
contains 'is refused' "$tap_output" 'filters are for tracepoints'

# A kernel that answers otherwise.
if cc -O1 -shared -fPIC -o shim.so "$SRC/tests/golden/perf-shim.c" -ldl 2>cc.err; then
	# answers ERRNO PIECE
	answers() {
		export SHIM_ERRNO=$1
		status "errno $1: hardware is refused" 1 env LD_PRELOAD="$PWD/shim.so" \
			"$KVMPROF" record -e cycles -o out.data touch ran
		contains "errno $1: why" "$tap_output" "$2"
		LD_PRELOAD="$PWD/shim.so" "$KVMPROF" selfcheck >check 2>/dev/null || :
		contains "errno $1: the self check says the same" "$(grep '^perf.cycles ' check)" "$2"
	}
	answers 95 "cannot sample guests, or are guests' own"
	answers 16 'are taken'
	answers 2 'no hardware counter'
	answers 13 'not permitted'
else
	skip 'a kernel that answers otherwise' 'no compiler'
fi
same 'no file, and nothing has run' '' "$(find . -name 'out.data*' -o -name ran)"
tap_done
