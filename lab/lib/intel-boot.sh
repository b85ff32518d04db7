#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# /init of the Intel lab host: the disks of the job and of the system, read-only, below a tmpfs overlay.

fail() {
	echo "lab host: $*" >/dev/console
	sleep 1
	poweroff -f
}

# disk LABEL: prints its device; in which order they come is a matter of luck.
disk() {
	findfs "LABEL=$1" || fail "no disk $1"
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do
	insmod "$module" || fail "cannot load $module"
done

mkdir -p /system /job /result /overlay /new
mount -t ext4 -o ro,noload "$(disk lab-system)" /system || fail "no system"
mount -t ext4 -o ro,noload "$(disk lab-job)" /job || fail "no job"
mount -t ext4 "$(disk lab-out)" /result || fail "no disk for the results"
mount -t tmpfs -o size=75% tmpfs /overlay
mkdir /overlay/upper /overlay/work
mount -t overlay -o lowerdir=/job:/system,upperdir=/overlay/upper,workdir=/overlay/work overlay /new ||
	fail "no overlay"
mount --move /dev /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
mount -t tmpfs -o mode=755 tmpfs /new/run
mkdir -p /new/run/kvmprof-lab/result
cp -r /job/run/kvmprof-lab/io /new/run/kvmprof-lab/io
mount --move /result /new/run/kvmprof-lab/result
exec switch_root /new /bin/bash "$(cat /new/run/kvmprof-lab/io/init)"
