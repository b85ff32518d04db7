# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests of recordings: chains.py's verdicts as TAP of the calling script. Source tap.sh first.

# chains CHECK FILE [OPTION…]: see tests/lab/chains.py. Only noted: chains_judge makes all the checks
# at once, as to read a recording takes longer than to check it.
chains() {
	printf '%s\n' "$@" '' >>"$TMPDIR/chains"
}

chains_judge() {
	if [ -n "${LAB_OUT-}" ] && [ -n "${TEST-}" ]; then
		chains_keep "$LAB_OUT/$TEST.chains"
		return
	fi
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

# chains_keep FOLDER: in a lab host, where Python is slow, they are left for tests/run to be made
# outside: the checks, and each file of $TMPDIR that they name.
chains_keep() {
	chains_nr=$((${chains_nr-0} + 1))
	mkdir -p "$1"
	while IFS= read -r chains_word; do
		case $chains_word in
		"$TMPDIR"/*)
			chains_file=$chains_nr-${chains_word##*/}
			[ -e "$1/$chains_file" ] || cp "$chains_word" "$1/$chains_file"
			chains_word=%/$chains_file
			;;
		esac
		printf '%s\n' "$chains_word"
	done <"$TMPDIR/chains" >>"$1/checks"
	rm "$TMPDIR/chains"
}
