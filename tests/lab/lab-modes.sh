#!/bin/sh
# lab: host=6.1 timeout=500
# SPDX-License-Identifier: GPL-2.0-only
# The three capture modes see the same guest alike: the shares of its chains differ by chance only.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab
check "guest starts" "$lab" guest start modes --kernel 6.1 --cpus 2 \
	--workload cputree-fp --workload syscalls-fp

# record MODE EVENTS: several short recordings would do as well; one is simpler
for mode in inline deferred ptrace; do
	"$KVMPROF" record --vm modes --capture "$mode" -F 399 --duration 12 \
		-o "$TMPDIR/$mode.data" >"$TMPDIR/$mode.said" 2>&1
	same "$mode: record ends well" 0 $?
	cat "$TMPDIR/$mode.said"
	chains account "$TMPDIR/$mode.said" --label "$mode" --min-samples 500
	"$KVMPROF" script -F +stop -i "$TMPDIR/$mode.data" >"$TMPDIR/$mode"
	chains complete "$TMPDIR/$mode" --label "$mode" --comm 'syscalls-fp|cputree-fp'
done
for mode in deferred ptrace; do
	for comm in cputree-fp syscalls-fp; do
		# Sixty-odd shares are compared: at 3 sigma one in six runs would differ by chance.
		chains agree "$TMPDIR/inline" --peer "$TMPDIR/$mode" --comm "$comm" --sigmas 4.5 \
			--label "inline and $mode, $comm"
	done
done
"$lab" guest stop modes
tap_done
