#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The types of real kernels, read twice.
exec python3 "$SRC/tests/golden/btf-vmlinux.py"
