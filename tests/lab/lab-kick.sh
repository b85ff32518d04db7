#!/bin/sh
# lab: host=7.3 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# Kicks without a signal, by BPF's task work, on a host kernel that has it, beside those by QEMU's own
# signal: chains whole, every event accounted for, fewer that had to share a sample, and a guest that
# goes on.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab
cd "$TMPDIR" || exit 1

# record KICK: into $TMPDIR/KICK.said and .script
record() {
	check "$1: record ends well" "$KVMPROF" record --vm kicked --capture deferred --kick-signal "$1" \
		-F 997 --duration 6 -o "$1.data" --buildid-dir "$TMPDIR/debug"
	echo "$tap_output" | tee "$1.said"
	"$KVMPROF" script -F +stop -i "$1.data" --buildid-dir "$TMPDIR/debug" >"$1.script"
	chains account "$TMPDIR/$1.said" --label "$1" --min-samples 1000
	chains complete "$TMPDIR/$1.script" --label "$1" --min-samples 300
	chains shares "$TMPDIR/$1.script" --label "$1" --comm cputree-fp \
		--binary "$BUILD/lab/workloads/cputree-fp" --want alpha=50,beta=30,gamma=20 \
		--min-samples 300 --within 5
}

# shared KICK: in thousandths of all events, those that had no sample of their own
shared() {
	sed -n -E 's/^kvmprof: ([0-9]+) events = .* ([0-9]+) lost: the one before was pending.*/\1 \2/p' \
		"$1.said" | awk '{ nr = int(1000 * $2 / $1) } END { print nr + 0 }'
}

check "selfcheck finds task work" sh -c "'$KVMPROF' selfcheck | grep 'bpf.task-work *yes'"
check "a guest starts" "$lab" guest start kicked --workload cputree-fp --workload syscalls-fp
for kick in none SIGUSR1; do
	record "$kick"
done
work=$(shared none)
signal=$(shared SIGUSR1)
echo "# events that joined the one before: $work of 1000 by task work, $signal by signals"
# On a quiet machine both are below 10.
check "task work is no slower" test "$work" -le "$((signal + 10))"
check "the guest runs on" sh -c "'$lab' guest list | grep kicked"
"$lab" guest stop kicked
chains_judge
tap_done
