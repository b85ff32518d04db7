#!/bin/sh
# lab: flavour=arm64-vhe,arm64-nvhe host=6.1 timeout=1800 icount slow
# SPDX-License-Identifier: GPL-2.0-only
# Whose time is it? Time is that of instructions here, so that a guest's share is known: the cycles
# that the processor counts in the guest alone. A clock's samples are to have that share, though KVM
# has interrupts off on its way into the guest. And instructions, in guests and in programs alone.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab

# vcpu PID: its one vCPU's thread
vcpu() {
	for task in "/proc/$1/task"/*; do
		case $(cat "$task/comm") in CPU*KVM) echo "${task##*/}" ;; esac
	done
}

# counts SECONDS EVENT…: of the vCPU, a number a line
counts() {
	seconds=$1
	shift
	perf stat -x, -e "$(echo "$@" | tr ' ' ,)" -t "$vcpu" sleep "$seconds" 2>&1 | cut -d , -f 1
}

# near WHAT WANTED GOT WITHIN
near() {
	echo "# $1: $3, wanted $2"
	check "$1" test "$(($3 - $2))" -le "$4" -a "$(($2 - $3))" -le "$4"
}

# still HZ SECONDS CMD…: while a clock samples the guest at HZ and the recorder stands still. With its
# turns on the one CPU, which begin and end with the host's ticks, the clock of the vCPU's thread, which
# stands still then, falls into step with the ticks and does not see most of the time between them. And
# the timers of a guest that has no turn come together.
still() {
	"$KVMPROF" record -e cpu-clock -F "$1" -p "$pid" --duration "$2" -o "$TMPDIR/clock.data" \
		>"$TMPDIR/said" 2>&1 &
	recorder=$!
	while kill -0 "$recorder" 2>/dev/null && ! grep -q 'event cpu-clock' "$TMPDIR/said"; do
		sleep 0.2
	done
	kill -STOP "$recorder"
	shift 2
	"$@"
	kill -CONT "$recorder"
	wait "$recorder"
}

# share NAME WORKLOAD: a guest with it, whose cycles are counted while a clock samples it. At a rate at which
# it does not matter that what a sample costs, in the host, comes where no other sample sees it.
share() {
	pid=$("$lab" guest start "$1" --wait 300 --workload "$2")
	same "$1: a guest starts" 0 $?
	vcpu=$(vcpu "$pid")
	# shellcheck disable=SC2046 # numbers
	set -- "$1" $(still 29 62 counts 60 cycles:G cycles:H cycles:GH)
	cat "$TMPDIR/said"
	# In EL1 a host's kernel switches counters in EL2, on the way into the guest and out of it: what is
	# spent there neither has, and whose it is they do not say; that is much where the guest leaves the
	# CPU all the time. In thousandths, of a guest's cycles:
	least=$((1000 * $2 / $4)) most=$(((1000 * ($4 - $3)) / $4))
	echo "# $1: cycles of the guest $least, all but the host's $most"
	check "$1: no cycles are both's" test "$least" -le "$((most + 10))"
	case $LAB_FLAVOUR-$1 in
	arm64-nvhe-idle) ;;
	*) near "$1: cycles of guest and host are those of both" "$most" "$least" 10 ;;
	esac
	# What of the clock's events came in the guest.
	clock=$(sed -n -E 's/^kvmprof: ([0-9]+) events = .* ([0-9]+) not in the guest.*/\1 \2/p' \
		"$TMPDIR/said" | awk '{ print int(1000 * ($1 - $2) / $1 + 0.5) }')
	echo "# $1: of the clock's events $clock"
	check "$1: the clock has the guest's share" test "$clock" -ge "$((least - 40))" \
		-a "$clock" -le "$((most + 40))"
}

share busy cputree-nofp
# shellcheck disable=SC2046 # numbers
set -- $(counts 4 instructions:G instructions:Gu instructions:Gk instructions:GH)
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
