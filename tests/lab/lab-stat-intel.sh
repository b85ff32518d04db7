#!/bin/sh
# lab: flavour=intel host=6.1 mem=1G timeout=900 slow
# SPDX-License-Identifier: GPL-2.0-only
# Counting on an Intel host: times that add up, exits with VMX's names.
set -u
. "$SRC/tests/lib/tap.sh"

# value EVENT: of the lines of -x ';'
value() {
	awk -F ';' -v event="$1" '$4 == event { print $2 }' "$TMPDIR/counts"
}

check "guest starts" "$SRC/lab/lab" guest start counted --wait 300 --workload cputree-fp
"$KVMPROF" stat --vm counted -x ';' --duration 6 2>"$TMPDIR/counts"
same "status" 0 $?
sed 's/^/# /' "$TMPDIR/counts"
between "guest time" 600 6600 "$(value guest-time)"
between "guest, host, stolen and halted time are all of it" 5400 6900 "$(awk -F ';' '
	$4 ~ /^(guest|host|steal|halt)-time$/ { sum += $2 } END { print sum }' "$TMPDIR/counts")"
between "exits" 20 1000000 "$(value exits)"
same "each exit has a reason" 0 "$(awk -F ';' '
	$4 == "exits" { all = $2 } $4 ~ /^exits:/ { sum += $2 } END { print all - sum }' "$TMPDIR/counts")"
contains "exits have the names that the kernel gives them" "$(cat "$TMPDIR/counts")" \
	'exits:EXTERNAL_INTERRUPT'
contains "no PMU, no cycles" "$(cat "$TMPDIR/counts")" '<not supported>;;cycles:G;'
contains "a tracepoint is an event" "$("$KVMPROF" stat --vm counted -x ';' -e kvm:kvm_exit \
	--duration 2 2>&1)" ';;kvm:kvm_exit;'
"$SRC/lab/lab" guest stop counted
tap_done
