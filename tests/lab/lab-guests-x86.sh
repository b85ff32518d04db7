#!/bin/sh
# lab: outside timeout=3600 slow
# SPDX-License-Identifier: GPL-2.0-only
# Unusual x86 guests: 32-bit programs under a 64-bit kernel, without and with libc, page-table
# isolation, five-level tables, and kernels of i386 with and without PAE. Environment: X86_GUESTS,
# those to take; X86_KEEP, a folder to keep everything in. doc/guests.md has the table.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"

keep=${X86_KEEP:-$TMPDIR/x86}

# record_guest NAME HOST-OPTIONS WORDS GUEST-OPTION…
record_guest() {
	label=$1
	out=$keep/$1
	host_options=$2
	shift 2
	# shellcheck disable=SC2086 # options and their values, or nothing
	recorded x86.data --kernel 6.12 --timeout 300 $host_options -- \
		"$SRC/tests/lab/guests-x86-host" "$@" || return
	same "$label: record ends well" 0 "$(cat "$out/status")"
	cat "$out/said"
	"$KVMPROF" script -F +stop,+symoff -i "$out/x86.data" --buildid-dir "$out/debug" \
		--symbol-sources cache >"$out/script"
}

# check_guest …: the same. All but $unruled, programs of which no rules are to be had: Debian's kernels
# of i386 have no types, which it takes to find a program's file.
unruled=none
check_guest() {
	record_guest "$@" || return
	chains account "$out/said" --label "$label" --min-samples 2000
	chains complete "$out/script" --label "$label, all" --comm "(?!$unruled).*" --sigmas 0 \
		--min-samples 300
	chains user "$out/script" --label "$label, 32 bits, frame pointers" \
		--comm '(cputree|syscalls|faults|recurse)-32-fp' --min-samples 500
	chains shares "$out/script" --label "$label" --comm cputree-32-fp \
		--binary "$BUILD/lab/workloads/cputree-32-fp" --want alpha=50,beta=30,gamma=20 \
		--min-samples 300
	chains user "$out/script" --label "$label, in a segment" --comm segments-32-fp \
		--min-samples 300
	# That both have their names tells that addresses are linear. Of some 500 samples the shares are
	# known to 7 points, three sigmas.
	chains shares "$out/script" --label "$label, in a segment" --comm segments-32-fp \
		--binary "$BUILD/lab/workloads/segments-32-fp" --want inside=60,outside=40 \
		--min-samples 300 --within 7
	chains names "$out/script" --label "$label" \
		--comms cputree-32-fp,syscalls-32-fp,faults-32-fp,recurse-32-fp,signals-32-nofp,red-1
}

# By the files' own rules, which takes the kernel's types to find the files: not i386's.
check_rules() {
	chains user "$out/script" --label "$label, 32 bits, no frame pointers" --comm '.*-32-nofp' \
		--min-samples 300
}

# check_libc …: the same. libc sorts by a program's function, asks the kernel and the vDSO.
check_libc() {
	record_guest "$@" || return
	chains account "$out/said" --label "$label" --min-samples 2000
	chains user "$out/script" --label "$label" --comm libc-32 --min-samples 1000 --end _start
	chains paths "$out/script" --label "$label" --comm libc-32 \
		--path '_start>main>sort_all>qsort.*>compare' \
		--path 'main>ask_kernel>getppid.*>__kernel_vsyscall>.*sys_getppid' \
		--path 'main>look_at_clock>.*clock_gettime.*>__vdso_clock_gettime.*'
	chains names "$out/script" --label "$label" --comms libc-32
}

for guest in ${X86_GUESTS:-compat libc pti pti-6.12 la57 686-pae 686}; do
	case $guest in
	compat) check_guest "32-bit programs" "" 64 --kernel 6.1 ;;
	libc) check_libc "32-bit program with libc" "" libc --kernel 6.1 ;;
	pti) check_guest "page-table isolation" "" 64 --kernel 6.1 --append pti=on ;;
	pti-6.12) check_guest "page-table isolation, 6.12" "" 64 --kernel 6.12 --append pti=on ;;
	la57) check_guest "five levels" "--cpu +la57" 64 --kernel 6.1 ;;
	686*)
		if "$SRC/lab/lab" kernel "$guest" >"$TMPDIR/fetched" 2>&1; then
			unruled='.*-nofp?'	# a name has 15 characters
			host=''
			# With nested paging the emulator sets the accessed bit in the table that a
			# PAE guest's CR3 points at. No processor does, and KVM refuses such a table.
			[ "$guest" = 686 ] || host='--append kvm_amd.npt=0'
			check_guest "i386, $guest" "$host" 32 --kernel "$guest"
		else
			skip "i386, $guest" "$(tail -n 1 "$TMPDIR/fetched")"
		fi
		;;
	*) fail "guest $guest" "not known" ;;
	esac
	case $guest in
	686* | libc) ;;
	*) [ ! -e "$out/x86.data" ] || check_rules ;;
	esac
	[ ! -e "$TMPDIR/chains" ] || chains_judge
done
tap_done
