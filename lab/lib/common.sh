# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# What every part of the lab needs: errors, folders, names.

# The exit status of a lab that failed, as opposed to the command it ran.
LAB_ERROR=125
export LAB_ERROR

# Of the lab hosts and the guests in them: of this machine, unless a lab host of another is to be made.
LAB_ARCH=amd64
[ "$(uname -m)" != aarch64 ] || LAB_ARCH=arm64

LAB_REPO=$(dirname "$LAB_DIR")
LAB_CACHE=${KVMPROF_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kvmprof-lab}
LAB_BUILD=${KVMPROF_BUILD:-$LAB_REPO/build}
# Inside a lab host only.
LAB_STATE=/run/kvmprof-lab
export LAB_REPO LAB_CACHE LAB_BUILD LAB_STATE

# shellcheck disable=SC2034 # used in kernels.sh
LAB_KERNELS=(6.1 6.12)

die() {
	echo "lab: $*" >&2
	exit "$LAB_ERROR"
}

note() {
	echo "lab: $*" >&2
}

# need_value OPTION COUNT: an option that takes a value is not the last word.
need_value() {
	[ "$2" -ge 2 ] || die "option $1 needs a value"
}

need_number() {
	[[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 takes a number above zero, not '$2'"
}

need_size() {
	[[ $2 =~ ^[1-9][0-9]*[KMGkmg]?$ ]] || die "$1 takes a size such as 512M, not '$2'"
}

# lab_arch_arm64: from now on everything is of that architecture.
lab_arch_arm64() {
	export LAB_ARCH=arm64
	LAB_BUILD=${KVMPROF_BUILD:-$LAB_REPO/build-arm64}
}

need_tools() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || die "no '$tool' on this machine (run: make packages)"
	done
}

# share_option PATH TAG [OPTIONS]: the value of QEMU's -virtfs that shares PATH.
share_option() {
	echo "local,path=${1//,/,,},mount_tag=$2,security_model=none,multidevs=remap${3:+,$3}"
}
