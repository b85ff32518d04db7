#!/bin/sh
# lab: flavour=intel host=6.1 timeout=900 slow
# SPDX-License-Identifier: GPL-2.0-only
# The main job on an Intel host, whose guests' registers are in the VMCS: a guest with every workload is
# recorded in deferred mode. No sample is unaccounted, chains are complete, the known call trees are
# found.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab
workloads="cputree syscalls forkexec faults threads recurse kthreads timers"

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

record_all() {
	set --
	for workload in $workloads; do
		set -- "$@" --workload "$workload-fp"
	done
	for _ in 1 2 3 4; do
		set -- "$@" --workload cputree-fp
	done
	if ! "$lab" guest start all --wait 400 "$@" >"$TMPDIR/pid" 2>"$TMPDIR/start"; then
		fail "guest with all workloads starts" "$(cat "$TMPDIR/start")"
		return
	fi
	# More than that processor can take, which does not keep the recording from its end.
	"$KVMPROF" record --vm all -F 399 --duration 30 -o "$TMPDIR/all.data" >"$TMPDIR/all" 2>&1
	same "all workloads: record ends well" 0 $?
	cat "$TMPDIR/all"
	contains "deferred mode is the default" "$(cat "$TMPDIR/all")" "capture deferred"
	"$lab" guest stop all
	"$KVMPROF" script -F +stop -i "$TMPDIR/all.data" >"$TMPDIR/all.script"
	chains account "$TMPDIR/all" --min-samples 4000 --label "all workloads"
	for workload in $workloads; do
		least=20
		[ "$workload" != recurse ] || least=1	# it has next to nothing to ask the kernel for
		chains complete "$TMPDIR/all.script" --label "$workload" --comm "$(comms "$workload")" \
			--min-samples "$least"
	done
	chains complete "$TMPDIR/all.script" --label "all workloads" --sigmas 0
	chains shares "$TMPDIR/all.script" --label "all workloads" --comm cputree-fp \
		--binary "$BUILD/lab/workloads/cputree-fp" --want alpha=50,beta=30,gamma=20 \
		--min-samples 1000 --within 5
	chains paths "$TMPDIR/all.script" --label "all workloads" --comm syscalls-fp \
		--peer "$TMPDIR/all.script" \
		--path 'entry_SYSCALL_64.*>do_syscall_64>.*stat.*' \
		--path 'do_syscall_64>.*read>vfs_read' \
		--path 'do_syscall_64>vm_mmap_pgoff>do_mmap'
	chains names "$TMPDIR/all.script" --label "all workloads" \
		--comms "cputree-fp,syscalls-fp,forkexec-fp,faults-fp,red-1,ticker"
	chains_judge
}

record_all
tap_done
