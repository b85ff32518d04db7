#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# kvmprof flamegraph on recordings: the right frames in the page, and errors that say what is wrong.
set -eu
. "$SRC/tests/lib/tap.sh"

cd "$TMPDIR"
"$BUILD/tests/make-perfdata" perf.data "$PWD/.debug"

# paths PAGE: each frame of a page as "weight kind root;…;frame", in the page's order
paths() {
	python3 - "$1" <<'EOT'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
profile = json.loads(re.search(r'<script id="profile"[^>]*>(.*?)</script>', text, re.S)[1])
kinds = ["process", "kernel", "module", "user", "unknown"]
path = []
for depth, symbol, weight in zip(profile["depth"], profile["symbol"], profile["weight"]):
    name, module, kind = profile["symbols"][symbol]
    path[depth:] = [name]
    print(weight, kinds[kind], ";".join(path))
EOT
}

# member PAGE NAME: of the page's profile
member() {
	python3 -c 'import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
profile = json.loads(re.search(r"<script id=\"profile\"[^>]*>(.*?)</script>", text, re.S)[1])
print(json.dumps(profile[sys.argv[2]]))' "$1" "$2"
}

status 'a recording' 0 "$KVMPROF" flamegraph
same 'the frames' '1000000000 process all
800000000 process all;reader thread
500000000 user all;reader thread;0x401150
500000000 user all;reader thread;0x401150;0x401136
500000000 kernel all;reader thread;0x401150;0x401136;do_syscall_64
500000000 kernel all;reader thread;0x401150;0x401136;do_syscall_64;vfs_read
500000000 module all;reader thread;0x401150;0x401136;do_syscall_64;vfs_read;testmod_write
300000000 user all;reader thread;0x401140
300000000 kernel all;reader thread;0x401140;do_syscall_64
300000000 kernel all;reader thread;0x401140;do_syscall_64;bpf_prog_6deef7357e7b4530
300000000 kernel all;reader thread;0x401140;do_syscall_64;bpf_prog_6deef7357e7b4530;ftrace_trampoline
300000000 kernel all;reader thread;0x401140;do_syscall_64;bpf_prog_6deef7357e7b4530;ftrace_trampoline;schedule
200000000 process all;spinner
200000000 user all;spinner;0x401150
200000000 user all;spinner;0x401150;[unknown]' "$(paths flamegraph.html)"
same 'the title is the guest' '"vm one"' "$(member flamegraph.html title)"
same 'the notes' '["Linux 6.1.0-18-amd64", "cpu-clock", "1000 samples", "3 lost"]' \
	"$(member flamegraph.html notes)"
same 'the unit of cpu-clock is time' '"ns"' "$(member flamegraph.html unit)"

"$KVMPROF" flamegraph -o - >out.html 2>err
same 'standard output is the page' "$(cat flamegraph.html)" "$(cat out.html)"
same 'and nothing is said' '' "$(cat err)"
"$KVMPROF" flamegraph -i - -o - <perf.data >out.html
same 'standard input is the recording' "$(cat flamegraph.html)" "$(cat out.html)"

"$KVMPROF" flamegraph -q -o comm.html --comm spinner --title 'a & b' --inverted
same '--comm' '200000000 process all
200000000 process all;spinner
200000000 user all;spinner;0x401150
200000000 user all;spinner;0x401150;[unknown]' "$(paths comm.html)"
same '--title' '"a & b"' "$(member comm.html title)"
same '--inverted' true "$(member comm.html inverted)"
contains '--comm is noted' "$(member comm.html notes)" '800 others left out'
"$KVMPROF" flamegraph -q -o by.html --by none
contains '--by none' "$(paths by.html)" '700000000 user all;0x401150'
"$KVMPROF" flamegraph -q -o by.html --by thread
contains '--by thread' "$(paths by.html)" '101'
status 'a process that is not there' 0 "$KVMPROF" flamegraph -o comm.html --comm nobody
contains 'is told' "$tap_output" 'no samples of what was asked for'
same 'and gives an empty page' '' "$(paths comm.html)"

# What goes wrong.
status 'no such file' 1 "$KVMPROF" flamegraph -i nothing.data -o none.html
contains 'is told' "$tap_output" 'nothing.data: no such file'
echo 'this is no recording of anything, however long it may be' >bad.data
status 'not a recording' 1 "$KVMPROF" flamegraph -i bad.data -o none.html
contains 'is told, too' "$tap_output" 'bad.data: bad data: '
status 'an event that is not in the file' 1 "$KVMPROF" flamegraph -e cycles -o none.html
contains 'is told with those that are' "$tap_output" 'has no event cycles; it has: cpu-clock'
status 'a folder that cannot be written' 1 "$KVMPROF" flamegraph -o /proc/nowhere/none.html
status 'a folder that is not there' 1 "$KVMPROF" flamegraph -o nowhere/deep/none.html
contains 'is told, too' "$tap_output" 'cannot write nowhere/deep/none.html: its folder: not found'
check_not 'and not made' ls -d nowhere
check_not 'no page is left of a failure' ls none.html
full() { "$KVMPROF" flamegraph -o - >/dev/full; }
status 'a full disk' 1 full
contains 'a full disk is named' "$tap_output" 'No space left on device'
head -c 20000 perf.data >cut.data
status 'a recording that was cut off' 0 "$KVMPROF" flamegraph -i cut.data -o cut.html
contains 'is told and shown' "$tap_output" 'ends early'
contains 'also in the page' "$(member cut.html notes)" 'cut off'

if command -v perf >/dev/null &&
	perf record -q -g -e cpu-clock -F 200 -o stock.data -- gzip -c "$KVMPROF" >/dev/null 2>&1; then
	status 'a file of stock perf' 0 "$KVMPROF" flamegraph -i stock.data -o stock.html
	contains 'it has the program' "$(paths stock.html)" ' process all;gzip'
	# perf script's own sum of the periods
	same 'no sample is missing' \
		"$(perf script -i stock.data -F period 2>/dev/null |
			awk '{ s += $1 } END { printf "%d", s }')" \
		"$(paths stock.html | sed -n '1s/ .*//p')"
else
	skip 'a file of stock perf' "$(why perf.cpu-clock 'perf cannot record here')"
fi

tap_done
