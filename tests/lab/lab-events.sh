#!/bin/bash
# lab: host=6.1,6.12 timeout=500 slow
# SPDX-License-Identifier: GPL-2.0-only
# Several events in one recording, in each capture mode; stock perf sees them as we do; each hit of a
# tracepoint that perf sees in the same time is a sample.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab
HOME=$TMPDIR
export HOME
cd "$TMPDIR" || exit 1

# names FILE: of the events that have samples, as a report has them in its headers
names() {
	sed -n "s/^# Samples: .* of event '\(.*\)'$/\1/p" "$1"
}

# counts SCRIPT: samples of each event, by the lines with no indent
counts() {
	awk '/^[^ \t]/ || /^ +[^ ]+ .*[0-9]:/ {
		for (i = 1; i <= NF; i++)
			if ($i ~ /^[a-z].*:$/ && $i !~ /^[0-9.]+:$/) { print $i; break }
	}' "$1" | sort | uniq -c | awk '{ print $2, $1 }'
}

# complete FILE: the percentage in what record said
complete() {
	sed -n 's/.* \([0-9.]*\) % of chains complete.*/\1/p' "$1"
}

# at_least NAME WANTED GOT
at_least() {
	if awk -v want="$2" -v got="${3:-0}" 'BEGIN { exit !(got >= want) }'; then
		pass "$1"
	else
		fail "$1" "wanted at least $2, got ${3:-nothing}"
	fi
}

several() {
	mode=$1
	"$KVMPROF" record --vm one --capture "$mode" -e 'cpu-clock/freq=199,name=clock/,task-clock:u' \
		-e kvm:kvm_exit/period=20/ -e 'kvm:kvm_*mmio*' -F 97 --duration 4 \
		-o "$mode.data" >"$mode.err" 2>&1
	same "$mode: several events are recorded" 0 $?
	sed 's/^/# /' "$mode.err"
	"$KVMPROF" report -i "$mode.data" >"$mode.report" 2>/dev/null
	perf report --stdio -i "$mode.data" >"$mode.perf-report" 2>/dev/null
	names "$mode.report" >"$mode.names"
	for name in clock task-clock:u kvm:kvm_exit/period=20/; do
		contains "$mode: a section for $name" "$(cat "$mode.names")" "$name"
	done
	same "$mode: stock perf has the same sections" "$(cat "$mode.names")" \
		"$(names "$mode.perf-report")"
	"$KVMPROF" script -i "$mode.data" >"$mode.script"
	perf script -i "$mode.data" >"$mode.perf-script" 2>/dev/null
	counts "$mode.script" >"$mode.counts"
	same "$mode: and the same samples of each" "$(cat "$mode.counts")" \
		"$(counts "$mode.perf-script")"
	sed 's/^/# /' "$mode.counts"
	at_least "$mode: chains are complete" 90 "$(complete "$mode.err")"
	"$KVMPROF" flamegraph -i "$mode.data" -o "$mode.html" 2>"$mode.flame"
	contains "$mode: the flame graph says of which event it is" "$(cat "$mode.flame")" \
		'with the most samples'
	status "$mode: and can be of another" 0 "$KVMPROF" flamegraph -i "$mode.data" -e clock \
		-o "$mode.html"
}

