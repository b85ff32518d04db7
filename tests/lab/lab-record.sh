#!/bin/sh
# lab: host=6.1,6.12 timeout=700
# SPDX-License-Identifier: GPL-2.0-only
# The main job: a guest with every workload is recorded from the host. No sample is unaccounted,
# chains are complete, the known call trees are found, names are right, stock perf agrees.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/guests.sh"

lab=$SRC/lab/lab
workloads="cputree syscalls forkexec faults threads recurse kthreads timers"

# record_guest GUEST_KERNEL
record_guest() {
	label="guest $1 on $LAB_KERNEL"
	set -- "$1" --cpus 2
	for workload in $workloads; do
		set -- "$@" --workload "$workload-fp"
	done
	# The shares of the CPU tree need many samples of it.
	for _ in 1 2 3 4 5 6 7 8; do
		set -- "$@" --workload cputree-fp
	done
	if ! "$lab" guest start "main" --kernel "$@" >"$TMPDIR/pid" 2>"$TMPDIR/start"; then
		fail "$label: guest starts" "$(cat "$TMPDIR/start")"
		return
	fi
	"$KVMPROF" record --vm main -F 997 --duration 16 -o "$TMPDIR/perf.data" >"$TMPDIR/record" 2>&1
	same "$label: record ends well" 0 $?
	cat "$TMPDIR/record"
	"$lab" guest stop main
	"$KVMPROF" script -F +stop -i "$TMPDIR/perf.data" >"$TMPDIR/script"

	chains account "$TMPDIR/record" --label "$label" --min-samples 4000
	for workload in $workloads; do
		chains complete "$TMPDIR/script" --label "$label, $workload" \
			--comm "$(comms "$workload")" --min-samples "$(least "$workload")"
	done
	chains complete "$TMPDIR/script" --label "$label, all" --sigmas 0
	chains shares "$TMPDIR/script" --label "$label" --comm cputree-fp \
		--binary "$BUILD/lab/workloads/cputree-fp" --want alpha=50,beta=30,gamma=20 \
		--min-samples 2000
	chains paths "$TMPDIR/script" --label "$label" --comm syscalls-fp --peer "$TMPDIR/script" \
		--path 'entry_SYSCALL_64.*>do_syscall_64>.*stat.*' \
		--path 'do_syscall_64>.*read>vfs_read' \
		--path 'do_syscall_64>.*pipe.*' \
		--path 'do_syscall_64>vm_mmap_pgoff>do_mmap'
	chains names "$TMPDIR/script" --label "$label" \
		--comms "cputree-fp,syscalls-fp,forkexec-fp,faults-fp,red-1,ticker,ksoftirqd/.*"
	chains_judge
}

# The names that a workload's threads run under.
comms() {
	case $1 in
	kthreads)
		printf %s 'kthreads-fp|pty-feeder|netns-dropper|rcu-waiter|'
		printf %s 'kworker/.*|ksoftirqd/.*|rcu_.*|migration/.*'
		;;
	threads) echo 'threads-fp|worker-.*|(red|green|blue)-.*' ;;
	timers) echo 'timers-fp|ticker|sender' ;;
	*) echo "$1-fp" ;;
	esac
}

# How many kernel samples of it there must be; those that mostly run in user mode have few.
least() {
	case $1 in
	cputree | recurse | threads) echo 20 ;;
	*) echo 50 ;;
	esac
}

for kernel in $(guest_kernels); do
	record_guest "$kernel"
done
tap_done
