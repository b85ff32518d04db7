# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What the tests of a PMU by libvpmu in Linux guests share: a user land with stock perf, guests under
# kvmprof-vmm, and what they have to have said. The lab host has no PMU: what counts is time. Source it
# after tap.sh.

vpmu_mhz=1000

# vpmu_user_land: the guest's whole user land in $TMPDIR/initrd: busybox, perf with its libraries, and
# the program that it looks at
vpmu_user_land() {
	vpmu_tree=$TMPDIR/tree
	mkdir -p "$vpmu_tree"/bin "$vpmu_tree"/dev "$vpmu_tree"/proc "$vpmu_tree"/sys "$vpmu_tree"/tmp
	cp "$(command -v busybox)" "$vpmu_tree/bin/busybox"
	for applet in awk cat cp cut dmesg grep head kill mkfifo mount reboot sed sh sleep taskset timeout \
		uname wc; do
		ln -s busybox "$vpmu_tree/bin/$applet"
	done
	cp "$(command -v perf)" "$BUILD/lab/workloads/cputree-fp" "$vpmu_tree/bin/"
	ldd "$(command -v perf)" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$vpmu_tree${library%/*}"
		cp -L "$library" "$vpmu_tree$library"
	done
	cp "$SRC/tests/lab/vpmu-guest" "$vpmu_tree/init"
	(cd "$vpmu_tree" && find . | cpio -o -H newc --quiet) >"$TMPDIR/initrd"
	rm -rf "$vpmu_tree"
}

# vpmu_start WHAT READY MODEL@KERNEL JOBS [VMM-OPTION…]: a guest with that PMU begins to do JOBS (see
# vpmu-guest) and has said READY, a line's beginning; WHAT is the check's name. Leaves $guest and $model,
# its name and PMU. It has $vpmu_cpus vCPUs, 1 by default.
vpmu_start() {
	guest=$3 model=${3%@*}
	vpmu_name=$model-${3#*@} vpmu_what=$1 vpmu_ready=$2 vpmu_jobs=$4
	shift 4
	check "$guest: $vpmu_what" "$SRC/lab/lab" guest start "$vpmu_name" --kernel "${guest#*@}" \
		--initrd "$TMPDIR/initrd" --vmm kvmprof-vmm --mem 512M --cpus "${vpmu_cpus:-1}" \
		--append "VPMU_JOBS=$vpmu_jobs" --ready "^vpmu: $vpmu_ready" --wait 240 \
		--vmm-args "--pmu $model --pmu-backend time --pmu-mhz $vpmu_mhz $*"
	vpmu_dir=$("$SRC/lab/lab" guest dir "$vpmu_name")
}

# vpmu_wait LINE SECONDS: until the guest has said it; fails where it ended before, or in that time did not.
# tests/run gives a guest that ended by itself another chance.
vpmu_wait() {
	vpmu_until=$(($(date +%s) + $2))
	until grep -aq "^vpmu: $1" "$vpmu_dir/console.log"; do
		if ! kill -0 "$(cat "$vpmu_dir/pid")" 2>/dev/null || [ "$(date +%s)" -ge "$vpmu_until" ]; then
			grep -aq "^vpmu: $1" "$vpmu_dir/console.log" && break
			"$SRC/lab/lab" guest stop "$vpmu_name"
			return 1
		fi
		sleep 0.5
	done
}

# vpmu_end: of a guest that has come to its end. Leaves $heard, what it said; $told, what the VMM said.
vpmu_end() {
	check "$guest: the VMM ends well" sh -c "for i in \$(seq 100); do
		grep -q 'RDPMC instructions' $vpmu_dir/vmm.log && exit; sleep 0.2; done; exit 1"
	told=$(cat "$vpmu_dir/vmm.log")
	heard=$(tr -d '\r' <"$vpmu_dir/console.log" | sed -n 's/^vpmu: //p')
	printf '%s\n' "$told" "$heard" | sed 's/^/# /'
	vpmu_judge_guest
}

# vpmu_run MODEL@KERNEL JOBS [VMM-OPTION…]: both, for a guest that is left to itself
vpmu_run() {
	vpmu_start 'it comes to its end' finished "$@"
	vpmu_end
}

# said WORD: what the guest said of it, the first time
said() {
	echo "$heard" | sed -n "s/^$1 //p" | head -n 1
}

# field WORD NUMBER: of what perf stat wrote, as the guest said it
field() {
	said "$1" | cut -d, -f"$2"
}

# interrupts VCPU: how many the VMM sent
interrupts() {
	echo "$told" | sed -n "s/.*vCPU $1: PMU: .* interrupts \([0-9]*\) .*/\1/p"
}

# within NAME VALUE LOW HIGH
within() {
	if [ "${2:-x}" -ge "$3" ] 2>/dev/null && [ "$2" -le "$4" ]; then
		pass "$guest: $1"
	else
		fail "$guest: $1" "'$2' is not between $3 and $4"
	fi
}

# is_intel: is the model one of Intel's?
is_intel() {
	[ "${model#intel}" != "$model" ]
}

# In its kernel's log, and in the VMM's.
vpmu_judge_guest() {
	case $model in
	amd-k7) driver='AMD PMU driver' version=0 counters=4 ;;
	amd-core) driver='core perfctr, AMD PMU driver' version=0 counters=6 ;;
	amd-v2) driver='core perfctr, AMD PMU driver' version=2 counters=6 ;;
	intel-v1) driver='generic architected perfmon v1, core PMU driver' version=1 counters=2 ;;
	intel-v5) driver='AnyThread deprecated, full-width counters, Intel' version=5 counters=8 ;;
	*) driver='full-width counters, Intel PMU driver' version=${model#intel-v} counters=4 ;;
	esac
	contains "$guest: its kernel has a driver" "$(said 'pmu Performance Events:')" "$driver"
	same "$guest: of that version" "$version" "$(said 'pmu ... version:' | tr -d ' ')"
	same "$guest: with all counters" "$counters" "$(said 'pmu ... generic registers:' | tr -d ' ')"
	same "$guest: nothing is wrong in its log" 0 "$(said oops)"
	for cpu in $(seq 0 $((${vpmu_cpus:-1} - 1))); do
		sent=$(interrupts "$cpu")
		within "vCPU $cpu has had the NMIs that the VMM sent" \
			"$(said nmi | awk "{ print \$($cpu + 1) }")" $((sent * 95 / 100)) "$sent"
	done
}

