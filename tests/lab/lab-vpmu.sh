#!/bin/sh
# lab: host=6.1 timeout=480 slow
# SPDX-License-Identifier: GPL-2.0-only
# A guest with a PMU by libvpmu, under kvmprof-vmm: its kernel finds the PMU, stock perf in it counts
# cycles, samples them, and finds where the program spends them. The other models have less of it in
# lab-vpmu-models.sh.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/vpmu.sh"

vpmu_user_land
vpmu_run amd-core@6.1 watchdog,stat,many,record,chains,top
vpmu_judge_watchdog
vpmu_judge_stat
same "$guest: five events at once, each on a counter" 5 "$(said many)"
vpmu_judge_record
within "samples have call chains" "$(said chains)" 200 100000
shown=$(echo "$heard" | grep '^top')
within "perf top has drawn its table" "$(said top)" 2 100
for symbol in alpha_leaf beta_leaf gamma_leaf; do
	contains "$guest: perf top shows $symbol" "$shown" "$symbol"
done
tap_done
