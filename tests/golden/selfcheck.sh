#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kvmprof selfcheck, with KVM or without: it always has an answer, and its exit status is that answer.
set -eu
. "$SRC/tests/lib/tap.sh"

cd "$TMPDIR"
HOME=$TMPDIR
export HOME
unset XDG_CACHE_HOME DEBUGINFOD_URLS

# answer CHECK: true, false or null, as the JSON has it
answer() {
	python3 -c 'import json, sys
checks = {c["check"]: c for c in json.load(open("out.json"))["checks"]}
print(json.dumps(checks[sys.argv[1]]["works"]))' "$1"
}

code=0
"$KVMPROF" selfcheck >table 2>err || code=$?
json_code=0
"$KVMPROF" selfcheck -j >out.json 2>>err || json_code=$?
same 'the same status in both forms' "$code" "$json_code"
same 'the status is whether recording works' "$(answer record)" \
	"$([ "$code" = 0 ] && echo true || echo false)"
same 'nothing beside' '' "$(cat err)"
same 'the columns' 'CHECK WORKS DETAIL' "$(head -n 1 table | tr -s ' ' | sed 's/ $//')"
same 'each check is in both' "$(awk 'NR > 1 { print $1 }' table | grep -v '^guest')" \
	"$(python3 -c 'import json
for c in json.load(open("out.json"))["checks"]: print(c["check"])' | grep -v '^guest')"
same 'each has something to say' '' "$(awk 'NR > 1 && NF < 3' table)"
same 'each works, or not, or neither' '' "$(awk 'NR > 1 && $2 !~ /^(yes|no|-)$/' table)"

if [ "$(answer kvm)" = true ]; then
	skip 'without KVM' 'there is KVM here'
else
	same 'without KVM recording does not work' 1 "$code"
	contains 'with what to do' "$(grep '^kvm ' table)" 'KVM'
fi
[ -e /dev/kvm ] || same 'what cannot be tried is neither' null "$(answer kvm.registers)"
same 'the symbols would go below the home' true "$(answer symbols.cache)"
same 'servers are not asked for' null "$(answer symbols.debuginfod)"

got=$(answer process.memory)
code=0
"$KVMPROF" selfcheck -n process.memory >one || code=$?
same 'one check: its status' "$([ "$got" = true ] && echo 0 || echo 1)" "$code"
same 'one check: a line' 'process.memory 1' "$(cut -d ' ' -f 1 one) $(wc -l <one)"
status 'a check that there is not' 2 "$KVMPROF" selfcheck nosuch
contains 'is named' "$tap_output" "no check 'nosuch'"

tap_done
