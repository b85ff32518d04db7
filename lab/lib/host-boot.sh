#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# /init of the lab host: the outer machine's root, read-only, below a tmpfs overlay.
# The shares are `root` and `io`; the latter holds the job and takes its results. A lab host of
# another architecture has `arch`, too: that one's user land, which goes before the outer machine's.

fail() {
	echo "lab host: $*" >/dev/console
	sleep 1
	poweroff -f
}

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# Parameters of modules are on the command line, NAME.PARAMETER=VALUE, as modprobe takes them.
for module in /modules/*; do
	name=$(basename "$module" .ko | sed 's/^[0-9]*-//; s/-/_/g')
	# shellcheck disable=SC2046 # words
	insmod "$module" $(tr ' ' '\n' </proc/cmdline | sed -n "s/^$name\.//p") ||
		fail "cannot load $module"
done

mkdir -p /lower /arch /overlay /new
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /lower ||
	fail "no root share"
lower=/lower
case $(cat /proc/cmdline) in
*lab.arch*)
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro arch /arch ||
		fail "no arch share"
	lower=/arch:/lower
	;;
esac
mount -t tmpfs -o size=75% tmpfs /overlay
mkdir /overlay/upper /overlay/work
mount -t overlay -o "lowerdir=$lower",upperdir=/overlay/upper,workdir=/overlay/work overlay /new ||
	fail "no overlay"
mount --move /dev /new/dev
mount --move /proc /new/proc
mount --move /sys /new/sys
mount -t tmpfs -o mode=755 tmpfs /new/run
mkdir -p /new/run/kvmprof-lab/io
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none io /new/run/kvmprof-lab/io ||
	fail "no io share"
exec switch_root /new /bin/bash "$(cat /new/run/kvmprof-lab/io/init)"
