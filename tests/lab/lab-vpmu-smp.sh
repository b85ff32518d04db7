#!/bin/sh
# lab: host=6.1 cpus=1 timeout=1200 slow
# SPDX-License-Identifier: GPL-2.0-only
# Two vCPUs, each with a PMU: cycles of either are its own time, samples show what its own program does,
# and interrupts come where their counter is. The lab host has one CPU: the vCPUs have half of it each,
# so that no clock of the wall can pass for their time; and its emulator bears two vCPUs better so.
# Environment: KVMPROF_VPMU_GUESTS, the guests to boot.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/vpmu.sh"

vpmu_cpus=2

# threads: the folder of each vCPU's thread, in their order
threads() {
	for vcpu in 0 1; do
		grep -lx "vcpu$vcpu" /proc/"$(cat "$vpmu_dir/pid")"/task/*/comm
	done | sed 's/comm$//'
}

# clocks: the host's, and of each vCPU's thread the time that it ran and the time that it had to wait
clocks() {
	# shellcheck disable=SC2086 # two names
	cat /proc/uptime $files
}

# by_host CPU: its cycles, in thousandths of the time that the vCPU's thread ran, at the rate: of perf
# stat's time the share that it had of the time between the host's two looks
by_host() {
	{
		said "cpu$1"
		echo "$began"
		echo "$ended"
	} | awk -F '[ ,]' -v mhz="$vpmu_mhz" -v line=$((3 + $1)) '
		NR == 1 && NF == 5 { cycles = $1; ns = $2 }
		NR == 2 || NR == 5 { time = $1 * 1000000000 - time }
		NR == line || NR == line + 3 { ran = $1 - ran }
		END { if (ns && ran > 0) print int(cycles * 1000000 / mhz / (ns * ran / time) + 0.5) }'
}

# of_cpu WORD CPU: the CPU's number of those that the guest said
of_cpu() {
	said "$1" | awk "{ print \$($2 + 1) }"
}

# more_nmis FROM TO CPU
more_nmis() {
	echo "$(of_cpu "$1" "$3") $(of_cpu "$2" "$3")" | awk 'NF == 2 { print $2 - $1 }'
}

# chains CPU OF: strays, the samples of the other CPU's program; tree, those in its own program's leaves;
# whole, those of them that have all of the chain; alpha, beta, gamma: a leaf's share of the tree's, in
# tenths of a percent
chains() {
	echo "$heard" | awk -v cpu="$1" -v of="$2" '$1 == "chains" && $2 == cpu {
		is["strays"] = $3; is["whole"] = $7
		tree = is["tree"] = $4 + $5 + $6
		if (tree) {
			is["alpha"] = int(1000 * $4 / tree + 0.5)
			is["beta"] = int(1000 * $5 / tree + 0.5)
			is["gamma"] = int(1000 * $6 / tree + 0.5)
		}
		print is[of]
	}'
}

# overflows CPU: those that the VMM saw
overflows() {
	echo "$told" | sed -n "s/.*vCPU $1: PMU: .* overflows \([0-9]*\) .*/\1/p"
}

judge_vcpu() {
	within "CPU $1: cycles are its time by the guest's clocks, in thousandths" \
		"$(permille "$1")" 980 1020
	within "CPU $1: cycles are its time by the host's clock, in thousandths" \
		"$(by_host "$1")" 980 1020

	taken=$(more_nmis nmi-before nmi-after "$1")
	within "CPU $1: each interrupt is a sample" "$(of_cpu samples "$1")" $((taken * 98 / 100)) "$taken"
	tree=$(chains "$1" tree)
	within "CPU $1: many of them are its program's" "$tree" 1500 100000
	within "CPU $1: alpha_leaf has half of these" "$(chains "$1" alpha)" 470 530
	within "CPU $1: beta_leaf has three tenths" "$(chains "$1" beta)" 270 330
	within "CPU $1: gamma_leaf has two tenths" "$(chains "$1" gamma)" 170 230
	within "CPU $1: their chains are whole" "$(chains "$1" whole)" $((tree * 99 / 100)) "$tree"
	same "$guest: CPU $1: none is of the other's program" 0 "$(chains "$1" strays)"

	made=$(overflows "$1")
	same "$guest: vCPU $1: each overflow made an interrupt" "$made" "$(interrupts "$1")"
	within "CPU $1 has taken all of them, but for those on their way at the end" \
		"$(of_cpu nmi "$1")" $((made - 2)) "$made"
}

vpmu_user_land
for guest in ${KVMPROF_VPMU_GUESTS:-amd-v2@6.1 amd-v2@6.12}; do
	vpmu_start 'its programs run' 'programs run' "$guest" smp
	files=$(threads | sed 's/$/schedstat/')
	check "$guest: its window begins" vpmu_wait 'window begins' 120
	began=$(clocks)
	check "$guest: its window ends" vpmu_wait 'window ends' 120
	ended=$(clocks)
	printf '%s\n' "$began" "$ended" | sed 's/^/# host: /'
	check "$guest: it comes to its end" vpmu_wait finished 300
	vpmu_end
	echo "$heard" | grep -q '^finished' || continue
	judge_vcpu 0
	judge_vcpu 1
	within 'when only CPU 1 is sampled it has interrupts' "$(more_nmis nmi-after nmi-one 1)" 100 100000
	same "$guest: and CPU 0 has none" 0 "$(more_nmis nmi-after nmi-one 0)"
done
tap_done
