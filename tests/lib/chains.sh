# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests of recordings: chains.py's verdicts as TAP of the calling script. Source tap.sh first.

# chains CHECK FILE [OPTION…]: see tests/lab/chains.py
chains() {
	chains_out=$(python3 "$SRC/tests/lab/chains.py" "$@" 2>&1) || :
	case $chains_out in
	*"ok - "*) ;;
	*) fail "chains.py $1" "$chains_out" ;;
	esac
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
