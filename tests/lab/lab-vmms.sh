#!/bin/sh
# lab: host=6.12 timeout=600 slow
# SPDX-License-Identifier: GPL-2.0-only
# VMMs other than QEMU: kvmprof-vmm, and in their stead kvmprof-vmm under their names, with their
# threads' names and what their kick signals' handlers do. A VMM that is not known, or whose signal
# would end it, is never kicked. One in a jail is found and recorded like any other.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

vmm=$BUILD/vmm/kvmprof-vmm

# start NAME PROGRAM ARGUMENTS [OPTION…]: a guest under a VMM that is called PROGRAM
start() {
	name=$1
	cp "$vmm" "$TMPDIR/$2"
	program=$TMPDIR/$2
	args=$3
	shift 3
	check "$name starts" "$lab" guest start "$name" --vmm "$program" --vmm-args "$args" \
		--kernel 6.1 --mem 192M --workload 'cputree-fp --report 1' "$@"
}

# listed NAME: what is known of it
listed() {
	"$KVMPROF" list -n -p "$(cat "$("$lab" guest dir "$1")/pid")" -o vmm,kick | tr -s ' '
}

# record NAME MODE [OPTION…]
record() {
	name=$1 mode=$2
	shift 2
	"$KVMPROF" record -p "$(cat "$("$lab" guest dir "$name")/pid")" --capture "$mode" -F 299 \
		--duration 3 -o "$TMPDIR/perf.data" "$@" >"$TMPDIR/said" 2>&1
	same "$name, $mode: record ends well" 0 $?
	recorded "$TMPDIR/said" ".*" 100 "$name, $mode"
}

status "a container without the host's processes" 1 \
	unshare --pid --fork --mount-proc "$KVMPROF" list
contains "it says what it takes" "$tap_output" "--pid=host"
same "in one line" 1 "$(printf '%s\n' "$tap_output" | wc -l)"

# Our own, with memory that is shared and in several pieces.
start own kvmprof-vmm '--memory memfd --slots 5' --cpus 2
same "own: listed" "kvmprof-vmm SIGRTMIN+0" "$(listed own)"
for mode in inline deferred ptrace; do
	record own "$mode"
done
runs_on own "own"
"$lab" guest stop own

# One whose handler does nothing, one that is a library and known by its threads, kvmtool.
start fc firecracker '--kick nothing'
same "fc: listed" "firecracker SIGRTMIN+0" "$(listed fc)"
record fc deferred
runs_on fc "fc"
"$lab" guest stop fc
start kata shim '--threads db_vcpu --memory memfd-private'
same "kata: listed" "dragonball SIGRTMIN+0" "$(listed kata)"
record kata deferred
runs_on kata "kata"
"$lab" guest stop kata
start tool lkvm '--kick kvmtool --threads kvm-vcpu-'
same "tool: listed" "kvmtool SIGRTMIN+2" "$(listed tool)"
record tool deferred
runs_on tool "tool"
"$lab" guest stop tool

# What ends a VMM is not sent to it, whoever it says it is.
start strange mystery '--kick ends'
same "strange: listed" "mystery" "$(listed strange | tr -d ' ')"
pid=$(cat "$("$lab" guest dir strange)/pid")
# A manager of machines, such as libvirt, has it in a control group of its own.
machine=$TMPDIR/cgroup/machine.slice/'machine-qemu\x2d3\x2dweb.scope'/libvirt
mkdir "$TMPDIR/cgroup"
mount -t cgroup2 none "$TMPDIR/cgroup"
mkdir -p "$machine/emulator"
echo "$pid" >"$machine/emulator/cgroup.procs"
same "strange: its machine's name" "$pid web" "$("$KVMPROF" list -n -o pid,name | tr -s ' ' |
	sed 's/^ //')"
umount "$TMPDIR/cgroup"
"$KVMPROF" record --vm web -F 299 --duration 3 -o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
same "strange, by its machine's name: record ends well" 0 $?
recorded "$TMPDIR/said" web 100 "strange, by its machine's name"
status "strange, deferred: refused" 1 "$KVMPROF" record -p "$pid" --capture deferred --duration 1 \
	-o "$TMPDIR/perf.data"
contains "it names the option" "$tap_output" "--kick-signal"
record strange auto
record strange ptrace
runs_on strange "strange"
"$lab" guest stop strange

# In a jail: its own user, process, mount and network namespaces, root folder and user; no one else's
# process may look at it.
jail=$TMPDIR/jail
image=$("$lab" guest image jailed --kernel 6.1 --workload 'cputree-fp --report 1')
mkdir -p "$jail/dev"
cp "$vmm" "$jail/"
cp "${image% *}" "$jail/vmlinuz"
cp "${image#* }" "$jail/initrd"
mknod "$jail/dev/kvm" c 10 232
chmod 755 "$jail"
chmod 644 "$jail/initrd" "$jail/vmlinuz"
chmod 666 "$jail/dev/kvm"
(cd "$jail" && exec setpriv --reuid 4321 --regid 4321 --clear-groups \
	unshare --user --map-root-user --pid --mount --net --ipc --fork --kill-child \
	chroot . /kvmprof-vmm --name in-jail --kernel /vmlinuz --initrd /initrd --mem 192 --no-dump \
	--append 'console=ttyS0 quiet reboot=t panic=-1' </dev/null) >"$TMPDIR/jail.log" 2>&1 &
jailer=$!
for _ in $(seq 600); do
	! grep -q 'workload cputree-fp: started' "$TMPDIR/jail.log" || break
	kill -0 "$jailer" || break
	sleep 0.1
done
same "jail: listed" "kvmprof-vmm in-jail SIGRTMIN+0" \
	"$("$KVMPROF" list -n -o vmm,name,kick | tr -s ' ')"
pid=$("$KVMPROF" list -n -o pid | tr -d ' ')
same "jail: user" 4321 "$(awk '$1 == "Uid:" { print $2 }' "/proc/$pid/status")"
same "jail: the process has another number in there" "$pid 1" \
	"$(awk '$1 == "NSpid:" { print $2, $3 }' "/proc/$pid/status")"
for mode in inline deferred ptrace; do
	"$KVMPROF" record --vm in-jail --capture "$mode" -F 299 --duration 3 \
		-o "$TMPDIR/perf.data" >"$TMPDIR/said" 2>&1
	same "jail, $mode: record ends well" 0 $?
	recorded "$TMPDIR/said" in-jail 100 "jail, $mode"
done
before=$(grep -c 'work cputree' "$TMPDIR/jail.log")
for _ in $(seq 80); do
	[ "$(grep -c 'work cputree' "$TMPDIR/jail.log")" -le "$((before + 1))" ] || break
	sleep 0.1
done
check "jail: the guest runs on" test "$(grep -c 'work cputree' "$TMPDIR/jail.log")" -gt "$before"
# The jailer itself waits for it with SIGTERM blocked, and process 1 of a namespace ignores that.
kill -KILL "$pid"
wait "$jailer" 2>/dev/null
tap_done
