#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab: host=6.1 timeout=240 mem=4G slow
# A guest's kernel, symbols and modules as they are read from outside, against what the guest
# itself says: /proc/kallsyms and /proc/modules, symbol for symbol.
set -u
export LC_ALL=C	# sorting hundreds of thousands of lines takes its time in the lab
. "$SRC/tests/lib/tap.sh"

# symbols FILE: "address name module" sorted, without what only the guest can know: BPF programs and
# the trampolines of ftrace and kprobes. The type's case tells exported symbols of modules; leave it.
symbols() {
	grep -v -e '\[bpf\]' -e '\[__builtin__' "$1" | awk '{ print $1, $3, $4 }' | sort -u
}

fact() {
	sed -n "s/^$1 //p" "$TMPDIR/facts"
}

check_guest() {
	local kernel=$1 pid out
	local differences

	pid=$("$SRC/lab/lab" guest start "$kernel" --kernel "$kernel" --root --module ext4 \
		--script "$SRC/tests/lab/guest-self") || { fail "$kernel: guest starts"; return; }
	out=$("$SRC/lab/lab" guest dir "$kernel")/out
	for _ in {1..300}; do
		[ ! -e "$out/ready" ] || break
		sleep 0.2
	done
	check "$kernel: identified" "$BUILD/tests/guest-facts" "$pid" "$TMPDIR/kallsyms"
	printf '%s\n' "$tap_output" >"$TMPDIR/facts"
	sed 's/^/# /' "$TMPDIR/facts"
	same "$kernel: release" "$(cat "$out/release")" "$(fact release)"
	same "$kernel: banner" "$(cat "$out/version")" "$(fact banner)"
	same "$kernel: build id" "$(cat "$out/build-id")" "$(fact build-id)"
	same "$kernel: start" "$(sed -n 's/ T _text$//p' "$out/kallsyms")" "$(fact start | sed s/0x//)"
	differences=$(diff <(symbols "$out/kallsyms") <(symbols "$TMPDIR/kallsyms"))
	same "$kernel: /proc/kallsyms" '' "$(head -n 20 <<<"$differences")"
	echo "# $(symbols "$TMPDIR/kallsyms" | wc -l) symbols"
	differences=$(diff <(awk '{ print $1 }' "$out/modules" | sort) \
		<(fact module | awk '{ print $1 }' | sort))
	same "$kernel: /proc/modules" '' "$differences"
	differences=$(diff "$out/module-ids" <(fact module | awk '{ print $1, $3 }' | sort))
	same "$kernel: build ids of modules" '' "$differences"
	same "$kernel: capture is possible" 1 "$(fact config)"
	same "$kernel: functions without a rule" "$(fact functions)" "$(fact with-rule)"
	"$SRC/lab/lab" guest stop "$kernel"
}

check_guest 6.1
check_guest 6.12
tap_done
