/* SPDX-License-Identifier: GPL-2.0-only */
/* Deep stacks to unwind: functions of four kinds of frames that call each other by chance. */
#ifndef BENCH_CALLERS_H
#define BENCH_CALLERS_H

#include "base/types.h"

typedef void (*callers_leaf_fn)(void *arg);

/* What all of them know: where the stack begins, how deep it is to get, what is to run there. */
struct callers {
	const char *top;
	size_t bytes;
	callers_leaf_fn leaf;
	void *arg;
};

/* Calls @callers->leaf when the stack has grown by .bytes; @random says on which path. */
u64 callers_call(u64 random, const struct callers *callers);

#endif
