#!/bin/sh
# lab: outside timeout=2000 slow
# SPDX-License-Identifier: GPL-2.0-only
# A program of a Debian user land, recorded from the host and by `perf record --call-graph dwarf` in
# the guest itself: the shares of the hottest chains are the same. The guest runs nothing else, so
# that both have as many samples of it as can be had. Environment: USER_KERNELS, the guests' kernels;
# USER_KEEP, a folder to keep everything in.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"

# The guest has this machine's files, but a /tmp of its own.
built=$(mktemp -d /var/tmp/kvmprof-agree.XXXXXX)
keep=${USER_KEEP:-$TMPDIR/agree}
trap 'rm -rf "$built"' EXIT
cp "$BUILD/lab/userland/userland-tree" "$SRC/lab/userland/run" "$SRC/tests/lab/user-guest" "$built"
chmod 755 "$built"

# check_guest KERNEL
check_guest() {
	label="guest $1"
	out=$keep/$1
	recorded perf.data --kernel 6.12 --timeout 500 -- \
		"$SRC/tests/lab/user-host" "$built" "$1" agree || return
	cat "$out/all.said" "$out/log"
	"$KVMPROF" script -F +stop -i "$out/all.data" --buildid-dir "$out/all.debug" \
		--symbol-sources cache >"$out/all.script"
	perf --buildid-dir "$TMPDIR/none" script --no-inline --kallsyms "$out/kallsyms" \
		-i "$out/perf.data" >"$out/perf.script" 2>"$out/perf.said"
	chains hottest "$out/all.script" --peer "$out/perf.script" --comm userland-tree \
		--label "$label: the guest's perf --call-graph dwarf" --min-samples 2000
	chains_judge
}

for kernel in ${USER_KERNELS:-6.1 6.12}; do
	check_guest "$kernel"
done
tap_done
