#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The flame graph in a real browser.
exec python3 "$SRC/tests/golden/flamegraph.py"
