#!/bin/sh
# lab: host=6.12 timeout=400 slow
# SPDX-License-Identifier: GPL-2.0-only
# What comes while recording is followed: a vCPU, memory, another guest, which goes again.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

cd "$TMPDIR" || exit 1
start_working one --cpus 1 --hotplug
"$KVMPROF" record -a -F 499 -o all.data >said 2>&1 &
recorder=$!
recording said
sleep 1
# qmp WHAT COMMAND ARGUMENTS
qmp() {
	check "$1" "$lab" guest qmp one "{\"execute\":\"$2\",\"arguments\":{$3}}"
}
free=$("$lab" guest qmp one '{"execute":"query-hotpluggable-cpus"}' | python3 -c '
import json, sys
free = next(cpu for cpu in json.load(sys.stdin)["return"] if "qom-path" not in cpu)
print(json.dumps({"driver": free["type"], "id": "more", **free["props"]})[1:-1])')
qmp "a vCPU is plugged" device_add "$free"
qmp "memory is made" object-add \
	'"qom-type":"memory-backend-ram","id":"m1","size":134217728'
qmp "memory is plugged" device_add '"driver":"pc-dimm","id":"d1","memdev":"m1"'
start_working two --cpus 1
sleep 4
check "guest two stops" "$lab" guest stop two
sleep 2
runs_on one "after hotplug"
kill -INT "$recorder"
wait "$recorder"
same "record -a: status" 0 $?
cat said
check "record -a: a file for guest one" "$KVMPROF" report --stdio -i all.data.one
check "record -a: a file for guest two, which came and went" "$KVMPROF" report --stdio -i all.data.two
# Samples that come between a slot's appearance and the next look at the slots.
outside=$(sed -n -E 's/.*(outside memory slots|memory slots changed) ([0-9]+).*/\2/p' said |
	sort -n | tail -n 1)
check "record -a: few samples with unknown slots" test "${outside:-0}" -lt 500
"$lab" guest stop one
tap_done
