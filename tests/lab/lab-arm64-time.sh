#!/bin/sh
# lab: flavour=arm64-vhe,arm64-nvhe host=6.1 timeout=900 icount slow
# SPDX-License-Identifier: GPL-2.0-only
# Whose time is it? Time is that of instructions here, so that a guest's share is known: the cycles
# that the processor counts in the guest alone. A clock's samples are to have that share, though KVM
# has interrupts off on its way into the guest. And instructions, in guests and in programs alone.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab

# counts EVENT…: of 4 s, a number a line
counts() {
	perf stat -x, -e "$(echo "$@" | tr ' ' ,)" -p "$pid" sleep 4 2>&1 | cut -d , -f 1
}

# near WHAT WANTED GOT WITHIN
near() {
	echo "# $1: $3, wanted $2"
	check "$1" test "$(($3 - $2))" -le "$4" -a "$(($2 - $3))" -le "$4"
}

# share NAME WORKLOAD: a guest with it, whose cycles are counted and then sampled by a clock. Not at the
# same time: what a sample costs comes behind it, long before the next, where no sample sees it.
share() {
	pid=$("$lab" guest start "$1" --wait 300 --workload "$2")
	same "$1: a guest starts" 0 $?
	# shellcheck disable=SC2046 # numbers
	set -- "$1" $(counts cycles:G cycles:H cycles:GH)
	"$KVMPROF" record -e cpu-clock -F 199 -p "$pid" --duration 7 -o "$TMPDIR/clock.data" \
		>"$TMPDIR/said" 2>&1
	cat "$TMPDIR/said"
	near "$1: cycles of guest and host are those of both" 1000 "$((1000 * ($2 + $3) / $4))" 10
	# In thousandths, what of the clock's events came in the guest.
	near "$1: the clock has the guest's share" "$((1000 * $2 / $4))" "$(sed -n -E \
		's/^kvmprof: ([0-9]+) events = .* ([0-9]+) not in the guest.*/\1 \2/p' "$TMPDIR/said" |
		awk '{ print int(1000 * ($1 - $2) / $1 + 0.5) }')" 40
}

share busy cputree-nofp
# shellcheck disable=SC2046 # numbers
set -- $(counts instructions:G instructions:Gu instructions:Gk instructions:GH)
near "instructions of the guest are those of its two modes" 1000 "$((1000 * ($2 + $3) / $1))" 20
check "the guest's are part of all" test "$1" -lt "$4"
check "instructions are sampled" "$KVMPROF" record -e instructions:u -F 199 -p "$pid" --duration 3 \
	-o "$TMPDIR/u.data"
echo "$tap_output"
"$KVMPROF" script -i "$TMPDIR/u.data" >"$TMPDIR/u"
same "all of them in user mode" user "$(awk '/instructions:u/ { getline
	seen[$1 ~ /^ffff/ ? "kernel" : "user"] } END { for (mode in seen) print mode }' "$TMPDIR/u")"
"$lab" guest stop busy
share idle timers-nofp
"$lab" guest stop idle
tap_done
