# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154 # io is host-init.sh's
# What process 1 of an Intel lab host does otherwise than the others'; read by host-init.sh.

# Results and exit status are on a disk of their own, standard output and error are serial lines.
intel_prepare() {
	local result=/run/kvmprof-lab/result line

	mkdir -p /run/kvmprof-lab/out
	mount --bind "$result/out" /run/kvmprof-lab/out
	ln -sf "$result/status" "$io/status"
	ln -sf /dev/ttyS1 "$io/stdout"
	ln -sf /dev/ttyS2 "$io/stderr"
	for line in 1 2; do
		stty -F "/dev/ttyS$line" 115200 raw -echo
	done
	cp "$io/guest-append" /run/kvmprof-lab/guest-append
}

# All modules are loaded, and there is no folder of them.
mount_modules() {
	intel_prepare
}

# Bochs needs neither.
hold() {
	:
}

feel_pulse() {
	:
}

power_off() {
	sync
	echo o >/proc/sysrq-trigger
	sleep 60
}
