# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# For lab tests that are the same with every guest kernel.

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
