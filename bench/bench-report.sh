#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `kvmprof report` and `kvmprof script` against stock perf on a recording that stock perf made on
# this machine: 300,000 samples of chains about 45 frames deep. The recording is kept.
# Usage: bench/bench-report.sh [--build DIR] [--rounds N]
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
kvmprof=${KVMPROF:-$build/src/cmd/kvmprof}
cache=$build/bench-data
data=$cache/chains.data
want=300000
mkdir -p "$cache"

# Symbols that perf stores while it records belong to this benchmark, not to ~/.debug.
export HOME="$cache" PERF_CONFIG=/dev/null

# record SECONDS: that much CPU time of two processes, a sample every 25 us. Prints the samples.
record() {
	# shellcheck disable=SC2016
	perf record -g -e cpu-clock -c 25000 -o "$data.new" -- \
		sh -c '"$0" "$1" & "$0" "$1" & wait' "$build/bench/deepcalls" "$1" >"$cache/log" 2>&1 || {
		cat "$cache/log" >&2
		return 1
	}
	sed -n 's/.*(\([0-9]*\) samples).*/\1/p' "$cache/log"
}

# The kernel may hold the rate down: as often as needed, with what came short in mind.
if ! [ -f "$data" ]; then
	seconds=4 samples=0
	for _ in 1 2 3 4; do
		samples=$(record "$seconds")
		[ "$samples" -lt "$want" ] || break
		seconds=$(awk "BEGIN { print $seconds * $want / ($samples + 1) * 1.1 }")
	done
	[ "$samples" -ge "$want" ] || { echo "only $samples samples could be recorded" >&2; exit 1; }
	mv "$data.new" "$data"
fi

samples=$("$kvmprof" script -i "$data" -F tid | wc -l)
frames=$("$kvmprof" script -i "$data" -F ip | awk 'NF { n++ } END { print n }')
echo "$samples samples of $((frames / samples)) frames"
echo "$(($(wc -c <"$data") / 1000000)) MB"
echo
python3 "$src/compare.py" "report --stdio -g" "$rounds" \
	"$kvmprof" report --stdio -g -i "$data" -- perf report --stdio -g -i "$data"
python3 "$src/compare.py" "report --stdio --no-children" "$rounds" \
	"$kvmprof" report --stdio --no-children -i "$data" -- \
	perf report --stdio --no-children -i "$data"
python3 "$src/compare.py" "script" "$rounds" \
	"$kvmprof" script -i "$data" -- perf script -i "$data"
