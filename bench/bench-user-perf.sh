#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Unwinding user space out of stack copies of 1, 4 and 16 KiB against stock perf, which unwinds the
# same copies of the same samples: `perf script` on what `perf record --call-graph dwarf,SIZE` wrote.
# Both read the file, get the rules from the same objects and print the chains.
# Usage: bench/bench-user-perf.sh [--build DIR] [--rounds N]
set -eu

build=build rounds=5
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$2 ;;
	--rounds) rounds=$2 ;;
	*) echo "usage: $0 [--build DIR] [--rounds N]" >&2; exit 2 ;;
	esac
	shift 2
done
src=$(dirname "$0")
build=$(cd "$build" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HOME="$scratch" PERF_CONFIG=/dev/null
ours=$build/bench/bench-user-perf

for size in 1024 4096 16384; do
	data=$scratch/data-$size
	perf record -q -e cpu-clock:u -F 1999 --call-graph "dwarf,$size" -o "$data" -- \
		"$build/bench/stackcalls" 3 >"$scratch/log" 2>&1 || {
		cat "$scratch/log" >&2
		exit 1
	}
	"$ours" "$data" >"$scratch/ours"
	perf script -F ip --no-inline -i "$data" >"$scratch/perfs" 2>/dev/null
	printf '%s bytes, unwinding alone: ' "$size"
	"$ours" --time "$data"
	python3 "$src/same-chains.py" "$scratch/ours" "$scratch/perfs"
	python3 "$src/compare.py" "$size bytes, from file to text" "$rounds" \
		"$ours" "$data" -- perf script -F ip --no-inline -i "$data"
done
