#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Each fuzz target takes its own seeds. `make fuzz` looks for more.
set -u
. "$SRC/tests/lib/tap.sh"

for seeds in "$BUILD"/fuzz/seeds-*; do
	name=${seeds##*/seeds-}
	if ! [ -f "$seeds" ] || ! [ -x "$seeds" ]; then
		continue	# meson's own folders
	fi
	mkdir "$TMPDIR/$name"
	check "$name: seeds are made" "$seeds" "$TMPDIR/$name"
	set -- "$TMPDIR/$name"/*
	check "$name: $# seeds" "$BUILD/fuzz/replay-$name" "$@"
done
tap_done
