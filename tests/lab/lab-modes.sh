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

# In turns, as what a guest does drifts.
for round in 1 2 3 4; do
	for mode in inline deferred ptrace; do
		one=$TMPDIR/$mode-$round
		"$KVMPROF" record --vm modes --capture "$mode" -F 399 --duration 3 -o "$one.data" \
			>"$one.said" 2>&1
		same "$mode, $round: record ends well" 0 $?
		cat "$one.said"
		chains account "$one.said" --label "$mode, $round" --min-samples 125
		"$KVMPROF" script -F +stop -i "$one.data" >>"$TMPDIR/$mode"
	done
done
for mode in inline deferred ptrace; do
	chains complete "$TMPDIR/$mode" --label "$mode" --comm 'syscalls-fp|cputree-fp'
done
# agree MODE POINTS WHAT [OPTION…]: sixty-odd shares are compared, and at 3 sigma one in six runs would
# differ by chance.
agree() {
	mode=$1 points=$2 what=$3
	shift 3
	for comm in cputree-fp syscalls-fp; do
		chains agree "$TMPDIR/inline" --peer "$TMPDIR/$mode" --comm "$comm" --sigmas 4.5 \
			--floor "$points" --label "inline and $mode, $what of $comm" "$@"
	done
}

# The guest's timer ticks are compared among themselves: there are as many of them in a second whatever
# a mode leaves the guest to do beside, so that their share is the larger the dearer the mode.
ticks='asm_sysvec_.*timer_interrupt'
agree deferred 3 "ticks" --entered "$ticks" --min-samples 50
agree deferred 3 "the rest" --entered "$ticks" --others
# A thread that handles an exit when it is to be stopped is stopped behind the instruction that
# exited. Exits take long in emulation: some points go to those that program the guest's timer.
agree ptrace 6 "all"
chains_judge
"$lab" guest stop modes
tap_done
