#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Process 1 of a lab host: sets up what a Debian machine has, runs the job, reports its exit
# status and ends the machine.
set -uo pipefail

io=/run/kvmprof-lab/io

# Ends QEMU at once; on x86 by its isa-debug-exit device.
power_off() {
	sync -f "$io"
	if [ -c /dev/port ]; then
		printf '\1' | dd of=/dev/port bs=1 seek=$((0xf4)) status=none
		sleep 5
	fi
	echo o >/proc/sysrq-trigger
	sleep 60
}
trap power_off EXIT

# mount_tmp: an empty /tmp, but for what the job names there.
mount_tmp() {
	local path top keep=$io/../tmp

	mkdir -p "$keep"
	mount --bind /tmp "$keep"
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	while read -r path; do
		path=${path#/tmp/}
		top=${path%%/*}
		if [ ! -e "$keep/$top" ] || [ -e "/tmp/$top" ]; then
			continue
		fi
		if [ -d "$keep/$top" ]; then
			mkdir "/tmp/$top"
		else
			: >"/tmp/$top"
		fi
		mount --bind "$keep/$top" "/tmp/$top"
	done < <(grep '^/tmp/' "$io/keep")
}

# mount_modules: perf looks at every file below /lib/modules/RELEASE as it starts, for half a minute
# here. So it has those only that are loaded, and modprobe is told where all of them are.
mount_modules() {
	local all=/run/kvmprof-lab/modules release here file

	release=$(uname -r)
	here=/lib/modules/$release
	mkdir -p "$here" "$all/lib/modules"
	mount -t tmpfs -o mode=755 tmpfs "$here"
	ln -s "$(cat "$io/modules")" "$all/lib/modules/$release"
	while read -r file; do
		mkdir -p "$here/${file%/*}"
		ln -s "$all/lib/modules/$release/$file" "$here/$file"
	done <"$io/loaded"
	printf '#!/bin/sh\nexec /sbin/modprobe -d %s "$@"\n' "$all" >/usr/local/sbin/modprobe
	chmod 755 /usr/local/sbin/modprobe
	echo /usr/local/sbin/modprobe >/proc/sys/kernel/modprobe
}

hold_pid=1

# hold: see host-hold.pl; it prints a line when it has done so.
hold() {
	local line

	read -r -t 20 line < <(exec perl "${0%/*}/host-hold.pl")
	hold_pid=$!
	[ "$line" = held ] || echo "lab host: static keys are not held"
}

pulse_pids=()

# feel_pulse LINE CPU: takes what comes in on a serial line as interrupts of CPU, see host_beat().
feel_pulse() {
	local irq

	stty -F "/dev/$1" -icanon -echo
	cat "/dev/$1" >/dev/null &
	pulse_pids+=($!)
	irq=$(awk -v line="$1" '$NF == line { print +$1 }' /proc/interrupts)
	[ -z "$irq" ] || echo "$2" >"/proc/irq/$irq/smp_affinity_list"
}

# What an emulated x86 processor needs; see README.md.
steady() {
	local cpu

	hold
	for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do
		[ ! -e "$cpu" ] || echo 1 >"$cpu"
	done
	feel_pulse ttyS1 0
	[ "$(nproc)" -lt 2 ] || feel_pulse ttyS2 1
	: >"$io/beat"
}

set_up() {
	export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
	mount -t bpf bpf /sys/fs/bpf
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	mkdir -p /dev/shm /dev/pts /run/lock
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
	ln -sf /proc/self/fd /dev/fd
	ln -sf /proc/self/fd/0 /dev/stdin
	ln -sf /proc/self/fd/1 /dev/stdout
	ln -sf /proc/self/fd/2 /dev/stderr
	echo lab >/proc/sys/kernel/hostname
	ip link set lo up
	# An emulated machine takes long for all: no reason to sample less.
	sysctl -qw kernel.perf_cpu_time_max_percent=0
	sysctl -qw kernel.perf_event_paranoid=-1 kernel.kptr_restrict=0 net.core.bpf_jit_enable=1
	mount_modules
	if grep -qx out "$io/shares"; then
		mkdir -p /run/kvmprof-lab/out
		mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none out /run/kvmprof-lab/out
	fi
	[ "$(uname -m)" != x86_64 ] || steady
	mount_tmp
	[ -c /dev/kvm ]
}

# After the job: what it left running would keep its pipes open.
end_leftovers() {
	local entry pid

	for entry in /proc/[0-9]*; do
		pid=${entry##*/}
		case " 1 $* " in *" $pid "*) continue ;; esac
		[ -e "$entry/exe" ] && kill -KILL "$pid"
	done 2>/dev/null
}

run_job() {
	local -a command environment
	local cwd status relay_out relay_err

	mapfile -d '' command <"$io/command"
	mapfile -d '' environment <"$io/environment"
	cwd=$(cat "$io/cwd")
	[ ! -d /run/kvmprof-lab/out ] || environment+=(LAB_OUT=/run/kvmprof-lab/out)
	mkfifo /run/kvmprof-lab/stdout /run/kvmprof-lab/stderr
	cat /run/kvmprof-lab/stdout >"$io/stdout" &
	relay_out=$!
	cat /run/kvmprof-lab/stderr >"$io/stderr" &
	relay_err=$!
	(
		cd "$cwd" || exit 125
		exec setsid --wait env -i "${environment[@]}" "${command[@]}"
	) </dev/null >/run/kvmprof-lab/stdout 2>/run/kvmprof-lab/stderr
	status=$?
	end_leftovers "$relay_out" "$relay_err" "$hold_pid" "${pulse_pids[@]}"
	wait "$relay_out" "$relay_err"
	echo "$status" >"$io/status"
}

if [ -e "$io/intel" ]; then
	# shellcheck source=lab/lib/intel-init.sh
	. "${0%/*}/intel-init.sh"
fi
exec </dev/null >/dev/console 2>&1
if set_up; then
	echo "lab host: up after $(cut -d ' ' -f 1 /proc/uptime) s"
	run_job
else
	echo "lab host: no /dev/kvm"
fi
