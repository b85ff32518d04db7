#!/bin/bash
# lab: host=6.12 mem=6G timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# kvmprof selfcheck tells the truth: what it says that works is done, what it says that does not fails.
# In a lab host of its own (by its memory), which has no KVM in the end.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab
HOME=$TMPDIR
export HOME

# state CHECK [COMMAND…]: yes, no or -, by the program or by the command that runs it
state() {
	name=$1
	shift
	"$@" "$KVMPROF" selfcheck 2>/dev/null | awk -v name="$name" '$1 == name { print $2 }'
}

"$KVMPROF" selfcheck >"$TMPDIR/table" 2>"$TMPDIR/err"
same 'recording works here' 0 $?
cat "$TMPDIR/table"
[ ! -s "$TMPDIR/err" ] || sed 's/^/# /' "$TMPDIR/err"
for name in kvm kvm.registers btf bpf.ring bpf.loop source.bpf perf.cpu-clock perf.tracepoint \
	privileges process.memory process.ptrace mode.inline mode.deferred mode.ptrace record; do
	same "$name works" yes "$(awk -v name="$name" '$1 == name { print $2 }' "$TMPDIR/table")"
done
same 'every capture program loads' '' "$(grep '^bpf\.on_' "$TMPDIR/table" | awk '$2 != "yes"')"
same 'there are some' 1 "$(($(grep -c '^bpf\.on_' "$TMPDIR/table") >= 5))"
same 'no virtual machine is left behind' 0 "$("$KVMPROF" list -n 2>/dev/null | wc -l)"

# Hardware cycles: as perf has it.
if perf stat -e cycles:G true 2>&1 | grep -q 'not supported'; then
	same 'hardware cycles do not, as perf says' no \
		"$(awk '$1 == "perf.cycles" { print $2 }' "$TMPDIR/table")"
	status 'and recording them fails' 1 "$KVMPROF" record -e cycles --duration 1
	contains 'with the same reason' "$(grep '^perf.cycles' "$TMPDIR/table")" \
		"$(printf '%s' "$tap_output" | sed -n "s/.*event 'cycles': //p")"
else
	same 'hardware cycles do, as perf says' yes \
		"$(awk '$1 == "perf.cycles" { print $2 }' "$TMPDIR/table")"
fi

# A guest, and what is said of it is what is done.
if "$lab" guest start one --kernel 6.1 --cpus 1 --workload cputree-fp >"$TMPDIR/pid" 2>&1; then
	line=$("$KVMPROF" selfcheck -n guest.one)
	contains 'a guest: its VMM' "$line" "qemu $(cat "$TMPDIR/pid")"
	contains 'a guest: its mode' "$line" 'inline'
	"$KVMPROF" record --vm one --duration 1 -o "$TMPDIR/perf.data" >"$TMPDIR/record" 2>&1
	same 'it is recorded' 0 $?
	contains 'in that mode' "$(cat "$TMPDIR/record")" 'capture inline'
	"$lab" guest stop one
else
	fail 'a guest starts' "$(cat "$TMPDIR/pid")"
fi

# Who is not root.
nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
# shellcheck disable=SC2086 # words
{
	same 'nobody: not privileged' no "$(state privileges $nobody)"
	same 'nobody: no recording' no "$(state record $nobody)"
	status 'nobody: the status says so' 1 $nobody "$KVMPROF" selfcheck
}

# KVM that goes, when nobody has a VM any more: what keeps the lab host's kernel still has one.
kill "$(pgrep -f /host-hold.pl)"
for _ in $(seq 100); do
	[ "$(cat /sys/module/kvm_amd/refcnt)" != 0 ] || break
	sleep 0.1
done
check "KVM's part for AMD can go" rmmod kvm_amd
same 'without its part for AMD there is no KVM' no "$(state kvm)"
same 'and no recording' no "$(state record)"
tap_done
