#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# /init of a guest. Its image has, besides busybox:
#   /modules/*.ko      to load, in this order
#   /lab/start         what to do once up
#   /lab/root          exists: move to the lab host's user land first, by 9p
#   /lab/disks         exists, too: by the disks that the lab host has

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
ln -s /proc/self/fd /dev/fd

fail() {
	echo "guest: $*" >/dev/console
	sleep 1
	poweroff -f
}

if [ -d /modules ]; then
	for module in /modules/*; do
		insmod "$module" || fail "cannot load $module"
	done
fi
if [ ! -e /lab/root ]; then
	mount -t tmpfs tmpfs /tmp
	exec /bin/sh /lab/start
fi

# mount_disk LABEL: read-only, on a folder of its name.
mount_disk() {
	mkdir "/$1"
	mount -t ext4 -o ro,noload "$(findfs "LABEL=$1")" "/$1" || fail "no disk $1"
}

options=trans=virtio,version=9p2000.L,msize=512000
mkdir -p /lower /overlay /new
if [ -e /lab/disks ]; then
	mount_disk lab-system
	mount_disk lab-job
	lower=/lab-job:/lab-system
else
	mount -t 9p -o "$options,cache=loose,ro" root /lower || fail "no root share"
	lower=/lower
fi
mount -t tmpfs -o size=75% tmpfs /overlay
mkdir /overlay/upper /overlay/work
mount -t overlay -o "lowerdir=$lower,upperdir=/overlay/upper,workdir=/overlay/work" overlay /new ||
	fail "no overlay"
mount --move /dev /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
mount -t tmpfs -o mode=1777 tmpfs /new/tmp
mount -t tmpfs -o mode=755 tmpfs /new/run
mkdir -p /new/run/kvmprof-lab/out
cp -r /lab /new/run/kvmprof-lab/lab
[ -e /lab/disks ] ||
	mount -t 9p -o "$options,cache=none" out /new/run/kvmprof-lab/out ||
	fail "no out share"
exec switch_root /new /bin/sh /run/kvmprof-lab/lab/start
