# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# Recordings by stock perf on this machine, for tests that compare with it. Source it after tap.sh.

export PERF_CONFIG=/dev/null

# perf_record FILE OPTIONS…: what a program with a deep call tree does for half a second.
# Ends the script when perf cannot record here.
perf_record() {
	perf_file=$1
	shift
	perf record -q -o "$perf_file" "$@" -- "$BUILD/bench/deepcalls" 0.5 >perf.log 2>&1 ||
		skip_all "$(why perf.cpu-clock "perf cannot record: $(head -n 1 perf.log)")"
}

command -v perf >/dev/null || skip_all "no perf"
