#!/bin/sh
# lab: flavour=intel host=6.1 mem=1G timeout=1800
# SPDX-License-Identifier: GPL-2.0-only
# An Intel host in short: a guest with two programs, and what must hold of any recording.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

check "guest starts" "$SRC/lab/lab" guest start smoke --wait 300 \
	--workload cputree-fp --workload syscalls-fp
"$KVMPROF" record --vm smoke -F 399 --duration 6 -o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
same "record ends well" 0 $?
cat "$TMPDIR/said"
"$SRC/lab/lab" guest stop smoke
contains "deferred mode is the default" "$(cat "$TMPDIR/said")" "capture deferred"
"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/script"
chains account "$TMPDIR/said" --min-samples 500
chains complete "$TMPDIR/script" --min-samples 100
chains shares "$TMPDIR/script" --comm cputree-fp --binary "$BUILD/lab/workloads/cputree-fp" \
	--want alpha=50,beta=30,gamma=20 --min-samples 200 --within 10
chains names "$TMPDIR/script" --comms cputree-fp,syscalls-fp
chains_judge
tap_done
