#!/bin/sh
# lab: host=6.12 timeout=500
# SPDX-License-Identifier: GPL-2.0-only
# Race storm: for half a minute, for a whole one with KVMPROF_TEST_ALL, a guest's other vCPUs remap,
# fork, exec, mprotect and free stacks as fast as they can. No crash, no hang; whatever came out wrong
# is marked, and the rate is told.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab
seconds=30
[ -z "${KVMPROF_TEST_ALL-}" ] || seconds=60
check "guest starts" "$lab" guest start race --kernel 6.1 --cpus 4 --workload 'race-fp --report 2'
"$KVMPROF" record --vm race -F 997 --duration "$seconds" -o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
same "record ends well" 0 $?
cat "$TMPDIR/said"
before=$("$lab" guest console race | grep -c 'work race')
sleep 5
after=$("$lab" guest console race | grep -c 'work race')
check "the guest runs on" test "$after" -gt "$before"
[ "$after" -gt "$before" ] || "$lab" guest console race | tail -n 60
chains account "$TMPDIR/said" --label race --min-samples 5000
"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/script"
chains consistent "$TMPDIR/script" --label race --binary "$BUILD/lab/workloads/race-fp" \
	--comm 'race-fp|mapper|forker|executor|stacker|short-lived'
chains_judge
"$lab" guest stop race
tap_done
