#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command line as documented: options in the manual pages and in the program are the same,
# exit statuses are as promised, completion offers what there is.
set -eu
. "$SRC/tests/lib/tap.sh"

page_of() {
	echo "$SRC/doc/man/kvmprof-$1.1"
}

# Options that a page describes, one a line: the words of a .TP's tag that begin with -.
options_of_page() {
	grep -E '^\\fB\\-' "$1" | grep -oE '\\fB\\-[^ ]*\\fR' |
		sed -e 's/\\fB//' -e 's/\\fR//' -e 's/\\-/-/g' -e 's/\[=.*//' | sort -u
}

# Options that a command has, without those of every command.
options_of_command() {
	"$KVMPROF" "$1" --list-options | cut -f 1 | tr ' ' '\n' |
		grep -vxE -e '-[hvq]|--help|--verbose|--quiet' | sort -u
}

# What a page's entries say, without markup.
text_of_page() {
	sed -e 's/\\f[BRI]//g' -e 's/\\-/-/g' -e 's/^\.[BIR]\+ //' "$1"
}

# The tags of a page's entries, "-p, --pid PID", and the same of the program.
tags_of_page() {
	grep -E '^\\fB\\-' "$1" >"$TMPDIR/tags"
	text_of_page "$TMPDIR/tags" | sort
}
tags_of_command() {
	"$KVMPROF" "$1" --list-options | awk -F '\t' '$1 !~ /--(help|verbose|quiet)$/ {
		sub(/ /, ", ", $1)
		if (sub(/\?$/, "]", $2))
			$2 = "[" $2
		print $1 ($2 == "" ? "" : " " $2)
	}' | sort
}

# entry_of PAGE OPTION: the text below the option's tag
entry_of() {
	text_of_page "$1" | awk -v option="$2" '
		/^-/ { inside = index(" " $0 " ", " " option " ") }
		/^\.S[HS]/ { inside = 0 }
		inside'
}

# missing_defaults COMMAND PAGE: options whose default, as the help has it, is not in the page
missing_defaults() {
	"$KVMPROF" "$1" --list-options |
		sed -n 's/^\([^\t]*\)\t.*(default \([^ )]*[^ ),]\).*/\1 \2/p' |
		while read -r line; do
			value=${line##* }
			names=${line% *}
			entry_of "$2" "${names##* }" | grep -qF -- "$value" || echo "${names##* } $value"
		done
}

commands=$("$KVMPROF" --list-commands | cut -f 1 | grep -vx help || :)
contains 'there are commands' "$commands" flamegraph
for command in $commands; do
	page=$(page_of "$command")
	if [ ! -f "$page" ]; then
		fail "$command: has a manual page"
		continue
	fi
	same "$command: the manual page has the command's options" \
		"$(options_of_command "$command" || :)" "$(options_of_page "$page")"
	same "$command: and they take what the page says" "$(tags_of_command "$command")" \
		"$(tags_of_page "$page")"
	same "$command: the page has the defaults of --help" '' "$(missing_defaults "$command" "$page")"
	contains "$command: kvmprof.1 names it" "$(cat "$SRC/doc/man/kvmprof.1")" \
		"kvmprof\\-$command (1)"
	status "$command: --help" 0 "$KVMPROF" "$command" --help
	same "$command: help $command is the same" "$tap_output" "$("$KVMPROF" help "$command")"
	contains "$command: --help begins with the usage" "$tap_output" "usage: kvmprof $command "
	status "$command: an unknown option is status 2" 2 "$KVMPROF" "$command" --no-such-option
	contains "$command: and says so" "$tap_output" 'unknown option --no-such-option'
done
for page in "$SRC"/doc/man/kvmprof-*.1; do
	name=${page##*/kvmprof-}
	contains "${page##*/}: is of a command" "$(cat "$SRC/src/cmd/main.c")" "{ \"${name%.1}\", cmd_"
done
same 'kvmprof.1: the options of every command' \
	"$(printf '%s\n' --help --quiet --verbose --version -h -q -v)" \
	"$(options_of_page "$SRC/doc/man/kvmprof.1" | LC_ALL=C sort)"

if command -v groff >/dev/null; then
	for page in "$SRC"/doc/man/*.1; do
		same "${page##*/}: groff has nothing to say" '' \
			"$(groff -man -Tutf8 -ww -z -rCHECKSTYLE=3 "$page" 2>&1)"
	done
else
	skip 'groff has nothing to say' 'no groff'
fi

# What the accounting at the end of a report may have, as the recorder calls it: it stands in report(1).
labels=$(sed -n -e 's/.*write_count(out, "\([^"]*\)",.*/\1/p' -e 's/^\t*{ "\(.*\)", accounting->.*/\1/p' \
	-e 's/^\t{ "\(.*\)", offsetof(struct capture_counts, .*/\1/p' \
	-e 's/.*strbuf_addf(&text, "\([^:]*\): .*/\1/p' "$SRC/src/engine/userland.c" \
	"$SRC/src/engine/accounting.c" "$SRC/src/engine/recording.c" |
	sed -e 's/^objects //' -e 's/^lost: .*/lost/' | sort -u)
contains 'the accounting has lines' "$labels" 'processes read again'
text_of_page "$(page_of report)" | tr '\n"' '  ' | tr -s ' ' >"$TMPDIR/report-page"
same 'the manual has every line of the accounting' '' "$(while read -r label; do
	grep -qF -- "$label" "$TMPDIR/report-page" || echo "$label"
done <<<"$labels")"

