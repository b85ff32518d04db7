/* SPDX-License-Identifier: GPL-2.0-only */
/* The arithmetic of one counter: its width, where it overflows, and what an event adds to it. */
#ifndef VPMU_COUNTER_H
#define VPMU_COUNTER_H

#include "base/types.h"
#include "vpmu/vpmu.h"

/* All bits of a counter of @width bits, 1 to 63. */
static inline uint64_t counter_mask(unsigned int width)
{
	return (1ULL << width) - 1;
}

/* How many more events make it overflow: 1 to 2^@width. */
static inline uint64_t counter_left(uint64_t value, unsigned int width)
{
	return counter_mask(width) + 1 - (value & counter_mask(width));
}

/* Counts @n more; returns how often it overflowed on the way. */
uint64_t counter_add(uint64_t *value, unsigned int width, uint64_t n);

/*
 * What a write of @data to a register of 32 bits that stands for the counter leaves in it: bit 31
 * fills those above (SDM, PERFMON registers without full-width writes).
 */
uint64_t counter_extend(uint64_t data, unsigned int width);

/*
 * How much an event that counted @last before and @now now has counted in between, if it had been
 * on a counter all the time that it was enabled; @last moves on. Where it had no time on a counter
 * at all, *@last stays, so that what is told later covers the time until then.
 */
uint64_t count_advance(struct vpmu_count *last, const struct vpmu_count *now);

#endif
