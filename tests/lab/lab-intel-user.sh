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

# debug_file FILE: its debug package's file, where that is installed
debug_file() {
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	ls /usr/lib/debug/.build-id/"$(echo "$id" | sed 's|^..|&/|')".debug 2>/dev/null
}

# Its disks have the files that the words of a job name: those of debug packages as on other lab hosts.
label="Intel host"
# shellcheck disable=SC2046 # words
if recorded all.status --host intel --timeout 2700 -- \
	"$SRC/tests/lab/user-host" "$built" 6.1 disks $(debug_file /lib/x86_64-linux-gnu/libc.so.6) \
	$(debug_file /lib/x86_64-linux-gnu/libm.so.6) $(debug_file /lib64/ld-linux-x86-64.so.2); then
	userland_check all 97 95
	chains_judge
fi
tap_done
