#!/bin/sh
# lab: host=6.12 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# QEMU's machines and the ways it backs a guest's memory: huge pages, memfd, a file.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/work.sh"

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
tap_done
