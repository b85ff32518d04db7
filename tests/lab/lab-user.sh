#!/bin/sh
# lab: host=6.12 timeout=600 slow
# SPDX-License-Identifier: GPL-2.0-only
# Guest user space: programs of a Debian user land without frame pointers, their chains from the
# kernel to the thread's first frame, with names. Nothing is installed in the guest.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab
# The guest has the lab host's files, but a /tmp of its own, and the build folder may be in /tmp.
built=/var/tmp/userland
mkdir -p "$built"
cp "$BUILD"/lab/userland/userland-* "$SRC"/lab/userland/run "$SRC"/lab/userland/tree.py "$built" 2>/dev/null
printf '#!/bin/sh\nexec %s/run %s\n' "$built" "$built" >"$TMPDIR/start"

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
	seq|sed|sort|tail|sh pipeline
	LIST
}

# record_guest KERNEL
record_guest() {
	label="guest $1"
	check "$label: starts" "$lab" guest start user --kernel "$1" --cpus 2 --root \
		--script "$TMPDIR/start"
	for _ in $(seq 300); do
		"$lab" guest output user | grep -q '^userland started' && break
		sleep 0.5
	done
	contains "$label: programs run" "$("$lab" guest output user)" "userland started"
	"$KVMPROF" record --vm user -F 297 --duration 30 -o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
	same "$label: record ends well" 0 $?
	cat "$TMPDIR/said"
	"$lab" guest stop user
	"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/script"
	chains account "$TMPDIR/said" --label "$label" --min-samples 2000
	programs | while read -r comm name; do
		chains user "$TMPDIR/script" --label "$label, $name" --comm "$comm" --min-samples 30
	done
	for name in tree threads dlopen; do
		chains named "$TMPDIR/script" --label "$label, $name" --comm "userland-.*" \
			--dso "/userland-$name\$" --binary "$built/userland-$name"
	done
	chains_judge
}

record_guest 6.1
record_guest 6.12
tap_done
