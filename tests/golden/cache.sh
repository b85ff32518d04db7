#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `kvmprof cache` and stock perf's buildid-cache on one folder: each sees what the other did.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"
command -v perf >/dev/null || skip_all "no perf"
export PERF_CONFIG=/dev/null
cd "$TMPDIR" || exit 1
dir=$PWD/cache

ours() {
	action=$1
	shift
	"$KVMPROF" cache "$action" --buildid-dir "$dir" "$@"
}

perfs() {
	perf --buildid-dir "$dir" buildid-cache "$@"
}

id_of() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# "ID PATH" lines
listed() {
	ours list | awk 'NR > 1 { print $1, $NF }' | sort
}

mkdir bin
for name in one two three; do
	cat >source.c <<END
int $name;
int main(void)
{
	for (volatile long i = 0; i < 100000000; i++)
		;
	return $name;
}
END
	cc -O1 -g -Wl,--build-id=sha1 -o "bin/$name" source.c || skip_all "no compiler"
done
one=$(id_of bin/one)
two=$(id_of bin/two)
three=$(id_of bin/three)

status "list of nothing" 0 ours list
status "add" 0 ours add bin/one bin/two
same "perf lists what kvmprof added" "$(listed)" "$(perfs --list | sort)"
contains "and it is there" "$(perfs --list)" "$one $PWD/bin/one"
check "perf adds" perfs --add bin/three
contains "kvmprof lists what perf added" "$(listed)" "$three $PWD/bin/three"
same "and perf's own list is the same" "$(perfs --list | sort)" "$(listed)"
same "who added it" "kvmprof kvmprof others" \
	"$(ours list | awk 'NR > 1 { print $(NF - 1) }' | sort | tr '\n' ' ' | sed 's/ $//')"
check "the copy is the file" cmp bin/one "$dir/.build-id/$(echo "$one" | cut -c 1-2)/$(echo "$one" |
	cut -c 3-)/elf"

check "perf removes what kvmprof added" perfs --remove bin/one
lacks "and kvmprof does not list it" "$(listed)" "$one"
status "kvmprof removes what perf added" 0 ours remove "$three"
lacks "and perf does not list it" "$(perfs --list)" "$three"
same "nothing of it is left" '' "$(find "$dir" -path '*three*')"
status "remove by file" 0 ours remove bin/two
same "all gone" '' "$(perfs --list)"
status "remove of nothing" 1 ours remove "$two"
contains "remove of nothing says so" "$tap_output" "has nothing of it"

# What a report needs of it.
perf record -q -o data -- bin/one >perf.log 2>&1 && {
	ours add bin/one
	perf buildid-list -i data >ids.txt 2>/dev/null
	same "perf buildid-list names what is in the cache" "$one" \
		"$(awk -v id="$one" '$1 == id { print $1; exit }' ids.txt)"
	ours remove "$one"
}

strip --only-keep-debug -o one.debug bin/one
status "add a debug file" 0 ours add one.debug
same "its kind" debug "$(ours list | awk 'NR > 1 { print $2 }')"
ours remove one.debug

# JSON.
ours add bin/one bin/two bin/three
ours list --json >list.json
same "JSON" "$one $two $three" "$(python3 -c '
import json, sys
entries = {e["path"].split("/")[-1]: e for e in json.load(open(sys.argv[1]))["entries"]}
assert all(e["size"] >= 8000 and e["kinds"] == ["elf"] for e in entries.values())
print(*(entries[name]["build_id"] for name in ("one", "two", "three")))' list.json)"

# Least recently used first, with perf's use as use.
size=$(wc -c <bin/one)
set_use() {
	find "$dir" -path "*/bin/$1/*" -type f -exec touch -d "$2" {} +
}
set_use one '10 days ago'
set_use two '30 days ago'
set_use three '20 days ago'
same "order of the list" "two three one" \
	"$(ours list | awk 'NR > 1 { n = split($NF, part, "/"); printf "%s%s", sep, part[n]; sep = " " }')"
status "prune of what is older than the clock" 0 ours prune --older 36500
same "all are still there" 3 "$(listed | wc -l)"
status "prune --max-size" 0 ours prune --max-size "$((size * 5 / 2))"
lacks "the least recently used is gone" "$(listed)" "$two"
same "the others are not" 2 "$(listed | wc -l)"
status "prune --older" 0 ours prune --older 15
same "what is younger stays" "$one $PWD/bin/one" "$(listed)"
status "prune of nothing" 2 ours prune
status "prune to nothing" 0 ours prune --max-size 0
same "nothing is left" '' "$(listed)"

# What is refused.
cc -Wl,--build-id=none -o none source.c
status "no build id" 1 ours add none
contains "no build id says why" "$tap_output" "no build id"
status "no ELF file" 1 ours add source.c
head -c 9000 bin/one >"cut"
status "half a file" 1 ours add cut
status "no such file" 1 ours add nowhere
same "none was stored" '' "$(perfs --list)"
status "one of several that fails" 1 ours add none bin/one
contains "the others are tried" "$(listed)" "$one"
for wrong in '' polish 'list x' 'add' 'add --json x' 'list --max-size 1' 'prune --older 0'; do
	# shellcheck disable=SC2086 # words
	status "kvmprof cache $wrong" 2 "$KVMPROF" cache $wrong
done
HOME=$TMPDIR "$KVMPROF" cache add bin/two
contains "the default is ~/.debug" "$(HOME=$TMPDIR perf buildid-cache --list)" "$two"

tap_done
