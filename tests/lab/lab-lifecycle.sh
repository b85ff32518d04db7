#!/bin/sh
# lab: host=6.12 timeout=600
# SPDX-License-Identifier: GPL-2.0-only
# Recorders are refused, interrupted and killed, a guest ends while it is recorded. Every file is whole
# or absent, and the guests run on. lab-follow.sh has what comes meanwhile.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

# nothing_left DIR WHAT
nothing_left() {
	same "$2: nothing is left behind" "" "$(ls -A "$1")"
}

cd "$TMPDIR" || exit 1

status "list without guests" 0 "$KVMPROF" list
status "record without guests" 1 "$KVMPROF" record --duration 1
contains "record without guests says so" "$tap_output" "no KVM guest is running"

start_working one --cpus 1
status "record by an unknown name" 1 "$KVMPROF" record --vm nobody --duration 1
contains "it says so" "$tap_output" "kvmprof list"
status "record of a process that is no VMM" 1 "$KVMPROF" record -p 1 --duration 1
contains "it says so" "$tap_output" "no KVM guest"
status "record as another user" 1 setpriv --reuid 65534 --clear-groups \
	"$KVMPROF" record --vm one --duration 1 -o /tmp/nobody.data
contains "it says what to do" "$tap_output" "root"

# The file's folder is full, or missing, or not ours.
mkdir full
mount -t tmpfs -o size=32k none full
status "record onto a full disk" 1 "$KVMPROF" record --vm one -F 997 --duration 6 -o full/perf.data
contains "it says so" "$tap_output" "No space left"
nothing_left full "full disk"
umount full
status "record into a folder that is not there" 1 "$KVMPROF" record --vm one --duration 1 -o no/such/perf.data
contains "it names the file" "$tap_output" "no/such/perf.data"

# Ctrl-C ends cleanly; a command's end ends it, with the command's status.
"$KVMPROF" record --vm one -o interrupted.data >said 2>&1 &
recorder=$!
recording said
sleep 1
kill -INT "$recorder"
wait "$recorder"
same "SIGINT: status" 0 $?
check "SIGINT: the file is whole" perf report --stdio -i interrupted.data
contains "SIGINT: summary" "$(cat said)" "events ="
status "the command's status" 7 "$KVMPROF" record --vm one -o command.data -- sh -c 'sleep 1; exit 7'
contains "the file has the whole command line" "$(perf report --header-only -i command.data)" \
	"# cmdline : $KVMPROF record --vm one -o command.data -- sh -c sleep 1; exit 7"
status "a command that is not there" 1 "$KVMPROF" record --vm one -o command.data -- /no/such/command
contains "it names the command" "$tap_output" "/no/such/command"
status "a guest's name as a command" 1 "$KVMPROF" record -o command.data one
contains "it says where guests' names go" "$tap_output" "goes behind --vm"

# Killed at any moment in any mode: the guest goes on, no file appears.
mkdir killed
for mode in inline deferred ptrace; do
	for wait in 0.1 0.6 1.3 2.1; do
		"$KVMPROF" record --vm one -F 997 --capture "$mode" -o killed/perf.data >/dev/null 2>&1 &
		recorder=$!
		sleep "$wait"
		kill -KILL "$recorder"
		wait "$recorder" 2>/dev/null
	done
	runs_on one "SIGKILL in $mode mode"
	nothing_left killed "SIGKILL in $mode mode"
done

# The guest ends while it is recorded.
"$KVMPROF" record --vm one -F 499 -o gone.data >said 2>&1 &
recorder=$!
recording said
sleep 1
"$lab" guest stop one
same "guest one stops" 0 $?
wait "$recorder"
same "the guest ended: status" 0 $?
contains "the guest ended: it says so" "$(cat said)" "ended"
check "the guest ended: the file is whole" "$KVMPROF" report --stdio -i gone.data

# Firmware without an operating system: registers only, and it says so.
qemu-system-x86_64 -accel kvm -cpu host -m 64M -display none -nodefaults -name bare -daemonize \
	-pidfile "$TMPDIR/bare.pid"
sleep 2
status "list with an unknown system" 0 "$KVMPROF" list
contains "it names the guest" "$tap_output" "bare"
status "record of an unknown system" 0 "$KVMPROF" record --vm bare --duration 2 -o bare.data
contains "it says that the kernel is not known" "$tap_output" "not identified"
kill "$(cat bare.pid)"
tap_done
