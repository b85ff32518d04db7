/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers of a vPMU as its tests read and write them. In a header, as the builders are for fuzz
 * targets, too, which do without cmocka.
 */
#ifndef VPMU_ACCESS_H
#define VPMU_ACCESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "build-vpmu.h"

#define BIT(n) (1ULL << (n))

/* Of a register that is there. */
static inline uint64_t rd(struct build_vpmu *b, uint32_t msr)
{
	uint64_t value = 0;

	assert_int_equal(vpmu_rdmsr(b->vpmu, msr, &value), VPMU_OK);
	return value;
}

/* What the register takes. */
static inline void wr(struct build_vpmu *b, uint32_t msr, uint64_t value)
{
	assert_int_equal(vpmu_wrmsr(b->vpmu, msr, value), VPMU_OK);
}

static inline struct vpmu_stats stats(struct build_vpmu *b)
{
	struct vpmu_stats stats;

	vpmu_get_stats(b->vpmu, &stats, sizeof(stats));
	return stats;
}

#endif
