#!/bin/sh
# lab: outside timeout=6000 slow
# SPDX-License-Identifier: GPL-2.0-only
# Guests with kernels of each kind that Debian packages, from 5.10 to today: task, mappings, symbols,
# modules, unwind tables. Environment: GUEST_KERNELS, those to take; KERNELS_KEEP, a folder to keep
# everything in, whose recordings are judged once more instead of made anew. A kernel that the mirror
# no longer has is skipped.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"

keep=${KERNELS_KEEP:-$TMPDIR/kernels}

# word FILE KEY
word() {
	sed -n "s/^$2 //p" "$out/$1" | tr -d '\r'
}

check_guest() {
	label="guest $1"
	out=$keep/$1
	if [ -e "$out/whole" ]; then
		echo "# $label: recorded before, in $out"
	else
		recorded whole --kernel 6.12 --timeout 600 -- \
			"$SRC/tests/lab/kernels-host" "$1" || return
	fi
	same "$label: record ends well" 0 "$(cat "$out/status")"
	cat "$out/said"
	same "$label: release" "$(word guest release)" "$(word facts release)"
	same "$label: all symbols are those of its /proc/kallsyms" "$(word guest symbols)" \
		"$(word facts symbols)"
	same "$label: and those of its modules" "$(word guest modules)" "$(word facts modules)"
	same "$label: functions without a rule" "$(word facts functions)" "$(word facts with-rule)"
	check_tables "$1"
	check_chains
}

# Offline: what is found in the kernel's image, and kvmprof's reading of its tables against others'.
check_tables() {
	"$BUILD/tests/kernel-facts" "$(sed -n 's/^vmlinux=//p' "$TMPDIR/fetched")" >"$out/image"
	for fact in task modules mappings pages; do
		same "$label: $fact known" 1 "$(word image "$fact")"
	done
	for oracle in orc btf; do
		if VMLINUX_KERNELS=$1 python3 "$SRC/tests/golden/$oracle-vmlinux.py" >"$out/$oracle"; then
			pass "$label: $(grep '^ok' "$out/$oracle")"
		else
			fail "$label: tables of $oracle" "$(cat "$out/$oracle")"
		fi
	done
}

check_chains() {
	"$KVMPROF" script -F +stop,+symoff -i "$out/kernels.data" --buildid-dir "$out/debug" \
		--symbol-sources cache >"$out/script"
	chains account "$out/said" --label "$label" --min-samples 3000
	chains complete "$out/script" --label "$label, all" --sigmas 0 --min-samples 500
	chains user "$out/script" --label "$label, no frame pointers" --comm '.*-nofp' \
		--min-samples 300
	chains shares "$out/script" --label "$label" --comm cputree-fp \
		--binary "$BUILD/lab/workloads/cputree-fp" --want alpha=50,beta=30,gamma=20 \
		--min-samples 1000
	chains paths "$out/script" --label "$label" --comm 'syscalls-.*' --peer "$out/script" \
		--path 'entry_SYSCALL_64.*>do_syscall_64>.*stat.*' \
		--path 'do_syscall_64>.*read>vfs_read' \
		--path 'do_syscall_64>vm_mmap_pgoff>do_mmap'
	chains names "$out/script" --label "$label" \
		--comms "cputree-fp,cputree-nofp,syscalls-fp,forkexec-fp,faults-fp,red-1"
	chains_judge
}

for kernel in ${GUEST_KERNELS:-5.10 6.1 6.12 6.12@trixie 6.16 6.17 6.18 6.19 7.0 7.1 7.2 7.3}; do
	if "$SRC/lab/lab" kernel "$kernel" >"$TMPDIR/fetched" 2>&1; then
		check_guest "$kernel"
	else
		skip "guest $kernel" "$(tail -n 1 "$TMPDIR/fetched")"
	fi
done
tap_done
