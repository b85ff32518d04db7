#!/bin/sh
# lab: host=6.1 timeout=420 slow
# SPDX-License-Identifier: GPL-2.0-only
# Events that the VMM's filter denies: the guest sees no counts and no samples, the host is told; what
# is allowed counts on.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/vpmu.sh"

# denied EVENT: nothing of cycles, and that was said
denied() {
	same "$guest: cycles stand still" 0 "$(field cycles 1)"
	same "$guest: there are no samples of them" 0 "$(said samples)"
	contains "$guest: the host is told" "$told" "event $1 denied"
	same "$guest: there was no interrupt" 0 "$(interrupts 0)"
}

vpmu_user_land
vpmu_run amd-core@6.1 watchdog,deny --pmu-filter deny:0x76
denied 0x76
# By fixed counter 1, too; bus cycles by a general counter.
vpmu_run intel-v4@6.1 deny --pmu-filter deny:0x3c,fixed1
denied 0
within "bus cycles count" "$(field bus-cycles 1)" $((vpmu_mhz * 2000000)) $((vpmu_mhz * 3500000))
tap_done
