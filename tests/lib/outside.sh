# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests of what a vCPU runs outside of the guest's kernel. Source tap.sh first; results are left
# in the working folder.

# begin NAME GUEST [OPTION…]: a recorder of the guest, whose words go to NAME.said
begin() {
	name=$1 guest=$2
	shift 2
	"$KVMPROF" record --vm "$guest" -F 997 -o "$name.data" --buildid-dir "$TMPDIR/debug" "$@" \
		>"$name.said" 2>&1 &
	recorder=$!
	for _ in $(seq 300); do
		! grep -q 'kvmprof: event ' "$name.said" || return 0
		sleep 0.1
	done
	fail "$name: a recording begins" "$(cat "$name.said")"
}

# end NAME: and what it has come to, as text
end() {
	kill -INT "$recorder"
	wait "$recorder"
	same "$1: record ends well" 0 $?
	sed 's/^/# /' "$1.said"
	same "$1: in one file" "$1.data" "$(ls "$1.data"*)"
	"$KVMPROF" script -F +stop -i "$1.data" --buildid-dir "$TMPDIR/debug" >"$1.script"
	"$KVMPROF" report --stdio --no-children -i "$1.data" --buildid-dir "$TMPDIR/debug" \
		>"$1.report"
	grep -E 'until a kernel|^# (chains|events|samples)' "$1.report"
	[ -z "${LAB_OUT-}" ] || cp "$1.said" "$1.script" "$1.report" "$LAB_OUT/"
}

# stops NAME REASON: how many chains ended so
stops() {
	grep -c "\[stop: $2[],]" "$1.script"
}

# marked NAME REASON PLACE LEAST: so many samples have the reason, and each the one frame, that is
# named everywhere; as many are in the summary
marked() {
	nr=$(stops "$1" "$2")
	check "$1: $nr samples of $3, at least $4" test "$nr" -ge "$4"
	awk -v reason="[stop: $2" -v place="($3)" '
		/\[stop: / { if (mine && !named) bad++; mine = index($0, reason); named = frames = 0 }
		mine && /^\t/ { frames++; if (index($0, place)) named++; else if (!/ffffffff/) bad++ }
		END { exit bad > 0 }' "$1.script"
	same "$1: each has that frame alone" 0 $?
	contains "$1: the summary counts them" "$(cat "$1.said")" "$2 $nr"
	check "$1: the report names it" grep -q -F "$3" "$1.report"
	"$KVMPROF" flamegraph -i "$1.data" --buildid-dir "$TMPDIR/debug" -o "$1.html"
	check "$1: the flame graph names it" grep -q -F "\"$3\"" "$1.html"
	perf --buildid-dir "$TMPDIR/debug" script -i "$1.data" >"$1.perf" 2>/dev/null
	same "$1: stock perf names as many frames" \
		"$(grep -c -F "($3)" "$1.script")" "$(grep -c -F "($3)" "$1.perf")"
}

# known NAME PERCENT: of the samples of the guest's system since its kernel is known as many have a
# complete chain
known() {
	awk -v least="$2" '
		/\[stop: (real mode|firmware|system management mode|nested guest)/ { next }
		/\[stop: / { all++; good += /stop: complete/ }
		/stop: kernel not identified/ { all = good = 0 }
		END { share = all ? 100 * good / all : 0
		      printf "# %d samples since the kernel is known, %.1f %% complete\n", all, share
		      exit share < least || all < 500 }' "$1.script"
	same "$1: since then $2 % of the chains are complete" 0 $?
}
