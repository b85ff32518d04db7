#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: host=6.1 timeout=260 mem=4G slow
# A guest's processes as they are read from outside, against what the guest itself says: the
# mappings of a shell, of a python3 that has opened a library later, and of sleep; and the bytes of
# their files against those of the files.
set -u
export LC_ALL=C
. "$SRC/tests/lib/tap.sh"

# mappings FILE: "range perms offset path" of a maps file; device and inode differ below an overlay.
mappings() {
	awk '{ path = $6; for (i = 7; i <= NF; i++) path = path " " $i
		print $1, $2, $3, path }' "$1"
}

check_process() {
	local kernel=$1 pid=$2 out=$3

	same "$kernel: mappings of $pid" '' \
		"$(diff <(mappings "$out/maps-$pid") <(mappings "$TMPDIR/seen/maps-$pid") | head -n 20)"
	echo "# $(wc -l <"$out/maps-$pid") mappings"
}

check_guest() {
	local kernel=$1 pid out each files
	local -a pids

	pid=$("$SRC/lab/lab" guest start "$kernel" --kernel "$kernel" --root \
		--script "$SRC/tests/lab/guest-user-self") || { fail "$kernel: guest starts"; return; }
	out=$("$SRC/lab/lab" guest dir "$kernel")/out
	for _ in {1..400}; do
		[ ! -s "$out/pids" ] || break
		sleep 0.2
	done
	rm -rf "$TMPDIR/seen"
	mkdir "$TMPDIR/seen"
	check "$kernel: processes are read" "$BUILD/tests/guest-processes" "$pid" "$TMPDIR/seen"
	files=$(grep '^file ' <<<"$tap_output")
	printf '%s\n' "$tap_output" | sed 's/^/# /'
	read -ra pids <"$out/pids"
	same "$kernel: processes to compare" 3 "${#pids[@]}"
	for each in "${pids[@]}"; do
		check_process "$kernel" "$each" "$out"
	done
	same "$kernel: bytes that differ" '' "$(grep -v ' wrong 0 ' <<<"$files")"
	contains "$kernel: the shell's file" "$(grep -o '^file [^ ]*/dash .* id same' <<<"$files")" /dash
	contains "$kernel: libc" "$(grep -o '^file [^ ]*/libc\.so\.6 .* id same' <<<"$files")" libc
	contains "$kernel: the vDSO" "$tap_output" "vdso "
	"$SRC/lab/lab" guest stop "$kernel"
}

check_guest 6.1
check_guest 6.12
tap_done