vpmu_judge_watchdog() {
	same "$guest: its NMI watchdog has one counter" 1 "$(said watchdog)"
}

# permille CPU: its cycles, in thousandths of the time that it had by the guest's own clocks, at the rate:
# of perf stat's time without what it was idle or the host had
permille() {
	said "cpu$1" | awk -F, -v mhz="$vpmu_mhz" '
		NF == 5 { print int($1 * 1000000 / mhz / ($2 * (1 - ($4 + $5) / $3)) + 0.5) }'
}

vpmu_judge_stat() {
	within "cycles are the guest's time, in thousandths" "$(permille 0)" 980 1020
	if is_intel; then
		same "$guest: instructions are not supported" '<not supported>' "$(field instructions 1)"
	else
		same "$guest: instructions stand still" 0 "$(field instructions 1)"
		contains "$guest: which the host is told" "$told" "event 0xc0 refused"
	fi
	within "cycles beside them count" "$(field paired 1)" $((vpmu_mhz * 2400000)) $((vpmu_mhz * 3010000))
}

# vpmu_percent SYMBOL: its share of the tree's samples, in tenths of a percent
vpmu_percent() {
	echo "$heard" | awk -v symbol="$1" '
		/^share/ && $NF ~ /_leaf$/ { all += $3 }
		/^share/ && $NF == symbol { its = $3 }
		END { if (all) print int(1000 * its / all + 0.5) }'
}

vpmu_judge_record() {
	same "$guest: perf record ends well" 0 "$(said record)"
	within "the tree has many samples" \
		"$(echo "$heard" | awk '/^share.*_leaf$/ { all += $3 } END { print all + 0 }')" 1500 40000
	within "alpha_leaf has half of them" "$(vpmu_percent alpha_leaf)" 470 530
	within "beta_leaf has three tenths" "$(vpmu_percent beta_leaf)" 270 330
	within "gamma_leaf has two tenths" "$(vpmu_percent gamma_leaf)" 170 230
}
