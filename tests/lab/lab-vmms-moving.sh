#!/bin/sh
# lab: host=6.12 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# A guest migrates to another QEMU of this host while it is recorded. Each VM gets a file.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

cd "$TMPDIR" || exit 1
check "the guest starts" "$lab" guest start moving --kernel 6.1 --workload 'cputree-fp --report 1' \
	--workload forkexec-fp

# To another QEMU of the same name.
check "the one to go to starts" "$lab" guest start moved --kernel 6.1 --ready '' --mem 256M \
	--initrd "$("$lab" guest dir moving)/initrd" --append pci=lastbus=0 \
	--qemu "-name moving -incoming unix:$PWD/socket"
"$KVMPROF" list -o name,pid,threads
"$KVMPROF" record --vm moving -F 299 -o migrated.data >said 2>&1 &
recorder=$!
recording said
sleep 3
qmp moving migrate-set-parameters '"max-bandwidth":4000000000,"downtime-limit":3000'
qmp moving migrate "\"uri\":\"unix:$PWD/socket\""
for _ in $(seq 300); do
	state=$(qmp moving query-migrate)
	case $state in
	*'"status": "completed"'* | *'"status": "failed"'*) break ;;
	esac
	sleep 0.2
done
contains "the guest migrates" "$state" '"status": "completed"'
sleep 3
"$lab" guest stop moving
sleep 3
kill -INT "$recorder"
wait "$recorder"
same "migration: record ends well" 0 $?
recorded said moving 100 "migration"
same "migration: a file for each VM" 2 "$(grep -c 'kvmprof: guest moving .*6\.1.* samples' said)"
"$KVMPROF" report --stdio -g none -i migrated.data.2 >listing
contains "where it went: functions have names" "$(cat listing)" alpha
runs_on moved "where it went"
"$lab" guest stop moved
tap_done
