#!/bin/sh
# lab: flavour=arm64-vhe,arm64-nvhe host=6.1 timeout=900 icount slow
# SPDX-License-Identifier: GPL-2.0-only
# Whose time is it? Time is that of instructions here, so that a guest's share is known: the cycles
# that the processor counts in the guest alone. A clock's samples are to have that share, though KVM
# has interrupts off on its way into the guest. And instructions, in guests and in programs alone.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab

# counts PID EVENT…: of 1 s, a number a line
counts() {
	counts_pid=$1
	shift
	perf stat -x, -e "$(echo "$@" | tr ' ' ,)" -p "$counts_pid" sleep 1 2>&1 | cut -d , -f 1
}

# clock PID: of the clock's events on the guest's vCPU, in thousandths, those that came in the guest
clock() {
	"$KVMPROF" record -e cpu-clock -F 997 -p "$1" --duration 2 -o "$TMPDIR/clock.data" 2>&1 |
		sed -n -E 's/^kvmprof: ([0-9]+) events = .* ([0-9]+) not in the guest.*/\1 \2/p' |
		awk '{ print int(1000 * ($1 - $2) / $1 + 0.5) }'
}

# near WHAT WANTED GOT WITHIN
near() {
	echo "# $1: $3, wanted $2"
	check "$1" test "$(($3 - $2))" -le "$4" -a "$(($2 - $3))" -le "$4"
}

# share NAME WORKLOAD: a guest with it
share() {
	pid=$("$lab" guest start "$1" --wait 300 --workload "$2")
	same "$1: a guest starts" 0 $?
	shares=
	for _ in 1 2; do
		# shellcheck disable=SC2046 # numbers
		set -- "$1" "$2" $(counts "$pid" cycles:G cycles:H cycles:GH)
		shares="$shares $((1000 * $3 / $5))"
		near "$1: cycles of guest and host are those of both" 1000 "$((1000 * ($3 + $4) / $5))" 10
		clock=$(clock "$pid")
		set -- "$1" "$2"
	done
	echo "# $1: cycles say$shares, the clock says $clock thousandths of the vCPU's time"
	near "$1: the clock has the guest's share" "${shares##* }" "$clock" 30
}

share busy cputree-nofp
# shellcheck disable=SC2046 # numbers
set -- $(counts "$pid" instructions:G instructions:Gu instructions:Gk instructions:GH)
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
