#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# BPF programs have 512 bytes of stack, and Linux 6.1 counts them more strictly than this machine's kernel.
set -u
. "$SRC/tests/lib/tap.sh"

for object in capture host stat; do
	python3 "$SRC/tests/lib/bpfstack.py" "$BUILD/src/bpf/$object.bpf.o" >"$TMPDIR/depths"
	same "$object: stacks are found" 0 $?
	check "$object: there are some" test -s "$TMPDIR/depths"
	read -r bytes chain <"$TMPDIR/depths"
	check "$object: the deepest fits: $bytes, $chain" test "$bytes" -le 512
done
tap_done
