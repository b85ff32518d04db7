#!/bin/sh
# lab: host=6.1 timeout=2400 slow
# SPDX-License-Identifier: GPL-2.0-only
# Each model of a PMU in guests with either kernel, under kvmprof-vmm: the driver is there, perf stat
# and perf record tell the truth, and so does what cannot be counted. Environment:
# KVMPROF_VPMU_GUESTS, the guests to boot.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/vpmu.sh"

vpmu_user_land
for guest in ${KVMPROF_VPMU_GUESTS:-amd-k7@6.1 amd-v2@6.1 amd-k7@6.12 amd-core@6.12 amd-v2@6.12 \
	intel-v1@6.1 intel-v2@6.1 intel-v3@6.1 intel-v4@6.1 intel-v5@6.1 \
	intel-v1@6.12 intel-v2@6.12 intel-v3@6.12 intel-v4@6.12 intel-v5@6.12}; do
	vpmu_run "$guest" watchdog,stat,record
	if is_intel; then
		same "$guest: its processor is Intel's, too" GenuineIntel "$(said vendor)"
	fi
	vpmu_judge_watchdog
	vpmu_judge_stat
	vpmu_judge_record
done
tap_done
