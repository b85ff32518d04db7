# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# TAP from shell scripts. Source it, call the functions below, end with `tap_done`.

tap_nr=0
tap_failed=0

# pass NAME
pass() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1"
}

# fail NAME [WHY…]
fail() {
	tap_nr=$((tap_nr + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_nr - $1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$*" | sed 's/^/# /'
}

# skip NAME WHY
skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

# skip_all WHY: ends the script
skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

# check NAME COMMAND…: passes when the command succeeds; what it printed is shown when not
check() {
	tap_name=$1
	shift
	if tap_output=$("$@" 2>&1); then
		pass "$tap_name"
	else
		fail "$tap_name" "$* failed:
$tap_output"
	fi
}

# check_not NAME COMMAND…: passes when the command fails
check_not() {
	tap_name=$1
	shift
	if tap_output=$("$@" 2>&1); then
		fail "$tap_name" "$* succeeded:
$tap_output"
	else
		pass "$tap_name"
	fi
}

# same NAME WANTED GOT
same() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "wanted: $2
got:    $3"
	fi
}

# contains NAME TEXT PIECE
contains() {
	case $2 in
	*"$3"*) pass "$1" ;;
	*) fail "$1" "no '$3' in:
$2" ;;
	esac
}

# lacks NAME TEXT PIECE
lacks() {
	case $2 in
	*"$3"*) fail "$1" "'$3' in:
$2" ;;
	*) pass "$1" ;;
	esac
}

# status NAME WANTED COMMAND…: the exit status; output is left in $tap_output
status() {
	tap_name=$1 tap_want=$2
	shift 2
	tap_got=0
	tap_output=$("$@" 2>&1) || tap_got=$?
	if [ "$tap_got" = "$tap_want" ]; then
		pass "$tap_name"
	else
		fail "$tap_name" "$*: exit status $tap_got, wanted $tap_want:
$tap_output"
	fi
}

# works CHECK: whether it works on this host, by `kvmprof selfcheck`; if not, $tap_why is what that says
works() {
	tap_why=$("$KVMPROF" selfcheck -n "$1" 2>&1)
}

# why CHECK ELSE: for a skip: why CHECK does not work here, or, when it does, what ELSE has failed
why() {
	if works "$1"; then
		echo "$2"
	else
		echo "$tap_why"
	fi
}

# between NAME LEAST MOST GOT
between() {
	if awk -v least="$2" -v most="$3" -v got="$4" \
		'BEGIN { exit !(got != "" && got >= least && got <= most) }'; then
		pass "$1 ($4)"
	else
		fail "$1" "wanted $2 to $3, got '${4:-nothing}'"
	fi
}

# The plan; the exit status says whether all passed.
tap_done() {
	echo "1..$tap_nr"
	[ "$tap_failed" -eq 0 ]
	exit
}
