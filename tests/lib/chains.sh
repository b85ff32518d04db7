# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests of recordings: chains.py's verdicts as TAP of the calling script. Source tap.sh first.

# chains CHECK FILE [OPTION…]: see tests/lab/chains.py. Only noted: chains_judge makes all the checks
# at once, as to read a recording takes longer than to check it.
chains() {
	printf '%s\n' "$@" '' >>"$TMPDIR/chains"
}

chains_judge() {
	chains_out=$(python3 "$SRC/tests/lab/chains.py" <"$TMPDIR/chains" 2>&1)
	same "chains.py: exit status" 0 $?
	rm "$TMPDIR/chains"
	while IFS= read -r chains_line; do
		case $chains_line in
		"ok - "*) pass "${chains_line#ok - }" ;;
		"not ok - "*) fail "${chains_line#not ok - }" ;;
		*) echo "$chains_line" ;;
		esac
	done <<-LINES
	$chains_out
	LINES
}
