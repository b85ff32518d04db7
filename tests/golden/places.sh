#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# What is not the guest's own system, as stock perf and we name it.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"

"$BUILD/tests/make-places" "$TMPDIR/perf.data" || { fail "a recording"; tap_done; exit 1; }
cd "$TMPDIR" || exit 1

chains="[guest real mode]+0xffff0
[guest firmware]+0xfe05b
[guest real mode]+0x1029f
[guest firmware]+0xffff1000
[guest kernel unknown]+0x4f3ef31
[unknown] < [guest kernel unknown]+0x0
[guest SMM]+0x8000
[nested guest]+0x81234567
[nested guest]+0x401000"

stops="real mode
firmware
real mode
firmware
kernel not identified
kernel not identified
system management mode
nested guest
nested guest"

# Frames of a sample in one line, without addresses and objects.
frames() {
	awk 'NF == 0 { if (line) print line; line = ""; next }
		{ $1 = ""; sub(/^ /, ""); sub(/ \([^(]*\)$/, ""); line = line ? line " < " $0 : $0 }
		END { if (line) print line }'
}

"$KVMPROF" script -F ip,sym,symoff,dso >ours
same "kvmprof script" "$chains" "$(frames <ours)"
same "the objects are called so, too" 9 "$(grep -c '(\[.*guest.*\])$' ours)"
same "why they ended" "$stops" \
	"$("$KVMPROF" script -F +stop | sed -n 's/.*\[stop: \(.*\)\].*/\1/p')"
"$KVMPROF" report --stdio --no-children >listed
for place in 'guest real mode' 'guest firmware' 'guest SMM' 'nested guest' 'guest kernel unknown'; do
	contains "kvmprof report: $place" "$(cat listed)" "[$place]"
done
contains "the account" "$(cat listed)" "nested guest"
same "folded" "[unknown];[guest SMM] 1" "$("$KVMPROF" script --folded | grep SMM)"
"$KVMPROF" flamegraph -o flame.html 2>/dev/null
contains "the flame graph" "$(cat flame.html)" '[guest firmware]'
if command -v perf >/dev/null; then
	HOME=$PWD PERF_CONFIG=/dev/null perf script -F ip,sym,symoff,dso >theirs 2>perf.err
	same "perf script" "$chains" "$(frames <theirs)"
	lacks "no complaint" "$(cat perf.err)" "rder"
	HOME=$PWD PERF_CONFIG=/dev/null perf report --stdio --no-children -F overhead,sym -g none \
		>report.perf 2>/dev/null
	contains "perf report" "$(cat report.perf)" '[nested guest]'
else
	skip "perf script" "no perf"
fi
tap_done
