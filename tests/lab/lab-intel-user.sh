#!/bin/sh
# lab: outside timeout=3000 slow
# SPDX-License-Identifier: GPL-2.0-only
# Guest user space on an Intel host: the same programs as in lab-user, checked in the same way. The
# guest has the lab host's disks, and no share to give its kernel's symbols by: perf names user frames.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"
. "$SRC/tests/lib/userland.sh"

built=$(mktemp -d /var/tmp/kvmprof-user.XXXXXX)
out=${USER_KEEP:-$TMPDIR/user}/intel
trap 'rm -rf "$built"' EXIT
userland_copy "$built"

label="Intel host"
if recorded all.status --host intel --timeout 2700 -- \
	"$SRC/tests/lab/user-host" "$built" 6.1 disks; then
	userland_check all 97 95
	chains_judge
fi
tap_done