# Hits between the first and the last that stock perf saw, by both.
same_hits() {
	threads=$("$KVMPROF" list -n -p "$(cat pid)" -o THREADS)
	threads=$(echo "$threads" | tr -s ' \n' ',,' | sed 's/^,//; s/,$//')
	"$KVMPROF" record --vm one --capture inline -e kvm:kvm_exit --stack-size 0 -o hits.data -- \
		perf record -q -k mono -e kvm:kvm_exit -t "$threads" -m 1024 -o perf.data sleep 2 \
		>hits.err 2>&1
	same 'hits: recorded beside stock perf' 0 $?
	sed 's/^/# /' hits.err
	perf script --ns -F time -i perf.data 2>/dev/null | tr -d ' :' >theirs
	"$KVMPROF" script --ns -F time -i hits.data | tr -d ' :' | grep . >ours
	read -r theirs ours <<EOT
$(awk 'NR == FNR { n++; if (n == 1 || $1 < first) first = $1; if ($1 > last) last = $1; next }
	$1 >= first - 0.00005 && $1 <= last + 0.00005 { m++ }
	END { print n + 0, m + 0 }' theirs ours)
EOT
	echo "# kvm:kvm_exit in the same time: perf $theirs, kvmprof $ours"
	at_least 'hits: perf saw some' 100 "$theirs"
	lost=$(sed -n 's/.*lost \([0-9]*\).*/\1/p' hits.err | head -n 1)
	if awk -v t="$theirs" -v o="$ours" -v lost="${lost:-0}" \
		'BEGIN { d = t - o; exit !(d <= lost + 4 && d >= -4) }'; then
		pass 'hits: each is a sample of ours'
	else
		fail 'hits: each is a sample of ours' "perf $theirs, kvmprof $ours, lost ${lost:-none}"
	fi
}

# Fields and filters, against all hits: those that pass are those that shall.
filters() {
	mode=$1
	"$KVMPROF" record --vm one --capture "$mode" --stack-size 0 --duration 2 -o "$mode.data" \
		-e kvm:kvm_exit/name=all/ -e kvm:kvm_exit/name=some/ --filter 'vcpu_id == 1' \
		--filter '!(exit_reason == 0x78) && guest_rip > 0xf' >"$mode.err" 2>&1
	same "$mode: filters are taken" 0 $?
	sed 's/^/# /' "$mode.err"
	perf script --ns -F time,event,trace -i "$mode.data" >"$mode.fields" 2>"$mode.perf-err"
	# "12.345678901: all: vcpu 1 reason interrupt rip 0x…"; one is attached before the other.
	awk '{ time = $1 + 0; n = ($2 == "some:"); times[NR] = time; lines[NR] = $0
		if (!first[n]) first[n] = time
		last[n] = time }
	END { from = first[0] > first[1] ? first[0] : first[1]
		to = last[0] < last[1] ? last[0] : last[1]
		for (i = 1; i <= NR; i++)
			if (times[i] >= from - 0.00005 && times[i] <= to + 0.00005) print lines[i] }' \
		"$mode.fields" >"$mode.both" && mv "$mode.both" "$mode.fields"
	some=$(grep -c 'some:' "$mode.fields")
	same "$mode: none passes that shall not" 0 \
		"$(grep 'some:' "$mode.fields" | grep -c -e 'vcpu 0 ' -e 'reason hlt')"
	wanted=$(grep 'all:' "$mode.fields" | grep 'vcpu 1 ' | grep -vc 'reason hlt')
	echo "# $mode: of $(grep -c 'all:' "$mode.fields") hits $wanted are wanted, $some passed"
	head -n 2 "$mode.fields" | sed 's/^/# /'
	at_least "$mode: some pass" 20 "$some"
	if [ "$mode" = inline ]; then
		if [ $((wanted - some)) -ge -4 ] && [ $((wanted - some)) -le 4 ]; then
			pass "$mode: all pass that shall"
		else
			fail "$mode: all pass that shall" "$wanted wanted, $some passed"
		fi
	fi
}

bad_filters() {
	status 'a field that there is not' 1 "$KVMPROF" record --vm one -e kvm:kvm_exit \
		--filter 'nosuch == 1' -o out.data
	contains 'is told in the words of the kernel' "$tap_output" 'Field not found'
	status 'a comparison of text' 1 "$KVMPROF" record --vm one --capture inline \
		-e sched:sched_switch --filter 'next_comm ~ "a*"' -o out.data
	contains 'is left to the mode that can' "$tap_output" '--capture ptrace'
	same 'no folder of ours is left in tracefs' '' \
		"$(find /sys/kernel/tracing/instances -name 'kvmprof*' 2>/dev/null)"
}

# Others have the counters: at once, or after we have asked whether there are any.
contention() {
	export SHIM_ERRNO=16
	LD_PRELOAD=$PWD/shim.so "$KVMPROF" record --vm one --duration 1 -o taken.data >taken.err 2>&1
	same 'counters that are taken: recording goes on' 0 $?
	contains 'with cpu-clock, and says why' "$(cat taken.err)" \
		'event cpu-clock at 997 Hz (the hardware counters are taken)'
	status 'hardware is refused' 1 env LD_PRELOAD="$PWD/shim.so" "$KVMPROF" record --vm one \
		-e cycles -o out.data
	contains 'with the reason' "$tap_output" "event 'cycles': the hardware counters are taken"
	status 'taken meanwhile: refused' 1 env LD_PRELOAD="$PWD/shim.so" SHIM_FAKE=1 SHIM_PASS=1 \
		"$KVMPROF" record --vm one -e cycles:u -o out.data
	contains 'with the kernel'"'"'s reason' "$tap_output" 'Device or resource busy'
	same 'in one line' 1 "$(printf '%s\n' "$tap_output" | wc -l)"
	same 'and no file' '' "$(find . -name 'out.data*')"
	unset SHIM_ERRNO
}

