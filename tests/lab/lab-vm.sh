#!/bin/sh
# lab: host=6.1,6.12 timeout=300 slow
# SPDX-License-Identifier: GPL-2.0-only
# What kvmprof sees of KVM's guests from outside, against what QEMU says of itself.
exec python3 "$SRC/tests/lab/vm.py"
