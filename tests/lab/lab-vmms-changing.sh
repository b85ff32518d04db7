#!/bin/sh
# lab: host=6.12 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# A VM that changes while it is recorded: a vCPU and memory are plugged in, a balloon takes memory away
# and gives it back.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"
. "$SRC/tests/lib/work.sh"

# All of its memory is below 4 GiB, in zone DMA32; what comes is above, in zone Normal, from which
# memory is then taken first: new processes are there.
touch "$TMPDIR/ram"
qemu changing \
	"-device virtio-balloon-pci,id=balloon0 $(backend "file,mem-path=$TMPDIR/ram,share=on")" \
	--hotplug --module virtio_balloon --module virtio_pci --workload cputree-fp
for mode in inline deferred; do
	"$KVMPROF" record --vm changing --capture "$mode" -F 299 -o "$TMPDIR/$mode.data" \
		>"$TMPDIR/said" 2>&1 &
	recorder=$!
	recording "$TMPDIR/said"
	case $mode in
	inline)
		free=$(qmp changing query-hotpluggable-cpus | python3 -c '
import json, sys
free = min((cpu for cpu in json.load(sys.stdin)["return"] if "qom-path" not in cpu),
           key=lambda cpu: sorted(cpu["props"].items()))
print(json.dumps({"driver": free["type"], "id": "more", **free["props"]})[1:-1])')
		check "a vCPU is plugged" qmp changing device_add "$free"
		check "memory is made" qmp changing object-add \
			'"qom-type":"memory-backend-memfd","id":"m1","size":134217728'
		check "memory is plugged" qmp changing device_add '"driver":"pc-dimm","id":"d1","memdev":"m1"'
		;;
	deferred)
		check "the balloon grows" qmp changing balloon '"value":201326592'
		sleep 2
		check "the balloon shrinks" qmp changing balloon '"value":402653184'
		;;
	esac
	sleep 5
	kill -INT "$recorder"
	wait "$recorder"
	same "changing, $mode: record ends well" 0 $?
	# The shell that takes into use what is plugged in is busybox, which has no rules.
	recorded "$TMPDIR/said" changing 300 "changing, $mode" 80
	"$KVMPROF" script -F +stop -i "$TMPDIR/$mode.data" >"$TMPDIR/$mode"
	chains user "$TMPDIR/$mode" --label "changing, $mode" --comm '(cputree|forkexec)-fp' \
		--min 95 --min-samples 300
done
runs_on changing changing
"$KVMPROF" script -F cpu,comm -i "$TMPDIR/inline.data" >"$TMPDIR/script"
check "samples of the vCPU that came" test "$(grep -c '\[001\]' "$TMPDIR/script")" -gt 50
"$KVMPROF" list -p "$(cat "$("$lab" guest dir changing)/pid")" -n -o vcpus,memory >"$TMPDIR/listed"
same "the list has them" "2 384M" "$(tr -s ' ' <"$TMPDIR/listed" | sed 's/^ //')"
"$lab" guest stop changing
chains_judge
tap_done
