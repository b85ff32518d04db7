# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests that are the same with every guest. Source tap.sh first.
# shellcheck disable=SC2154 # $out and $label are the caller's


# guest_kernels: those to take on this lab host. Without KVMPROF_TEST_ALL the other one than the
# host's own: two lab hosts then have each kernel once as a host and once as a guest.
guest_kernels() {
	if [ -n "${KVMPROF_TEST_ALL-}" ]; then
		echo 6.1 6.12
	elif [ "$LAB_KERNEL" = 6.1 ]; then
		echo 6.12
	else
		echo 6.1
	fi
}

# lab_host OPTION… -- CMD…: CMD in a lab host of its own, whose results come into $out, a new folder
lab_host() {
	rm -rf "$out"
	mkdir -p "$out"
	"$SRC/lab/lab" run --out "$out" --console "$out/console" "$@" >"$out/host.log" 2>&1
}

# recorded FILE OPTION… -- CMD…: the same as a test of $label; false when it has left no FILE.
# Emulated processors go wrong now and then: a second time, and that is said.
recorded() {
	recorded_file=$1
	shift
	if ! lab_host "$@"; then
		cat "$out/host.log"
		echo "# $label: once more"
		lab_host "$@"
	fi
	same "$label: is recorded" 0 $?
	[ -e "$out/$recorded_file" ] && return
	cat "$out/host.log"
	return 1
}
