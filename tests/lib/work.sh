# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests of guests that run `cputree-fp --report 1`. Source tap.sh first.

lab=$SRC/lab/lab

# start_working NAME [OPTION…]: a guest that reports its work each second
start_working() {
	guests_name=$1
	shift
	check "guest $guests_name starts" "$lab" guest start "$guests_name" --kernel 6.1 \
		--workload 'cputree-fp --report 1' "$@"
}

# work NAME: lines of work that the guest has reported; they grow while it runs
work() {
	"$lab" guest console "$1" | grep -c 'work cputree'
}

# runs_on NAME WHAT: the guest's work goes on
runs_on() {
	guests_before=$(work "$1")
	for _ in 1 2 3 4 5 6 7 8; do
		sleep 1
		[ "$(work "$1")" -gt "$((guests_before + 1))" ] && break
	done
	check "$2: the guest runs on" test "$(work "$1")" -gt "$guests_before"
}

# recording FILE: until the recorder, whose words go to FILE, says what it takes
recording() {
	for _ in $(seq 300); do
		! grep -q 'kvmprof: event ' "$1" || return 0
		sleep 0.1
	done
	fail "a recording begins" "$(cat "$1")"
}

# recorded FILE GUEST LEAST WHAT [PERCENT]: the recorder, whose words are in FILE, took LEAST samples
# of the guest in each of its files, and 95 % or PERCENT of their chains are complete
recorded() {
	guests_seen=$(sed -n -E \
		"s/^kvmprof: guest $2 \(.*\): ([0-9]+) samples, ([0-9.]+) % of chains.*/\1 \2/p" "$1")
	sed 's/^/# /' "$1"
	if [ -n "$guests_seen" ] && printf '%s\n' "$guests_seen" | awk -v least="$3" \
		-v percent="${5:-95}" '$1 < least || $2 < percent { bad = 1 } END { exit bad }'; then
		pass "$4: at least $3 samples, ${5:-95} % complete"
	else
		fail "$4: at least $3 samples, ${5:-95} % complete" "$guests_seen"
	fi
}

# qemu NAME QEMU-ARGUMENTS [OPTION…]: such a guest of 256M, of kernel 6.1
qemu() {
	qemu_name=$1 qemu_args=$2
	shift 2
	check "$qemu_name starts" "$lab" guest start "$qemu_name" --kernel 6.1 --qemu "$qemu_args" \
		--append pci=lastbus=0 --workload 'cputree-fp --report 1' --workload forkexec-fp "$@"
}

# backend KIND,OPTIONS: for qemu(): its 256M are of that kind
backend() {
	echo "-object memory-backend-$1,id=ram,size=256M -machine memory-backend=ram"
}

# qmp GUEST COMMAND [ARGUMENTS]: prints the answer
qmp() {
	"$lab" guest qmp "$1" "{\"execute\":\"$2\",\"arguments\":{${3-}}}"
}
