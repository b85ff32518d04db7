#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Stock perf on a file that we wrote: it must find the names of the guest's kernel and modules in
# ~/.debug, whatever kernel runs here and wherever the guest's kernel was loaded.
# shellcheck source=tests/lib/tap.sh
. "$SRC/tests/lib/tap.sh"

command -v perf >/dev/null || skip_all "no perf"

# recording HOME [host]: a fresh home folder with a recording and a cache in it
recording() {
	mkdir -p "$1" && cd "$1" && shift
	"$BUILD/tests/make-perfdata" perf.data "$PWD/.debug" "$@"
}

# run_perf ARGS…: perf's standard output, in the home folder that we are in
run_perf() {
	HOME=$PWD PERF_CONFIG=/dev/null perf "$@" 2>perf.err
}

# first_sample: names and offsets of the first chain that perf script shows
first_sample() {
	run_perf script -F comm,tid,ip,sym,symoff | sed -n '1,/^$/p' | awk 'NF { $1 = $1; print }'
}

# shares: "percentage comm symbol" of the flat report
shares() {
	run_perf report --stdio --no-children -g none --sort comm,sym -F overhead,comm,sym |
		awk '/^[^#]*%/ { sub(/ \[[k.]\]/, ""); $1 = $1; print }' | sort -rn
}

# right_names WHAT: the checks that hold for every kernel
right_names() {
	same "$1: perf script's first chain" "reader thread 101
$(printf '%s' "$chain")" "$(first_sample | sed 's/^[0-9a-f]* //')"
	same "$1: names of the module in perf script" 500 \
		"$(run_perf script | grep -c ' testmod_write+0x10 (/lib/modules/.*/testmod.ko)$')"
	same "$1: perf report's shares" "50.00% reader thread testmod_write
30.00% reader thread schedule
20.00% spinner 0x0000000000401160" "$(shares)"
	contains "$1: the objects' names" "$(run_perf report --stdio -g none --sort dso)" "[testmod]"
	lacks "$1: no complaint but of what was lost" \
		"$(grep -v -e '^$' -e 'lost 1 chunks' -e '^Check' -e '^Warning' perf.err)" "a"
}

chain="schedule+0x20
ftrace_trampoline+0x21
bpf_prog_6deef7357e7b4530+0x10
do_syscall_64+0x35
[unknown]"

recording "$TMPDIR/made-up" || { fail "a recording"; tap_done; exit 1; }
right_names "another kernel"

callers=$(run_perf report --stdio --no-children -g caller,0.5,callee --sort comm,sym)
contains "perf report -g shows callers" "$callers" "vfs_read"
same "perf buildid-list" \
	"1122334455667700000000000000000000000000 [kernel.kallsyms]
9988776655443300000000000000000000000000 /lib/modules/6.1.0-18-amd64/testmod.ko" \
	"$(run_perf buildid-list)"
same "perf buildid-list --with-hits" "$(run_perf buildid-list)" \
	"$(run_perf buildid-list --with-hits)"
contains "perf evlist" "$(run_perf evlist -v)" "cpu-clock: type: 1"

header=$(run_perf report --header-only)
contains "header: host name" "$header" "# hostname : vm one"
contains "header: release" "$header" "# os release : 6.1.0-18-amd64"
contains "header: architecture" "$header" "# arch : x86_64"
contains "header: processors" "$header" "# nrcpus online : 2"
contains "header: processor" "$header" "# cpudesc : Some Processor"
contains "header: memory" "$header" "# total memory : 524288 kB"
contains "header: command" "$header" "# cmdline : kvmprof record --vm vm one"
contains "header: event" "$header" "# event : name = cpu-clock"
contains "header: first sample" "$header" "# time of first sample : 1.000000"

same "every sample is there" 1000 "$(run_perf script -F comm | grep -c .)"
contains "lost events are counted" "$(run_perf report --stats)" "LOST events:          1"

# What perf archive packs up is enough for a machine that never saw the guest.
if run_perf archive perf.data >/dev/null; then
	mkdir -p "$TMPDIR/elsewhere/.debug"
	tar -xf perf.data.tar.bz2 -C "$TMPDIR/elsewhere/.debug"
	cp perf.data "$TMPDIR/elsewhere"
	(cd "$TMPDIR/elsewhere" && rm -rf "$TMPDIR/made-up")
	cd "$TMPDIR/elsewhere" || exit 1
	right_names "from perf archive"
else
	skip "from perf archive" "perf archive does not work here"
fi

recording "$TMPDIR/same" host
case $? in
0) right_names "the kernel that runs here, loaded elsewhere" ;;
77) skip "the kernel that runs here" "it does not show its symbols" ;;
*) fail "a recording of the kernel that runs here" ;;
esac

# Nothing of this machine's must show up for what the recording has no build id of.
if recording "$TMPDIR/anonymous" anonymous; then
	contains "no build id: the kernel has no symbols" \
		"$(run_perf report --stdio --no-children -g none)" \
		"[kernel.kallsyms]  [k] 0xffffffff"
	same "no build id: nor has the program" "400" \
		"$(run_perf script | grep -c ' \[unknown\] (/proc/self/exe)$')"
else
	skip "no build id" "the kernel that runs here does not show its symbols"
fi
tap_done
