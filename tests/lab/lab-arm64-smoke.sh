#!/bin/sh
# lab: flavour=arm64-vhe host=6.1 timeout=1200 icount
# SPDX-License-Identifier: GPL-2.0-only
# An arm64 host in short, whose kernel runs in EL2: a guest with one program, and what must hold of
# any recording. The kernel is known from the first sample on, though the program is in user mode.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

check "guest starts" "$SRC/lab/lab" guest start smoke --workload cputree-nofp
"$KVMPROF" record --vm smoke -F 199 --duration 6 -o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
same "record ends well" 0 $?
cat "$TMPDIR/said"
contains "the guest's cycles are counted, in deferred mode" "$(cat "$TMPDIR/said")" \
	"event cycles at 199 Hz (hardware cycles in guest mode), capture deferred"
"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/script"
chains account "$TMPDIR/said" --min-samples 300
chains user "$TMPDIR/script" --comm cputree-nofp --min-samples 250
chains shares "$TMPDIR/script" --comm cputree-nofp --binary "$BUILD/lab/workloads/cputree-nofp" \
	--want alpha=50,beta=30,gamma=20 --min-samples 200 --within 10
# The trampoline that is mapped beside programs has no symbols, for perf in the guest neither.
chains names "$TMPDIR/script" --comms cputree-nofp --max-unknown 4
chains named "$TMPDIR/script" --comm cputree-nofp --binary "$BUILD/lab/workloads/cputree-nofp"
chains_judge
tap_done
