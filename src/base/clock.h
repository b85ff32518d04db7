/* SPDX-License-Identifier: GPL-2.0-only */
/* The monotonic clock: the one that BPF and perf stamp records with. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

#include "base/types.h"

/* CLOCK_MONOTONIC in ns. */
static inline u64 clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline u64 clock_now_ms(void)
{
	return clock_now_ns() / 1000000;
}

#endif
