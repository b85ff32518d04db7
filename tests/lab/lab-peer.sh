#!/bin/sh
# lab: host=6.12 timeout=600
# SPDX-License-Identifier: GPL-2.0-only
# What the guest's own `perf record -g` shows of the kernel's side of system calls, we show too.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"

lab=$SRC/lab/lab
# The guest has the lab host's files, but a /tmp of its own, and the build folder may be in /tmp.
program=/var/tmp/syscalls-fp
cp "$BUILD/lab/workloads/syscalls-fp" "$program"

# It is read outside, with the guest's own symbols: in there that takes minutes.
cat >"$TMPDIR/peer" <<SCRIPT
#!/bin/sh
"$program" &
echo peer started
perf record -B -N -e cpu-clock -F 499 -g -o /tmp/perf.data -p \$! -- sleep 8 >/tmp/log 2>&1
cp /proc/kallsyms "\$LAB_OUT/kallsyms"
cp /tmp/perf.data /tmp/log "\$LAB_OUT/"
echo peer done
SCRIPT
for kernel in $(guest_kernels); do
	name=peer-$kernel
	check "guest $kernel starts" "$lab" guest start "$name" --kernel "$kernel" --cpus 1 --root \
		--script "$TMPDIR/peer"
	"$KVMPROF" record --vm "$name" -F 499 --duration 10 -o "$TMPDIR/perf.data" \
		>"$TMPDIR/said" 2>&1
	same "guest $kernel: record ends well" 0 $?
	for _ in $(seq 240); do
		"$lab" guest output "$name" | grep -q 'peer done' && break
		"$lab" guest list | grep -q "^$name " || break
		sleep 1
	done
	"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/ours"
	out=$("$lab" guest dir "$name")/out
	cp "$out/perf.data" "$TMPDIR/theirs"
	cp "$out/kallsyms" "$TMPDIR/kallsyms"
	chains paths "$TMPDIR/ours" --peer "$TMPDIR/theirs" --kallsyms "$TMPDIR/kallsyms" \
		--comm syscalls-fp --label "guest $kernel"
	chains_judge
	"$lab" guest stop "$name"
done
tap_done
