#!/bin/sh
# lab: host=6.12 timeout=420 slow
# SPDX-License-Identifier: GPL-2.0-only
# What a vCPU runs outside of the guest's kernel has its reason and its name, and no chain: firmware from
# power-on, a guest that is waited for, a guest of the guest.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/outside.sh"

lab=$SRC/lab/lab
cd "$TMPDIR" || exit 1

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
