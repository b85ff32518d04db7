#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Beginnings and ends of a guest's tasks as stock perf and we read them: in the order that perf
# itself writes for what was there before it, and a process number used again is another process.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"

"$BUILD/tests/make-tasks" "$TMPDIR/perf.data" || { fail "a recording"; tap_done; exit 1; }
cd "$TMPDIR" || exit 1

# The events of process 1234, without addresses, build ids and who the reader thinks wrote them.
events() {
	sed -n 's/.*: PERF_RECORD_/PERF_RECORD_/p' | grep -v 'MMAP -1' |
		sed -e 's/\(MMAP2 [0-9]*\/[0-9]*\): .* \([^ ]*\)$/\1 \2/'
}

expected="PERF_RECORD_FORK(1234:1234):(1:1)
PERF_RECORD_COMM: first:1234/1234
PERF_RECORD_FORK(1234:1240):(1234:1234)
PERF_RECORD_COMM: worker:1234/1240
PERF_RECORD_MMAP2 1234/1234 /usr/libx.so
PERF_RECORD_MMAP2 1234/1234 [JIT]
PERF_RECORD_EXIT(1234:1240):(1234:1234)
PERF_RECORD_EXIT(1234:1234):(1:1)
PERF_RECORD_FORK(1234:1234):(1:1)
PERF_RECORD_COMM: second:1234/1234
PERF_RECORD_MMAP2 1234/1234 /usr/libx.so
PERF_RECORD_MMAP2 1234/1234 [JIT]"

samples="worker 1234/1240
first 1234/1234
first 1234/1234
second 1234/1234"

if command -v perf >/dev/null; then
	HOME=$PWD PERF_CONFIG=/dev/null perf script --show-task-events --show-mmap-events \
		>script.txt 2>perf.err
	same "perf script --show-task-events" "$expected" "$(events <script.txt)"
	same "perf script's samples" "$samples" \
		"$(HOME=$PWD PERF_CONFIG=/dev/null perf script -F comm,pid,tid 2>>perf.err |
			awk 'NF { print $1, $2 }')"
	lacks "no complaint" "$(cat perf.err)" "rder"
else
	skip "perf script --show-task-events" "no perf"
fi
same "kvmprof script's samples" "$samples" \
	"$("$KVMPROF" script -i perf.data -F comm,pid,tid | awk 'NF { print $1, $2 }')"

tap_done
