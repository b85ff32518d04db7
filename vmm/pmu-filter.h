/* SPDX-License-Identifier: GPL-2.0-only */
/* Which events the guest may count, as written on the command line. */
#ifndef VMM_PMU_FILTER_H
#define VMM_PMU_FILTER_H

#include <stdint.h>

#include "vpmu/vpmu.h"

/* Do not copy: @filter points into it. */
struct pmu_filter {
	struct vpmu_filter filter;
	uint64_t events[VPMU_FILTER_MAX];
};

/*
 * "deny:" or "allow:", then events with commas between: a number, which has event and unit mask
 * where an event select has them, or "fixed" and the number of a fixed counter, below 32. -EINVAL:
 * it is not that; -E2BIG: more events than VPMU_FILTER_MAX.
 */
int pmu_filter_parse(const char *text, struct pmu_filter *ret);

#endif
