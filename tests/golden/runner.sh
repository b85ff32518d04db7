#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The test runner itself: what it counts as passed, failed, skipped, and that it never hangs.
set -eu
. "$SRC/tests/lib/tap.sh"

build=$TMPDIR/build
mkdir -p "$build/tests"

# program NAME TEXT…: a unit test of that text
program() {
	name=$build/tests/test-$1
	shift
	{ echo '#!/bin/sh'; printf '%s\n' "$@"; } >"$name"
	chmod +x "$name"
}

# run ARGS…: the runner over these tests; the output in $output, the status in $code
run() {
	code=0
	output=$("$SRC/tests/run" --build "$build" --only unit "$@" 2>&1) || code=$?
}

summary() {
	printf '%s\n' "$output" | tail -n 1
}

run
same 'nothing to run: sums' '0 passed, 0 failed, 0 skipped' "$(summary)"
same 'nothing to run: status' 1 "$code"

program good 'echo 1..3' 'echo ok 1 - one' 'echo "ok 2 - two # SKIP no reason"' 'echo ok'
run
same 'passed and skipped: sums' '2 passed, 0 failed, 1 skipped' "$(summary)"
same 'passed and skipped: status' 0 "$code"
contains 'the reason of a skip is told' "$output" 'no reason'

program absent 'echo "1..0 # SKIP no browser"'
run absent
same 'only skipped: sums' '0 passed, 0 failed, 1 skipped' "$(summary)"
same 'only skipped: status' 1 "$code"
contains 'the reason of skipping all is told' "$output" 'no browser'

program bad 'echo 1..2' 'echo ok 1 - fine' 'echo not ok 2 - broken' 'echo "# because of this"' 'exit 1'
run bad
same 'failed: sums' '1 passed, 1 failed, 0 skipped' "$(summary)"
same 'failed: status' 1 "$code"
contains 'failed: its log is shown' "$output" '# because of this'

program bad 'echo 1..3' 'echo ok 1'
run bad
same 'fewer than planned' '1 passed, 1 failed, 0 skipped' "$(summary)"

program bad 'echo ok 1'
run bad
same 'no plan' '1 passed, 1 failed, 0 skipped' "$(summary)"

program bad ':'
run bad
same 'no output' '0 passed, 1 failed, 0 skipped' "$(summary)"

program bad 'echo ok 1' 'echo 1..1' 'kill -SEGV $$'
run bad
same 'crash after the last test' '1 passed, 1 failed, 0 skipped' "$(summary)"

program bad 'echo "Bail out! no disk"'
run bad
same 'bail out' '0 passed, 1 failed, 0 skipped' "$(summary)"

program bad 'echo "not ok 1 - later # TODO not yet"' 'echo 1..1'
run bad
same 'todo' '0 passed, 0 failed, 1 skipped' "$(summary)"

# shellcheck disable=SC2016 # expands in the program
program bad 'sleep 1000 & echo $! >"$BUILD/pid"' 'echo ok 1' 'wait'
run --timeout 1 bad
same 'timeout' '0 passed, 1 failed, 0 skipped' "$(summary)"
# ended PID: within five seconds; it may wait as a zombie for whoever inherits it.
ended() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		case $(ps -o stat= -p "$1" || echo gone) in
		gone | Z*) return 0 ;;
		esac
		sleep 0.5
	done
	return 1
}
check 'a test that timed out leaves no process' ended "$(cat "$build/pid")"

run --list
contains 'the list' "$output" unit/good
run --only nothing
same 'an unknown kind' 2 "$code"

tap_done
