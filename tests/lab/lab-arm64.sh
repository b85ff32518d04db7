#!/bin/sh
# lab: flavour=arm64-vhe,arm64-nvhe host=6.1 timeout=900 slow
# SPDX-License-Identifier: GPL-2.0-only
# An arm64 host, whose kernel runs in EL2 or in EL1: its guest is found, its cycles are its own, and
# samples have whole chains, by every mode that there is. Needs `make ARCH=arm64`.
set -u
. "$SRC/tests/lib/tap.sh"

lab=$SRC/lab/lab

# record MODE: into $TMPDIR/MODE.data and .script; what it said in $said
record() {
	check "$1: a recording" timeout 200 "$KVMPROF" record --capture "$1" -e cycles -F 99 \
		-p "$pid" --duration 15 -o "$TMPDIR/$1.data"
	said=$tap_output
	printf '%s\n' "$said"
	"$KVMPROF" script -F +stop -i "$TMPDIR/$1.data" >"$TMPDIR/$1.script"
}

# share MODE: percent of complete chains among the last third, when all rules have been read
share() {
	awk '/\[stop: / { stop[n++] = /stop: complete/ }
		END { for (i = int(n * 2 / 3); i < n; i++) { nr++; good += stop[i] }
			print nr ? int(100 * good / nr) : 0 }' "$TMPDIR/$1.script"
}

# counted: cycles of the guest and of the host beside those of both, in thousandths of the latter
counted() {
	perf stat -x, -e cycles:G -e cycles:H -e cycles:GH -p "$pid" sleep 1.5 2>&1 |
		awk -F, '{ count[$3] = $1 } END { print int(1000 * \
			(count["cycles:G"] + count["cycles:H"]) / count["cycles:GH"] + 0.5) }'
}

pid=$("$lab" guest start g --wait 400 --workload cputree-nofp)
same "a guest starts" 0 $?
check "it is listed" "$KVMPROF" list
contains "by its name" "$tap_output" "g "
same "cycles of guest and host are those of both" 1000 "$(counted)"
case $LAB_FLAVOUR in
arm64-vhe) modes=deferred ;;
*) modes='inline deferred' ;;
esac
for mode in $modes; do
	record "$mode"
	contains "$mode: the guest's kernel is known" "$said" "(6.1."
	complete=$(share "$mode")
	echo "# $mode: $complete % complete"
	check "$mode: chains are complete" test "$complete" -ge 90
	check "$mode: they have the program's frames" grep -q cputree-nofp "$TMPDIR/$mode.script"
done
tap_done
