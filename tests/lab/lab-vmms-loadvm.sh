#!/bin/sh
# lab: host=6.12 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# What a VM runs changes under the recorder: a snapshot of another boot is loaded into it. Each kernel
# gets a file.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

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
"$lab" guest stop moving
tap_done
