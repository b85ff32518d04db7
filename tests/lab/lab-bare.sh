#!/bin/sh
# lab: host=6.12 timeout=240 slow
# SPDX-License-Identifier: GPL-2.0-only
# A guest that is no Linux: by frame pointers, addresses alone; with its ELF file given names and its
# rules, too; with another one given the truth.
set -u
. "$SRC/tests/lib/tap.sh"
. "$SRC/tests/lib/chains.sh"

lab=$SRC/lab/lab
bare=$BUILD/lab/bare
mkdir "$TMPDIR/debug" # of a guest that nothing is known of, nothing is stored

# record NAME [OPTION…]: into $TMPDIR/NAME.*
record() {
	name=$1
	shift
	"$KVMPROF" record --vm bare -F 997 --duration 5 -o "$TMPDIR/$name.data" \
		--buildid-dir "$TMPDIR/debug" "$@" >"$TMPDIR/$name.said" 2>&1
	same "$name: record ends well" 0 $?
	cat "$TMPDIR/$name.said"
	"$KVMPROF" script -F +stop -i "$TMPDIR/$name.data" --buildid-dir "$TMPDIR/debug" \
		--symbol-sources cache >"$TMPDIR/$name.script"
	head -n 8 "$TMPDIR/$name.script"
}

# start FLAVOUR
start() {
	check "bare-$1: starts" "$lab" guest start bare --kernel "$bare/bare-$1" --initrd none \
		--ready '^bare: up'
}

# first NAME REGEX: what the recording's first line says
first() {
	check "$1: the first line says so" sh -c "head -n 1 '$TMPDIR/$1.said' | grep -E \"$2\""
}

# shares NAME FLAVOUR
shares() {
	chains shares "$TMPDIR/$1.script" --label "$1" --comm "$(comm "$1")" --entry start64 \
		--binary "$bare/bare-$2" --want alpha=50,beta=30,gamma=20 --min-samples 1000
	chains user "$TMPDIR/$1.script" --label "$1" --comm '.*' --min-samples 1000
}

# comm NAME: what samples of no task are called
comm() {
	sed -n 's/^ *\(.*[^ ]\) \+-1 .*/\1/p' "$TMPDIR/$1.script" | head -n 1
}

start fp
record addresses
first addresses 'guest bare: its OS is unknown .*frames are addresses'
shares addresses fp
record names --guest-elf "$bare/bare-fp"
first names 'its OS is unknown, names and rules are those of bare-fp at 0x400000'
shares names fp
for function in alpha_leaf beta_low gamma_deep main start64; do
	check "names: $function" grep -q " $function" "$TMPDIR/names.script"
done
perf --buildid-dir "$TMPDIR/debug" script --no-inline -i "$TMPDIR/names.data" \
	>"$TMPDIR/names.perf" 2>/dev/null
chains alike "$TMPDIR/names.script" --peer "$TMPDIR/names.perf" --label "names: stock perf" \
	--min-samples 1000 --min 99
record wrong --guest-elf "$bare/bare-nofp"
first wrong 'its OS is unknown .*holds other code'
record elsewhere --guest-elf "$bare/bare-fp@0x40000000"
first elsewhere 'its OS is unknown .*nothing where that file is to be'
"$lab" guest stop bare

start nofp
record rules --guest-elf "$bare/bare-nofp"
shares rules nofp
"$lab" guest stop bare
chains_judge
tap_done
