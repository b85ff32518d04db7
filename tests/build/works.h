/* SPDX-License-Identifier: GPL-2.0-only */
/* What works on the host that a test runs on, and for its skip why it does not. */
#ifndef TESTS_BUILD_WORKS_H
#define TESTS_BUILD_WORKS_H

#include "base/types.h"

/*
 * Whether a check of `kvmprof selfcheck` works: one of bpf.*, perf.* or process.*. If not, what it
 * says is printed.
 */
bool works(const char *check);

#endif
