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

# The guest has this machine's files, but a /tmp of its own.
built=$(mktemp -d /var/tmp/kvmprof-user.XXXXXX)
keep=${USER_KEEP:-$TMPDIR/user}
trap 'rm -rf "$built"' EXIT
cp "$BUILD"/lab/userland/userland-*[!p] "$SRC"/lab/userland/run "$SRC"/lab/userland/tree.py \
	"$SRC/tests/lab/user-guest" "$built" 2>/dev/null
chmod 755 "$built"

# programs: comm, name, least samples
programs() {
	cat <<-'LIST'
	userland-tree tree
	userland-cxx cxx
	userland-rust rust
	python3 python
	userland-thread threads
	userland-dlopen dlopen
	userland-delete deleted
	userland-static static
	jailed chroot
	seq|sed|sort|tail pipeline
	run|user-guest shell
	LIST
}

# check_recording NAME LEAST: of the recording NAME.data in $out, with at least LEAST per cent of
# frames named that perf names
check_recording() {
	name=$1
	same "$label, $name: record ends well" 0 "$(cat "$out/$name.status")"
	cat "$out/$name.said"
	"$KVMPROF" script -F +stop,+symoff -i "$out/$name.data" --buildid-dir "$out/$name.debug" \
		--symbol-sources cache >"$out/$name.script"
	perf --buildid-dir "$TMPDIR/none" script --no-inline -F +symoff --kallsyms "$out/kallsyms" \
		-i "$out/$name.data" >"$out/$name.perf" 2>"$out/$name.perf-said"
	chains account "$out/$name.said" --label "$label, $name" --min-samples 2000
	chains user "$out/$name.script" --label "$label, $name, all" --comm "$(programs |
		sed 's/ .*//' | paste -sd'|')" --min-samples 2000 --min "$2"
	programs | while read -r comm program; do
		chains user "$out/$name.script" --label "$label, $name, $program" --comm "$comm" \
			--min-samples 30 --min "$2"
	done
	chains alike "$out/$name.script" --peer "$out/$name.perf" --label "$label, $name" \
		--min-samples 2000 --min "$3"
}

# check_guest KERNEL
check_guest() {
	label="guest $1"
	out=$keep/$1
	recorded kallsyms --kernel 6.12 --timeout 900 -- \
		"$SRC/tests/lab/user-host" "$built" "$1" sources || return
	check_recording all 97 95
	# What is not in the guest's memory has neither rules nor names: told, with a floor.
	check_recording memory 95 50
	chains_judge
}

for kernel in ${USER_KERNELS:-6.1 6.12}; do
	check_guest "$kernel"
done
tap_done
