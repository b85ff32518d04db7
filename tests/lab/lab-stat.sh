#!/bin/bash
# lab: host=6.1,6.12 timeout=700 slow
# SPDX-License-Identifier: GPL-2.0-only
# Counting guests: time in the guest, halts, exits by reason beside stock perf on the same threads,
# several guests, vCPUs, intervals, and what comes and goes.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

HOME=$TMPDIR
export HOME
cd "$TMPDIR" || exit 1

# value FILE GUEST EVENT: of the lines of -x ';', all of them added up
value() {
	awk -F ';' -v guest="$2" -v event="$3" '$1 == guest && $4 == event { sum += $2; n++ }
		END { if (n) printf "%.3f", sum }' "$1"
}

check 'a busy guest starts' "$lab" guest start busy --kernel 6.1 --cpus 1 --workload 'cputree-fp --report 1'
busy_pid=$("$lab" guest list | awk '$1 == "busy" { print $2 }')

# One vCPU that always has work: nearly all of its time is the guest's or the host's on its behalf,
# nearly none is a halt.
"$KVMPROF" stat --vm busy -x ';' --duration 6 2>busy.csv
same 'a busy guest: status' 0 $?
sed 's/^/# /' busy.csv
guest=$(value busy.csv busy guest-time) host=$(value busy.csv busy host-time)
steal=$(value busy.csv busy steal-time) halt=$(value busy.csv busy halt-time)
between 'busy: guest time is most of the time' 3000 6600 "$guest"
between 'busy: guest, host, stolen and halted time are all of it' 5400 6900 \
	"$(awk "BEGIN { print $guest + $host + $steal + $halt }")"
between 'busy: it hardly halts' 0 600 "$halt"
same 'busy: a clock in the guest is the time there' "$guest" "$(value busy.csv busy task-clock:G)"
between 'busy: there are exits' 50 1000000 "$(value busy.csv busy exits)"
between 'busy: each has a reason' 0 0 "$(awk -F ';' '
	$4 == "exits" { all = $2 } $4 ~ /^exits:/ { sum += $2 }
	END { print all - sum }' busy.csv)"
contains 'busy: of the name that the kernel gives it' "$(cat busy.csv)" 'exits:interrupt'
contains 'busy: no PMU, no cycles' "$(cat busy.csv)" '<not supported>;;cycles:G;'
contains 'busy: and why' "$(cat busy.csv)" 'no hardware counter'

# The table.
"$KVMPROF" stat -p "$busy_pid" --duration 2 -o table
sed 's/^/# /' table
contains 'table: its head' "$(cat table)" "Counts of guest busy (qemu, process $busy_pid, 1 vCPU):"
contains 'table: its end' "$(cat table)" 'seconds time elapsed'

# The same exits as perf sees: perf counts within our time, and we within another perf's.
tid=$("$KVMPROF" list -n -p "$busy_pid" -o THREADS | tr -d " ")
perf stat -x , -e kvm:kvm_exit -t "$tid" -o outer.csv -- \
	"$KVMPROF" stat --vm busy -x ';' -e kvm:kvm_exit -o ours.csv -- \
	perf stat -x , -e kvm:kvm_exit -t "$tid" -o inner.csv -- sleep 4
same 'beside perf: status' 0 $?
inner=$(awk -F , '/kvm_exit/ { print $1 }' inner.csv) outer=$(awk -F , '/kvm_exit/ { print $1 }' outer.csv)
between 'exits: no fewer than perf counted within, no more than around' "$inner" "$outer" \
	"$(value ours.csv busy exits)"
between 'the tracepoint as an event: likewise' "$inner" "$outer" "$(value ours.csv busy kvm:kvm_exit)"

# Without BPF. Of the ticks that end guest mode many come when it has ended: 1.9 s of 3.4 were seen here.
"$KVMPROF" stat --vm busy --no-bpf -x ';' --duration 4 2>plain.csv
between 'without BPF: guest time by ticks' 1000 4600 "$(value plain.csv busy guest-time)"
between 'without BPF: exits' 20 1000000 "$(value plain.csv busy exits)"
lacks 'without BPF: no reasons' "$(cat plain.csv)" 'exits:'
contains 'without BPF: it says so' "$(cat plain.csv)" 'exits are not told apart'

# An idle guest of two vCPUs beside it.
check 'an idle guest starts' "$lab" guest start idle --kernel 6.12 --cpus 2
"$KVMPROF" stat -a -x ';' --duration 8 2>both.csv
sed 's/^/# /' both.csv
between 'idle: it halts nearly all of the time of both' 11000 17200 "$(value both.csv idle halt-time)"
between 'idle: it has little of the guest'"'"'s' 0 4000 "$(value both.csv idle guest-time)"
between 'busy, beside it: does not' 0 1500 "$(value both.csv busy halt-time)"
contains 'idle: exits by reason' "$(cat both.csv)" 'exits:hlt'

