/* SPDX-License-Identifier: GPL-2.0-only */
#include "vpmu/counter.h"

uint64_t counter_add(uint64_t *value, unsigned int width, uint64_t n)
{
	unsigned __int128 sum = (unsigned __int128)(*value & counter_mask(width)) + n;

	*value = (uint64_t)sum & counter_mask(width);
	return (uint64_t)(sum >> width);
}

uint64_t counter_extend(uint64_t data, unsigned int width)
{
	return (uint64_t)(int64_t)(int32_t)data & counter_mask(width);
}

uint64_t count_advance(struct vpmu_count *last, const struct vpmu_count *now)
{
	uint64_t value = now->value - last->value;
	uint64_t enabled = now->enabled - last->enabled;
	uint64_t running = now->running - last->running;

	if (!running && enabled && !value)
		return 0;
	*last = *now;
	if (!running || running >= enabled)
		return value;
	return (uint64_t)((unsigned __int128)value * enabled / running);
}
