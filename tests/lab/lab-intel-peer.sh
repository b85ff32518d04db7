#!/bin/sh
# lab: flavour=intel host=6.1 timeout=1800 slow
# SPDX-License-Identifier: GPL-2.0-only
# An Intel host: the guest was where perf's own event says, and the two modes that there are agree.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab

# wait_for FILE TEXT: until a file that is being written has it
wait_for() {
	for _ in $(seq 60); do
		! grep -q "$2" "$1" || return 0
		sleep 2
	done
	fail "$1 says '$2'" "$(cat "$1")"
}

# One program, so that addresses alone tell its functions; perf kvm has no chains and no symbols.
check "guest starts" "$lab" guest start one --wait 300 --workload syscalls-fp
status "inline is refused" 1 "$KVMPROF" record --vm one --capture inline -o "$TMPDIR/none.data"
contains "and why" "$tap_output" "only AMD and arm64"
"$KVMPROF" record --vm one -F 199 --duration 18 -o "$TMPDIR/one.data" >"$TMPDIR/one" 2>&1 &
recorder=$!
wait_for "$TMPDIR/one" "capture deferred"
perf kvm --guest record -e cpu-clock -F 199 -p "$(cat "$("$lab" guest dir one)/pid")" \
	-o "$TMPDIR/theirs" -- sleep 15 >"$TMPDIR/perf" 2>&1
wait "$recorder"
same "beside perf kvm: record ends well" 0 $?
cat "$TMPDIR/one"
# What is under way when a thread is to be stopped is finished first: see lab-modes.
"$KVMPROF" record --vm one -F 199 --duration 12 --capture ptrace -o "$TMPDIR/ptrace.data" \
	>"$TMPDIR/ptrace" 2>&1
same "ptrace: record ends well" 0 $?
cat "$TMPDIR/ptrace"
"$lab" guest stop one
for mode in one ptrace; do
	"$KVMPROF" script -F +stop -i "$TMPDIR/$mode.data" >"$TMPDIR/$mode.script"
	chains account "$TMPDIR/$mode" --min-samples 300 --label "$mode"
	chains complete "$TMPDIR/$mode.script" --comm syscalls-fp --label "$mode"
done
chains leaves "$TMPDIR/one.script" --peer "$TMPDIR/theirs" --label "deferred and perf kvm" \
	--binary "$BUILD/lab/workloads/syscalls-fp" --sigmas 4
chains agree "$TMPDIR/one.script" --peer "$TMPDIR/ptrace.script" --comm syscalls-fp \
	--sigmas 4.5 --floor 6 --label "deferred and ptrace"
chains_judge
tap_done