# A kernel whose PMU is the guests': the parameter, and every hardware event that is opened is noted.
mediated() {
	cp -r /sys/module/kvm_amd/parameters parameters 2>/dev/null
	echo Y >parameters/enable_mediated_pmu
	mount --bind parameters /sys/module/kvm_amd/parameters || {
		skip 'a mediated vPMU' 'no mount'
		return
	}
	export SHIM_LOG=$TMPDIR/shim.log SHIM_ERRNO=95
	LD_PRELOAD=$PWD/shim.so "$KVMPROF" record --vm one --duration 1 -o mediated.data \
		>mediated.err 2>&1
	same 'a mediated vPMU: recording goes on' 0 $?
	contains 'with cpu-clock' "$(cat mediated.err)" 'event cpu-clock'
	contains 'and says why' "$(cat mediated.err)" 'mediated vPMU'
	status 'hardware is refused' 1 env LD_PRELOAD="$PWD/shim.so" "$KVMPROF" record --vm one \
		-e cycles -o out.data
	contains 'with what to do' "$tap_output" '-e cpu-clock'
	same 'no hardware event was opened at all' '' "$(cat "$SHIM_LOG" 2>/dev/null)"
	umount /sys/module/kvm_amd/parameters
	LD_PRELOAD=$PWD/shim.so "$KVMPROF" record --vm one --duration 1 -o mediated.data \
		>mediated.err 2>&1
	same 'a PMU that is taken when it is asked: recording goes on' 0 $?
	contains 'with its reason' "$(cat mediated.err)" "guests' own"
	contains 'which it was asked for' "$(cat "$SHIM_LOG")" 'type 0 config 0'
	unset SHIM_ERRNO

	# Hardware events, as far as they go without hardware.
	SHIM_FAKE=1 LD_PRELOAD=$PWD/shim.so "$KVMPROF" record --vm one -e cycles:u,cpu-clock \
		--duration 2 -o hardware.data >hardware.err 2>&1
	same 'a hardware event is recorded' 0 $?
	contains 'and told of' "$(cat hardware.err)" 'events cycles:u at 997 Hz, cpu-clock at 997 Hz'
	contains 'that others had its counter' "$(cat hardware.err)" \
		'event cycles:u counted in 50 % of the time only'
	lacks 'which is nothing to cpu-clock' "$(cat hardware.err)" 'event cpu-clock counted'
	"$KVMPROF" report -i hardware.data >hardware.report 2>/dev/null
	contains 'with a section of its own' "$(names hardware.report)" 'cycles:u'
}

# Where there is hardware.
hardware() {
	if ! works perf.cycles; then
		skip 'hardware cycles' "$tap_why"
		return
	fi
	"$KVMPROF" record --vm one -e cycles:u,cycles:k --duration 3 -o cycles.data >cycles.err 2>&1
	same 'hardware cycles are recorded' 0 $?
	sed 's/^/# /' cycles.err
	"$KVMPROF" report -i cycles.data 2>/dev/null >cycles.report
	same 'of both modes' 'cycles:u cycles:k' "$(names cycles.report | xargs)"
}

if ! "$lab" guest start one --kernel 6.1 --cpus 2 --workload cputree-fp --workload syscalls-fp \
	>pid 2>start.err; then
	fail 'the guest starts' "$(cat start.err)"
	tap_done
fi
for mode in inline deferred ptrace; do
	several "$mode"
done
same_hits
for mode in inline deferred ptrace; do
	filters "$mode"
done
bad_filters
hardware
if cc -O1 -shared -fPIC -o shim.so "$SRC/tests/golden/perf-shim.c" -ldl 2>cc.err; then
	contention
	mediated
else
	skip 'counters that are taken, a mediated vPMU' 'no compiler'
fi
"$lab" guest stop one
tap_done