# vCPUs and intervals add up.
"$KVMPROF" stat --vm idle --per-vcpu -I 1000 --interval-count 4 --summary -x ';' 2>parts.csv
same 'intervals: of both vCPUs' '0 1' "$(awk -F ';' '$6 == "exits" { print $3 }' parts.csv | sort -u |
	xargs)"
same 'intervals: as many as were wanted' 4 "$(awk -F ';' '$1 ~ /^[0-9]+\.[0-9]+$/ { print $1 }' parts.csv |
	sort -u | wc -l)"
# add_up FILE VCPU: exits of the vCPU in all intervals, less those of the sums
add_up() {
	awk -F ';' -v vcpu="$2" '$6 == "exits" && $3 == vcpu { all += $1 == "summary" ? -$4 : $4; n++ }
		END { if (n) print all }' "$1"
}
same 'intervals: their exits are those of the sums, vCPU 0' 0 "$(add_up parts.csv 0)"
same 'intervals: their exits are those of the sums, vCPU 1' 0 "$(add_up parts.csv 1)"

# Without events, from the third second on, to a descriptor.
"$KVMPROF" stat --vm busy -n -D 3000 -x '\t' --log-fd 7 -- sleep 5 7>later.csv
same 'delay: status' 0 $?
sed 's/^/# /' later.csv
between 'delay: what comes in it is not counted' 1000 3500 \
	"$(awk -F '\t' '$4 ~ /^(guest|host|steal|halt)-time$/ { sum += $2 } END { print sum }' later.csv)"
lacks 'no events' "$(cat later.csv)" 'cycles'

# A vCPU that is plugged in while they count, and out again.
check 'a guest that grows starts' "$lab" guest start grows --kernel 6.1 --cpus 1 --hotplug \
	--workload 'cputree-fp --report 1'
"$KVMPROF" stat --vm grows --per-vcpu -I 1000 --summary -x ';' -o grows.csv &
counter=$!
# vcpus: those of the last interval that is whole
vcpus() {
	awk -F ';' '$6 == "exits" && $1 != "summary" { if ($1 != time) { last = seen; seen = "" }
			time = $1; seen = seen " " $3 }
		END { print last }' grows.csv
}
# wait_for_vcpus WHAT WANTED
wait_for_vcpus() {
	for _ in $(seq 60); do
		[ "$(vcpus)" != " $2" ] || break
		sleep 1
	done
	same "$1" " $2" "$(vcpus)"
}
# qmp WHAT COMMAND ARGUMENTS
qmp() {
	check "$1" "$lab" guest qmp grows "{\"execute\":\"$2\",\"arguments\":{$3}}"
}
wait_for_vcpus 'hotplug: there is one at first' '0'
qmp 'hotplug: another is plugged in' device_add \
	'"driver":"host-x86_64-cpu","id":"more","socket-id":0,"core-id":1,"thread-id":0'
wait_for_vcpus 'hotplug: both are counted' '0 1'
qmp 'hotplug: it is to go again' device_del '"id":"more"'
wait_for_vcpus 'hotplug: it is counted no more' '0'
kill -INT "$counter"
wait "$counter"
same 'hotplug: status' 0 $?
for vcpu in 0 1; do
	same "hotplug: vCPU $vcpu's exits in intervals are those of the sums" 0 \
		"$(add_up grows.csv "$vcpu")"
done
# how long each was followed, in ns: it is what a time's figure was counted for
followed=$(awk -F ';' '$1 == "summary" && $6 == "guest-time" { print $7 }' grows.csv | xargs)
check "hotplug: the second was there for a shorter time ($followed)" \
	test "${followed#* }" -lt "${followed% *}"
check 'the guest that grew ends' "$lab" guest stop grows

# Ctrl-C ends with the sums; a guest that ends meanwhile stays in them, one that starts comes in.
# The command starts when counting has begun, and ends with it.
"$KVMPROF" stat -a -x ';' -o moving.csv -- sh -c ': >begun; exec sleep 1000' 2>moving.err &
counter=$!
for _ in $(seq 300); do
	[ ! -e begun ] || break
	sleep 0.1
done
check 'counting has begun' test -e begun
check 'the idle guest ends' "$lab" guest stop idle
check 'another one starts' "$lab" guest start late --kernel 6.1 --cpus 1
sleep 3
kill -INT "$counter"
wait "$counter"
same 'Ctrl-C: status' 0 $?
sed 's/^/# /' moving.err
for name in busy idle late; do
	between "Ctrl-C: exits of $name" 1 10000000 "$(value moving.csv "$name" exits)"
done
status "the command's status" 7 "$KVMPROF" stat --vm busy -o out -- sh -c 'exit 7'
runs_on busy 'after all that'
tap_done
