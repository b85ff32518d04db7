# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# /lab/start of a guest: starts its workloads and its script, as process 1.
# /lab/workloads has one a line, with arguments. POSIX sh, for busybox and for Debian.

lab=${0%/*}
exec </dev/null >/dev/console 2>&1
export PATH="$lab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root

mkdir -p /dev/shm /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t devpts devpts /dev/pts
ip link set lo up
if [ -e "$lab/root" ]; then
	export LAB_OUT=/run/kvmprof-lab/out
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
	echo -1 >/proc/sys/kernel/perf_event_paranoid
	echo 0 >/proc/sys/kernel/kptr_restrict
fi
cat "$lab/hostname" >/proc/sys/kernel/hostname

# Bring up what is plugged in later; memory does so by itself.
online_cpus() {
	while sleep 0.5; do
		for cpu in /sys/devices/system/cpu/cpu*/online; do
			[ "$(cat "$cpu")" = 1 ] || echo 1 >"$cpu"
		done
	done 2>/dev/null
}
[ ! -e "$lab/hotplug" ] || online_cpus &

echo "guest: up after $(cut -d ' ' -f 1 /proc/uptime) s"
while read -r line; do
	# shellcheck disable=SC2086 # the line is a command
	(
		$line
		echo "workload ${line%% *}: ended, exit status $?"
	) &
done <"$lab/workloads"

if [ -e "$lab/script" ]; then
	chmod 755 "$lab/script"
	echo "script: started"
	case $(uname -m) in
	x86_64) output=/dev/ttyS1 ;;
	*) output=/dev/ttyS0 ;; # its console is another kind of line
	esac
	setsid "$lab/script" >"$output" 2>&1
	echo "script: ended, exit status $?"
fi
while :; do
	wait
	sleep 1000
done
