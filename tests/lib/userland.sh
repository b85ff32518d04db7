# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests of guest user space, with the programs of lab/userland. Source chains.sh first.
# shellcheck disable=SC2154 # $out and $label are the caller's

# programs: comm and name; $user_programs, if set, has the names of those that run
programs() {
	while read -r comm program; do
		case " ${user_programs:-$program} shell " in
		*" $program "*) echo "$comm $program" ;;
		esac
	done <<-'LIST'
	userland-tree tree
	userland-cxx cxx
	userland-rust rust
	python3 python
	userland-thread threads
	userland-dlopen dlopen
	userland-delete deleted
	userland-static static
	jailed chroot
	seq|sed|sort|tail pipeline
	run|user-guest shell
	LIST
}

# userland_copy FOLDER: the programs and what starts them. A guest has this machine's files, but a /tmp
# of its own.
userland_copy() {
	cp "$BUILD"/lab/userland/userland-*[!p] "$SRC"/lab/userland/run "$SRC"/lab/userland/tree.py \
		"$SRC/tests/lab/user-guest" "$1" 2>/dev/null
	chmod 755 "$1"
}

# userland_check NAME LEAST NAMED [LEAST_SAMPLES]: of the recording NAME.data in $out: chains of which
# LEAST per cent are complete, and names for NAMED per cent of the frames that perf names
userland_check() {
	name=$1
	same "$label, $name: record ends well" 0 "$(cat "$out/$name.status")"
	cat "$out/$name.said"
	set -- "$1" "$2" "$3" "${4-2000}"
	"$KVMPROF" script -F +stop,+symoff -i "$out/$name.data" --buildid-dir "$out/$name.debug" \
		--symbol-sources cache >"$out/$name.script"
	[ -e "$out/kallsyms" ] || : >"$out/kallsyms"
	perf --buildid-dir "$TMPDIR/none" script --no-inline -F +symoff --kallsyms "$out/kallsyms" \
		-i "$out/$name.data" >"$out/$name.perf" 2>"$out/$name.perf-said"
	chains account "$out/$name.said" --label "$label, $name" --min-samples "$4"
	chains user "$out/$name.script" --label "$label, $name, all" --comm "$(programs |
		sed 's/ .*//' | paste -sd'|')" --min-samples "$4" --min "$2"
	programs | while read -r comm program; do
		chains user "$out/$name.script" --label "$label, $name, $program" --comm "$comm" \
			--min-samples 30 --min "$2"
	done
	chains alike "$out/$name.script" --peer "$out/$name.perf" --label "$label, $name" \
		--min-samples "$4" --min "$3"
}
