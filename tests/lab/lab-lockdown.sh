#!/bin/sh
# lab: host=6.12 append=lockdown=confidentiality timeout=60
# SPDX-License-Identifier: GPL-2.0-only
# A kernel that is locked down lets nobody read its memory: one line says so.
set -u
. "$SRC/tests/lib/tap.sh"

[ -e /sys/kernel/security/lockdown ] || mount -t securityfs securityfs /sys/kernel/security
contains "the host is locked down" "$(cat /sys/kernel/security/lockdown)" "[confidentiality]"
for command in list "record --duration 1"; do
	# shellcheck disable=SC2086 # words
	status "$command" 1 "$KVMPROF" $command
	contains "$command says why" "$tap_output" "lock"
	same "$command says it in one line" 1 "$(printf '%s\n' "$tap_output" | wc -l)"
done
tap_done