# Statuses and streams.
status 'no command' 2 "$KVMPROF"
status 'an unknown command' 2 "$KVMPROF" no-such-command
contains 'what shows those that there are' "$tap_output" 'kvmprof help'
status '--version' 0 "$KVMPROF" --version
contains '--version names the program' "$tap_output" 'kvmprof '
same 'help goes to standard output only' '' "$("$KVMPROF" --help 2>&1 >/dev/null)"
same 'errors go to standard error only' '' "$("$KVMPROF" --no-such-option 2>/dev/null || :)"
full_disk() { "$KVMPROF" --help >/dev/full; }
status 'a full disk' 1 full_disk
contains 'a full disk is named' "$tap_output" 'No space left on device'
closed() { "$KVMPROF" --help >&-; }
status 'standard output is closed' 1 closed

# Completion, as bash calls it.
PATH=$(dirname "$KVMPROF"):$PATH
. "$SRC/completions/kvmprof"
compopt() { :; }

# completions WORD…: what is offered for the last word, on one line
completions() {
	COMP_WORDS=(kvmprof "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_kvmprof
	echo " ${COMPREPLY[*]-} "
}

contains 'completion: commands' "$(completions '')" ' flamegraph '
contains 'completion: commands, begun' "$(completions fl)" ' flamegraph '
lacks 'completion: only those' "$(completions fl)" ' help '
contains 'completion: commands after help' "$(completions help fl)" ' flamegraph '
contains 'completion: options before a command' "$(completions --v)" ' --version '
for command in $commands; do
	offered=$(completions "$command" -)
	missing=
	for option in $(options_of_command "$command"); do
		case $offered in *" $option "*) ;; *) missing="$missing $option" ;; esac
	done
	same "completion: all options of $command" '' "$missing"
done
same 'completion: actions of cache' ' list add remove prune ' "$(completions cache '')"
touch "$TMPDIR/one.data"
contains 'completion: a file' "$(cd "$TMPDIR" && completions flamegraph -i on)" ' one.data '
contains 'completion: --no- forms of flags' "$(completions flamegraph --no-)" ' --no-inverted '
lacks 'completion: but not of others' "$(completions flamegraph --no-)" 'output'
for command in $commands; do
	refused=
	for option in $(completions "$command" --no-); do
		case $option in
		--no-help | --no-verbose | --no-quiet) refused="$refused $option" ;;
		esac
	done
	same "completion: no --no- form that $command refuses" '' "$refused"
done
case $commands in
*record*)
	contains 'completion: a choice' "$(completions record --capture '')" ' deferred '
	contains 'completion: a choice after =' "$(completions record --capture = inl)" ' inline '
	contains 'completion: a signal' "$(completions record --kick-signal SIGUS)" ' SIGUSR1 '
	same 'completion: nothing of ours after --' '  ' "$(completions record -- -)"
	;;
esac

tap_done
