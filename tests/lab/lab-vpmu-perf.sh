#!/bin/sh
# lab: flavour=arm64-vhe host=6.1 timeout=600 icount
# SPDX-License-Identifier: GPL-2.0-only
# libvpmu's hardware backend on a PMU that counts user mode's instructions exactly: counts, overflow,
# saved state, and what becomes of them when the host has too few counters. The program is the test.
set -u

exec "$BUILD/tests/vpmu-perf"
