#!/bin/sh
# lab: outside timeout=3700 slow
# SPDX-License-Identifier: GPL-2.0-only
# Guest user space: programs of a Debian user land without frame pointers, their chains from the
# kernel to the thread's first frame, with names. Nothing is installed in the guest.
#
# The recordings are read on this machine, which never saw the guest, by kvmprof with nothing but
# the folder of symbols that came with them, and by stock perf with the very files that the guest
# ran: what perf in the guest would call each frame. Environment: USER_KERNELS, the guests' kernels;
# USER_KEEP, a folder to keep everything in.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"
. "$SRC/tests/lib/userland.sh"

built=$(mktemp -d /var/tmp/kvmprof-user.XXXXXX)
keep=${USER_KEEP:-$TMPDIR/user}
trap 'rm -rf "$built"' EXIT
userland_copy "$built"

# check_guest KERNEL
check_guest() {
	label="guest $1"
	out=$keep/$1
	recorded kallsyms --kernel 6.12 --timeout 900 -- \
		"$SRC/tests/lab/user-host" "$built" "$1" sources || return
	userland_check all 97 95
	# What is not in the guest's memory has neither rules nor names: told, with a floor.
	userland_check memory 95 50
	chains_judge
}

for kernel in ${USER_KERNELS:-6.1 6.12}; do
	check_guest "$kernel"
done
tap_done
