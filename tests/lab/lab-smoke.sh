#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The lab itself: lab hosts of both kernels, and guests of both kernels in them.
# lab: outside timeout=600 slow
set -u

here=$(cd "$(dirname "$0")" && pwd)
SRC=${SRC:-$(dirname "$(dirname "$here")")}
TMPDIR=${TMPDIR:-/tmp}
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
lab=$SRC/lab/lab
out=$(mktemp -d "$TMPDIR/lab-smoke.XXXXXX")
trap 'rm -rf "$out"' EXIT
[ -z "${BUILD-}" ] || export KVMPROF_BUILD=$BUILD

# Messages that need no lab host.
status "an unknown lab host is refused" 125 "$lab" run --host none -- true
contains "… by name" "$tap_output" "'none' is not available yet"
status "a guest outside a lab host is refused" 125 "$lab" guest start g
status "no command is an error" 125 "$lab" run

# What a run carries in and out.
mkdir "$out/share"
cat >"$out/job.sh" <<'EOT'
echo to-stdout
echo to-stderr >&2
pwd
echo "argument: $1"
[ -c /dev/kvm ] && echo kvm
printf '%1000000s' '' | tr ' ' x >"$LAB_OUT/big"
sleep 100 &
exit 42
EOT
got=0
"$lab" run --out "$out/share" -- bash "$out/job.sh" 'two words' >"$out/stdout" 2>"$out/stderr" || got=$?
same "the command's exit status" 42 "$got"
same "its stdout, its folder, its arguments" "to-stdout
$PWD
argument: two words
kvm" "$(cat "$out/stdout")"
same "its stderr" to-stderr "$(cat "$out/stderr")"
same "a file brought out" 1000000 "$(wc -c <"$out/share/big")"

# Output comes while the command runs.
first=$("$lab" run --timeout 40 -- sh -c 'echo now; exec sleep 1000' 2>"$out/stderr" |
	{ read -r line; echo "$line $SECONDS"; cat >/dev/null; })
last=$SECONDS
same "live output" now "${first% *}"
if [ $((last - ${first#* })) -ge 5 ]; then
	pass "… long before the end"
else
	fail "… long before the end" "came at ${first#* } s, ended at $last s"
fi
contains "a timeout is an error" "$(cat "$out/stderr")" "still busy after 40 s"
log=$(sed -n 's/.*console log: //p' "$out/stderr")
contains "… that names the console log" "$(cat "$log")" "lab host: up"
rm -rf "$(dirname "$log")"

# A kernel that panics.
status "a panic is an error" 125 "$lab" run -- sh -c 'echo c >/proc/sysrq-trigger; sleep 100'
contains "… that names the console log" "$tap_output" "console log: "
log=$(printf '%s\n' "$tap_output" | sed -n 's/.*console log: //p')
contains "… which shows the panic" "$(cat "$log")" "sysrq triggered crash"
rm -rf "$(dirname "$log")"

# Guests of both kernels. Other tests run them on the other lab host, too.
cat >"$out/guests.sh" <<'EOT'
set -eu
lab=$1
for kernel in 6.1 6.12; do
	pid=$("$lab" guest start "g-$kernel" --kernel "$kernel" --workload cputree-fp)
	echo "$kernel: $(tr '\0' ' ' </proc/"$pid"/cmdline | grep -o "name g-$kernel")"
	"$lab" guest list | sed 's/ [0-9]* / PID /'
	"$lab" guest console "g-$kernel" | grep started
	"$lab" guest qmp "g-$kernel" '{"execute": "query-status"}' | grep -o '"running": true'
	"$lab" guest stop "g-$kernel"
	[ ! -e "/proc/$pid" ]
done
"$lab" guest list
EOT
got=$("$lab" run --kernel 6.12 --timeout 240 -- bash "$out/guests.sh" "$lab" 2>"$out/stderr")
same "guests on a 6.12 host" '6.1: name g-6.1
g-6.1 PID 6.1
workload cputree-fp: started
"running": true
6.12: name g-6.12
g-6.12 PID 6.12
workload cputree-fp: started
"running": true' "$got"
[ ! -s "$out/stderr" ] || sed 's/^/# /' "$out/stderr"
tap_done
