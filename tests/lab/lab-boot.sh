#!/bin/sh
# lab: host=6.12 timeout=420 slow
# SPDX-License-Identifier: GPL-2.0-only
# What a vCPU runs outside of the guest's kernel has its reason and its name, and no chain: firmware from
# power-on, a guest that is waited for, a guest of the guest.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab
cd "$TMPDIR" || exit 1

# begin NAME GUEST [OPTION…]: a recorder of the guest, whose words go to NAME.said
begin() {
	name=$1 guest=$2
	shift 2
	"$KVMPROF" record --vm "$guest" -F 997 -o "$name.data" --buildid-dir "$TMPDIR/debug" "$@" \
		>"$name.said" 2>&1 &
	recorder=$!
	for _ in $(seq 300); do
		! grep -q 'kvmprof: event ' "$name.said" || return 0
		sleep 0.1
	done
	fail "$name: a recording begins" "$(cat "$name.said")"
}

# end NAME: and what it has come to, as text
end() {
	kill -INT "$recorder"
	wait "$recorder"
	same "$1: record ends well" 0 $?
	sed 's/^/# /' "$1.said"
	same "$1: in one file" "$1.data" "$(ls "$1.data"*)"
	"$KVMPROF" script -F +stop -i "$1.data" --buildid-dir "$TMPDIR/debug" >"$1.script"
	"$KVMPROF" report --stdio --no-children -i "$1.data" --buildid-dir "$TMPDIR/debug" \
		>"$1.report"
	grep -E 'until a kernel|^# (chains|events|samples)' "$1.report"
	[ -z "${LAB_OUT-}" ] || cp "$1.said" "$1.script" "$1.report" "$LAB_OUT/"
}

# stops NAME REASON: how many chains ended so
stops() {
	grep -c "\[stop: $2[],]" "$1.script"
}

# marked NAME REASON PLACE LEAST: so many samples have the reason, and each the one frame, that is
# named everywhere; as many are in the summary
marked() {
	nr=$(stops "$1" "$2")
	check "$1: $nr samples of $3, at least $4" test "$nr" -ge "$4"
	awk -v reason="[stop: $2" -v place="($3)" '
		/\[stop: / { if (mine && !named) bad++; mine = index($0, reason); named = frames = 0 }
		mine && /^\t/ { frames++; if (index($0, place)) named++; else if (!/ffffffff/) bad++ }
		END { exit bad > 0 }' "$1.script"
	same "$1: each has that frame alone" 0 $?
	contains "$1: the summary counts them" "$(cat "$1.said")" "$2 $nr"
	check "$1: the report names it" grep -q -F "$3" "$1.report"
	"$KVMPROF" flamegraph -i "$1.data" --buildid-dir "$TMPDIR/debug" -o "$1.html"
	check "$1: the flame graph names it" grep -q -F "\"$3\"" "$1.html"
	perf --buildid-dir "$TMPDIR/debug" script -i "$1.data" >"$1.perf" 2>/dev/null
	same "$1: stock perf names as many frames" \
		"$(grep -c -F "($3)" "$1.script")" "$(grep -c -F "($3)" "$1.perf")"
}

# known NAME PERCENT: of the samples of the guest's system since its kernel is known as many have a
# complete chain
known() {
	awk -v least="$2" '
		/\[stop: (real mode|firmware|system management mode|nested guest)/ { next }
		/\[stop: / { all++; good += /stop: complete/ }
		/stop: kernel not identified/ { all = good = 0 }
		END { share = all ? 100 * good / all : 0
		      printf "# %d samples since the kernel is known, %.1f %% complete\n", all, share
		      exit share < least || all < 500 }' "$1.script"
	same "$1: since then $2 % of the chains are complete" 0 $?
}

# From power-on: firmware, the boot loader in QEMU's ROM, the kernel, its second CPU, a program.
check "a guest is made" "$lab" guest start power --cpus 2 --workload cputree-fp --ready '' \
	--append pci=lastbus=0 --qemu '-S -machine smm=on -bios bios-256k.bin'
begin power power
check "it is switched on" "$lab" guest qmp power '{"execute":"cont"}'
for _ in $(seq 120); do
	! "$lab" guest console power | grep -q 'workload cputree-fp: started' || break
	sleep 1
done
sleep 5
end power
marked power 'real mode' '[guest real mode]' 5
marked power 'firmware' '[guest firmware]' 20
known power 90
check "power: the kernel's start" grep -q ' start_kernel' power.script
check "power: user space" grep -q ' alpha_leaf' power.script
"$lab" guest stop power

# Waited for.
begin late late --wait
contains "late: it says that it waits" "$(cat late.said)" 'waiting for a guest late'
check "late: it starts" "$lab" guest start late --workload cputree-fp
sleep 5
end late
known late 95
check "late: user space" grep -q ' alpha_leaf' late.script
"$lab" guest stop late

# A guest of the guest.
check "nested: starts" "$lab" guest start nested --module kvm_amd --workload nested-fp \
	--workload cputree-fp
for mode in inline deferred ptrace; do
	begin "nested-$mode" nested --capture "$mode"
	sleep 5
	[ "$mode" != ptrace ] || sleep 10	# it has a third of the samples
	end "nested-$mode"
	marked "nested-$mode" 'nested guest' '[nested guest]' 200
	check "nested-$mode: the guest's own work" grep -q ' alpha_leaf' "nested-$mode.script"
done
"$lab" guest stop nested
tap_done
