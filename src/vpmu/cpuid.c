/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUID: what is there is told, and what is not is taken out of what the host may have said. */
#include <string.h>

#include "vpmu/vpmu-private.h"

enum { EAX, EBX, ECX, EDX };

#define DTES64 (1U << 2)		/* 1.ecx */
#define DS_CPL (1U << 4)
#define PDCM (1U << 15)
#define DS (1U << 21)			/* 1.edx */
#define PT (1U << 25)			/* 7.0.ebx */
#define ARCH_LBR (1U << 19)		/* 7.0.edx */
#define PERFMON_EXT (1U << 8)		/* 7.1.eax: leaf 23H */
#define IBS (1U << 10)			/* 8000_0001.ecx */
#define PERFCTR_CORE (1U << 23)
#define PERFCTR_NB (1U << 24)
#define PERF_TSC (1U << 27)
#define PERFCTR_LLC (1U << 28)
#define ANY_DEPRECATED (1U << 15)	/* 0AH.edx */
#define PERFMON_V2 (1U << 0)		/* 8000_0022.eax */
#define LBR_PMC_FREEZE (1U << 2)

static bool set(uint32_t regs[4], uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
	uint32_t now[4] = { eax, ebx, ecx, edx };
	bool changed = memcmp(regs, now, sizeof(now));

	memcpy(regs, now, sizeof(now));
	return changed;
}

static bool clear(uint32_t regs[4], unsigned int reg, uint32_t bits)
{
	bool changed = regs[reg] & bits;

	regs[reg] &= ~bits;
	return changed;
}

static bool set_features(uint32_t regs[4], bool pdcm)
{
	return set(regs, regs[EAX], regs[EBX],
		   (regs[ECX] & ~(DTES64 | DS_CPL | PDCM)) | (pdcm ? PDCM : 0), regs[EDX] & ~DS);
}

/*
 * The length of EBX's vector: up to the last event that is there, at least the seven of version
 * 1.
 */
static unsigned int nr_events(unsigned int available)
{
	unsigned int nr = available ? 32 - (unsigned int)__builtin_clz(available) : 0;

	return MAX(nr, 7U);
}

static bool set_perfmon(const struct vpmu_geometry *geometry, uint32_t regs[4])
{
	bool v5 = geometry->model == VPMU_INTEL_V5;
	unsigned int fixed = geometry->fixed_mask, events = nr_events(geometry->arch_events);
	/* Those without a gap from 0 on; in version 5 the bitmap has the others. */
	unsigned int contiguous = (unsigned int)__builtin_ctz(~fixed);

	return set(regs, geometry->model | geometry->nr_gp << 8 | geometry->gp_width << 16 |
		   events << 24, ~geometry->arch_events & ((1U << events) - 1), v5 ? fixed : 0,
		   contiguous | (fixed ? geometry->fixed_width << 5 : 0) |
		   (v5 ? ANY_DEPRECATED : 0));
}

/* What no model has, whoever made the host's processor. */
static bool take_out(uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
	switch (leaf) {
	case 7:
		if (subleaf == 1)
			return clear(regs, EAX, PERFMON_EXT);
		return !subleaf && (clear(regs, EBX, PT) | clear(regs, EDX, ARCH_LBR));
	case 0x14:	/* PT */
	case 0x1c:	/* LBR */
	case 0x23:	/* what follows 0AH */
	case 0x8000001b:	/* IBS */
		return set(regs, 0, 0, 0, 0);
	}
	return false;
}

static bool set_core(uint32_t regs[4], bool core)
{
	uint32_t ecx = regs[ECX] & ~(IBS | PERFCTR_CORE | PERFCTR_NB | PERF_TSC | PERFCTR_LLC);

	return set(regs, regs[EAX], regs[EBX], ecx | (core ? PERFCTR_CORE : 0), regs[EDX]);
}

bool cpuid_intel(const struct vpmu_geometry *geometry, uint32_t leaf, uint32_t subleaf,
		 uint32_t regs[4])
{
	switch (leaf) {
	case 1:
		return set_features(regs, geometry->flags & VPMU_FULL_WIDTH);
	case 0xa:
		return set_perfmon(geometry, regs);
	case 0x80000001:
		return set_core(regs, false);
	case 0x80000022:
		return set(regs, 0, 0, 0, 0);
	}
	return take_out(leaf, subleaf, regs);
}

bool cpuid_amd(const struct vpmu_geometry *geometry, uint32_t leaf, uint32_t subleaf,
	       uint32_t regs[4])
{
	bool v2 = geometry->model == VPMU_AMD_V2;

	switch (leaf) {
	case 1:
		return set_features(regs, false);
	case 0xa:
		return set(regs, 0, 0, 0, 0);
	case 0x80000001:
		return set_core(regs, geometry->model != VPMU_AMD_K7);
	case 0x80000022:
		return set(regs, !v2 ? 0 : PERFMON_V2 |
			   (geometry->flags & VPMU_DEBUGCTL ? LBR_PMC_FREEZE : 0),
			   v2 ? geometry->nr_gp : 0, 0, 0);
	}
	return take_out(leaf, subleaf, regs);
}
