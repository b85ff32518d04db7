#!/bin/sh
# lab: flavour=arm64-vhe,arm64-nvhe host=6.1,6.12 timeout=700 icount slow
# SPDX-License-Identifier: GPL-2.0-only
# An arm64 host, whose kernel runs in EL2 or in EL1: its guest is found, its cycles are its own, and
# samples have whole chains, by every mode that there is, and by each the same.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab

# counted: cycles of the guest and of the host beside those of both, in thousandths of the latter
counted() {
	perf stat -x, -e cycles:G -e cycles:H -e cycles:GH -p "$pid" sleep 1.5 2>&1 |
		awk -F, '{ count[$3] = $1 } END { print int(1000 * \
			(count["cycles:G"] + count["cycles:H"]) / count["cycles:GH"] + 0.5) }'
}

# record MODE SECONDS HZ: into $TMPDIR/MODE.data and .script
record() {
	"$KVMPROF" record --capture "$1" -e cycles -F "$3" -p "$pid" --duration "$2" \
		-o "$TMPDIR/$1.data" >"$TMPDIR/$1.said" 2>&1
	same "$1: record ends well" 0 $?
	cat "$TMPDIR/$1.said"
	contains "$1: the guest's kernel is known" "$(cat "$TMPDIR/$1.said")" "($LAB_KERNEL."
	"$KVMPROF" script -F +stop -i "$TMPDIR/$1.data" >"$TMPDIR/$1"
	echo "# $1: $(grep -c '^[^\t].*\[stop: [^]]*moved' "$TMPDIR/$1") samples are marked as moved"
	chains account "$TMPDIR/$1.said" --label "$1" --min-samples 200
}

# whole MODE: what must hold of its recording
whole() {
	chains user "$TMPDIR/$1" --label "$1" --comm 'cputree-nofp|syscalls-nofp' --sigmas 0
	chains complete "$TMPDIR/$1" --label "$1" --comm 'cputree-nofp|syscalls-nofp'
	chains shares "$TMPDIR/$1" --label "$1" --comm cputree-nofp \
		--binary "$BUILD/lab/workloads/cputree-nofp" --want alpha=50,beta=30,gamma=20 \
		--min-samples 300
	# The trampoline that is mapped beside programs has no symbols, for perf in the guest neither.
	chains names "$TMPDIR/$1" --label "$1" --comms cputree-nofp,syscalls-nofp --max-unknown 4
	chains named "$TMPDIR/$1" --label "$1" --comm cputree-nofp \
		--binary "$BUILD/lab/workloads/cputree-nofp"
}

pid=$("$lab" guest start g --kernel "$LAB_KERNEL" --wait 300 --workload cputree-nofp \
	--workload cputree-nofp --workload syscalls-nofp)
same "a guest starts" 0 $?
check "it is listed" "$KVMPROF" list
listed=$tap_output
contains "by its name" "$listed" "g "
# In EL1 a host switches counters on the way, with instructions that none of them counts.
counted=$(counted)
echo "# cycles of guest and host: $counted thousandths of those of both"
check "cycles of guest and host are those of both" test "$counted" -ge 990 -a "$counted" -le 1005
case $LAB_FLAVOUR in
arm64-vhe)
	lacks "the guest's registers are not in memory" "$listed" inline,
	modes=deferred
	;;
*)
	contains "the guest's registers are in memory" "$listed" inline,deferred,ptrace
	modes='inline deferred'
	;;
esac
for mode in $modes; do
	record "$mode" 10 499
	whole "$mode"
done
# To stop a thread takes such a host some 30 ms.
record ptrace 24 29
chains user "$TMPDIR/ptrace" --label ptrace --comm 'cputree-nofp|syscalls-nofp'
for mode in deferred ptrace; do
	[ "$mode" != "${modes%% *}" ] || continue
	for comm in cputree-nofp syscalls-nofp; do
		chains agree "$TMPDIR/${modes%% *}" --peer "$TMPDIR/$mode" --comm "$comm" \
			--sigmas 4.5 --floor 6 --label "${modes%% *} and $mode, $comm"
	done
done
chains_judge
tap_done
