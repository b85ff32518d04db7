#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The ORC tables of real kernels, read twice.
exec python3 "$SRC/tests/golden/orc-vmlinux.py"
