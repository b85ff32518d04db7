#!/bin/sh
# lab: host=6.12 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# A guest whose firmware is at work all the time, in system management mode: those samples have their
# reason and their name, and the others their chains.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/outside.sh"

lab=$SRC/lab/lab
cd "$TMPDIR" || exit 1

check "a guest starts" "$lab" guest start smm --workload smi-fp --workload cputree-fp \
	--qemu '-machine smm=on -bios bios-256k.bin'
for mode in inline deferred ptrace; do
	begin "smm-$mode" smm --capture "$mode"
	sleep 8
	end "smm-$mode"
	marked "smm-$mode" 'system management mode' '[guest SMM]' 30
	known "smm-$mode" 97
	check "smm-$mode: the guest's own work" grep -q ' alpha_leaf' "smm-$mode.script"
	check "smm-$mode: what makes it" grep -q ' interrupt_firmware' "smm-$mode.script"
done
"$lab" guest stop smm
tap_done
