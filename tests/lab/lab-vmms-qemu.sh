#!/bin/sh
# lab: host=6.12 timeout=420 slow
# SPDX-License-Identifier: GPL-2.0-only
# QEMU's machines and the ways it backs a guest's memory: huge pages, memfd shared and not, a file; a
# vCPU and memory that are plugged in, and a balloon that takes memory away, while recording.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

# qemu NAME QEMU-ARGUMENTS [OPTION…]: a guest of 256M
qemu() {
	name=$1 args=$2
	shift 2
	check "$name starts" "$lab" guest start "$name" --kernel 6.1 --qemu "$args" \
		--append pci=lastbus=0 --workload 'cputree-fp --report 1' --workload forkexec-fp "$@"
}

# backend KIND,OPTIONS: 256M of it for the guest
backend() {
	echo "-object memory-backend-$1,id=ram,size=256M -machine memory-backend=ram"
}

# record NAME MODE
record() {
	"$KVMPROF" record --vm "$1" --capture "$2" -F 299 --duration 3 -o "$TMPDIR/perf.data" \
		>"$TMPDIR/said" 2>&1
	same "$1, $2: record ends well" 0 $?
	recorded "$TMPDIR/said" "$1" 100 "$1, $2"
}

mkdir "$TMPDIR/huge"
echo 140 >/proc/sys/vm/nr_hugepages
mount -t hugetlbfs none "$TMPDIR/huge"
same "huge pages are there" 140 "$(cat /proc/sys/vm/nr_hugepages)"
qemu pc-huge "-machine pc $(backend "file,mem-path=$TMPDIR/huge,share=on,prealloc=on")"
check "pc-huge: its memory is in huge pages" test "$(awk '$1 == "HugePages_Free:" { print $2 }' \
	/proc/meminfo)" -lt 20
for mode in inline deferred ptrace; do
	record pc-huge "$mode"
done
runs_on pc-huge pc-huge
"$lab" guest stop pc-huge

qemu micro "-machine microvm -bios bios-microvm.bin $(backend memfd,share=off)"
for mode in inline deferred; do
	record micro "$mode"
done
runs_on micro micro
"$lab" guest stop micro

# One that changes while it is recorded. All of its memory is below 4 GiB, in zone DMA32; what comes
# is above, in zone Normal, from which memory is then taken first: new processes are there.
touch "$TMPDIR/ram"
check "changing starts" "$lab" guest start changing --kernel 6.1 --hotplug --module virtio_balloon \
	--module virtio_pci --append pci=lastbus=0 \
	--qemu "-device virtio-balloon-pci,id=balloon0 $(backend "file,mem-path=$TMPDIR/ram,share=on")" \
	--workload 'cputree-fp --report 1' --workload cputree-fp --workload forkexec-fp
# qmp WHAT COMMAND ARGUMENTS
qmp() {
	check "$1" "$lab" guest qmp changing "{\"execute\":\"$2\",\"arguments\":{$3}}"
}
for mode in inline deferred; do
	"$KVMPROF" record --vm changing --capture "$mode" -F 299 -o "$TMPDIR/$mode.data" \
		>"$TMPDIR/said" 2>&1 &
	recorder=$!
	recording "$TMPDIR/said"
	case $mode in
	inline)
		free=$("$lab" guest qmp changing '{"execute":"query-hotpluggable-cpus"}' | python3 -c '
import json, sys
free = next(cpu for cpu in json.load(sys.stdin)["return"] if "qom-path" not in cpu)
print(json.dumps({"driver": free["type"], "id": "more", **free["props"]})[1:-1])')
		qmp "a vCPU is plugged" device_add "$free"
		qmp "memory is made" object-add \
			'"qom-type":"memory-backend-memfd","id":"m1","size":134217728'
		qmp "memory is plugged" device_add '"driver":"pc-dimm","id":"d1","memdev":"m1"'
		;;
	deferred)
		qmp "the balloon grows" balloon '"value":201326592'
		sleep 2
		qmp "the balloon shrinks" balloon '"value":402653184'
		;;
	esac
	sleep 5
	kill -INT "$recorder"
	wait "$recorder"
	same "changing, $mode: record ends well" 0 $?
	recorded "$TMPDIR/said" changing 300 "changing, $mode"
done
runs_on changing changing
"$KVMPROF" script -F cpu,comm -i "$TMPDIR/inline.data" >"$TMPDIR/script"
check "samples of the vCPU that came" test "$(grep -c '\[001\]' "$TMPDIR/script")" -gt 50
"$KVMPROF" list -p "$(cat "$("$lab" guest dir changing)/pid")" -n -o vcpus,memory >"$TMPDIR/listed"
same "the list has them" "2 384M" "$(tr -s ' ' <"$TMPDIR/listed" | sed 's/^ //')"
"$lab" guest stop changing
tap_done
