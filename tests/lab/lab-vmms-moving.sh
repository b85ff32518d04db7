#!/bin/sh
# lab: host=6.12 timeout=600 slow
# SPDX-License-Identifier: GPL-2.0-only
# What a guest is changes under the recorder: a snapshot of another boot is loaded into the running
# VM, and the guest migrates to another QEMU of this host. Each kernel and each VM gets a file.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

# qmp GUEST COMMAND [ARGUMENTS]: prints the answer
qmp() {
	"$lab" guest qmp "$1" "{\"execute\":\"$2\",\"arguments\":{${3-}}}"
}

# job GUEST WHAT COMMAND ARGUMENTS: until the job is over
job() {
	qmp "$1" "$3" "\"job-id\":\"job\",$4" >/dev/null || fail "$2"
	for _ in $(seq 300); do
		job_state=$(qmp "$1" query-jobs)
		case $job_state in
		*concluded*) break ;;
		esac
		sleep 0.2
	done
	lacks "$2" "$job_state" '"error"'
	qmp "$1" job-dismiss '"id":"job"' >/dev/null
}

# up GUEST TIMES: until the guest has booted so often
up() {
	for _ in $(seq 600); do
		boots=$("$lab" guest console "$1" | grep -c 'workload cputree-fp: started')
		[ "$boots" -lt "$2" ] || return 0
		sleep 0.1
	done
	fail "$1 boots" "$("$lab" guest console "$1" | tail -n 20)"
}

cd "$TMPDIR" || exit 1
check "the guest starts" "$lab" guest start moving --kernel 6.1 --workload 'cputree-fp --report 1' \
	--workload forkexec-fp

# An image that can hold snapshots, of no device.
: >snapshots
qmp moving blockdev-add "\"driver\":\"file\",\"node-name\":\"file\",\"filename\":\"$PWD/snapshots\""
job moving "an image is made" blockdev-create \
	'"options":{"driver":"qcow2","file":"file","size":1048576}'
qmp moving blockdev-add '"driver":"qcow2","node-name":"snap","file":"file"'
job moving "a snapshot is saved" snapshot-save '"tag":"one","vmstate":"snap","devices":["snap"]'

# Another boot, with another place for the kernel.
qmp moving set-action '"reboot":"reset"'
qmp moving system_reset
up moving 2
"$KVMPROF" record --vm moving -F 299 -o moving.data >said 2>&1 &
recorder=$!
recording said
sleep 3
job moving "the snapshot is loaded" snapshot-load \
	'"tag":"one","vmstate":"snap","devices":["snap"]'
sleep 6
# The same boot once more: what runs in it is older now.
job moving "it is loaded again" snapshot-load \
	'"tag":"one","vmstate":"snap","devices":["snap"]'
sleep 4
kill -INT "$recorder"
wait "$recorder"
same "loadvm: record ends well" 0 $?
recorded said moving 100 "loadvm"
same "loadvm: a file for each boot" 2 "$(grep -c 'kvmprof: guest moving .*6\.1.* samples' said)"
for file in moving.data moving.data.2; do
	"$KVMPROF" report --stdio -g none -i "$file" >listing
	contains "$file: functions have names" "$(cat listing)" alpha
done
runs_on moving "loadvm"

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
before=$(wc -l <"$("$lab" guest dir moved)/console.log")
sleep 3
check "where it went: it runs on" test "$(wc -l <"$("$lab" guest dir moved)/console.log")" -gt "$before"
"$lab" guest stop moved
tap_done
