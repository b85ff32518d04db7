/* SPDX-License-Identifier: GPL-2.0-only */
#include "vpmu/events.h"

#include <linux/perf_event.h>

#define NONE UINT16_MAX

/*
 * Intel SDM vol. 3, "Pre-defined Architectural Performance Events"; the last is perf's number for
 * what fixed counter 2 counts. AMD: PMCx076, PMCx0C0, PMCx0C2, PMCx0C3 of each family's PPR. AMD
 * has no core event that means the same as the others.
 */
static const struct {
	uint16_t intel, amd;
} codes[VPMU_NR_ARCH_EVENTS] = {
	[VPMU_EVENT_CYCLES] = { 0x003c, 0x0076 },
	[VPMU_EVENT_INSTRUCTIONS] = { 0x00c0, 0x00c0 },
	[VPMU_EVENT_REF_CYCLES] = { 0x013c, NONE },
	[VPMU_EVENT_LLC_REFERENCES] = { 0x4f2e, NONE },
	[VPMU_EVENT_LLC_MISSES] = { 0x412e, NONE },
	[VPMU_EVENT_BRANCHES] = { 0x00c4, 0x00c2 },
	[VPMU_EVENT_BRANCH_MISSES] = { 0x00c5, 0x00c3 },
	[VPMU_EVENT_SLOTS] = { 0x01a4, NONE },
	[VPMU_EVENT_REF_TSC] = { 0x0300, NONE },
};

/* perf's number for fixed counter 3: arch/x86/events/intel/core.c, event constraints. */
#define PERF_FIXED_SLOTS 0x0400

static const enum vpmu_arch_event fixed_events[] = {
	VPMU_EVENT_INSTRUCTIONS, VPMU_EVENT_CYCLES, VPMU_EVENT_REF_TSC, VPMU_EVENT_SLOTS,
};

uint64_t select_event_mask(enum vpmu_vendor vendor)
{
	return vendor == VPMU_AMD ? SELECT_EVENT | SELECT_EVENT_AMD : SELECT_EVENT;
}

static uint16_t code(enum vpmu_vendor vendor, unsigned int event)
{
	return vendor == VPMU_AMD ? codes[event].amd : codes[event].intel;
}

/* REF_TSC has no number of its own on any processor. */
static enum vpmu_arch_event meaning(enum vpmu_vendor vendor, uint64_t raw, unsigned int available)
{
	for (unsigned int i = 0; i < VPMU_EVENT_REF_TSC; i++) {
		bool there = vendor == VPMU_AMD || (available & 1U << i);

		if (there && code(vendor, i) != NONE && code(vendor, i) == raw)
			return i;
	}
	return VPMU_EVENT_RAW;
}

void event_from_select(enum vpmu_vendor vendor, uint64_t select, unsigned int available,
		       unsigned int slot, struct vpmu_event *ret)
{
	uint64_t kept = select_event_mask(vendor) | SELECT_UMASK | SELECT_EDGE | SELECT_INVERT |
			SELECT_CMASK | (vendor == VPMU_INTEL ? SELECT_ANY : 0);

	*ret = (struct vpmu_event){
		.vendor = vendor,
		.arch = meaning(vendor, select & kept, available),
		.raw = select & kept,
		.user = select & SELECT_USER,
		.kernel = select & SELECT_KERNEL,
		.slot = slot,
	};
}

/* Bit 2 is AnyThread: what the other thread does is not this guest's to know. */
void event_from_fixed(unsigned int index, unsigned int control, struct vpmu_event *ret)
{
	bool known = index < ARRAY_SIZE(fixed_events) && !(control & 4);

	*ret = (struct vpmu_event){
		.vendor = VPMU_INTEL,
		.arch = known ? fixed_events[index] : VPMU_EVENT_RAW,
		.fixed = true,
		.user = control & 2,
		.kernel = control & 1,
		.slot = VPMU_FIXED_SLOT + index,
	};
}

void vpmu_geometry_keep(struct vpmu_geometry *geometry, unsigned int events)
{
	geometry->arch_events &= events;
	if (geometry->model != VPMU_INTEL_V5)
		return;
	for (unsigned int i = 0; i < VPMU_MAX_FIXED; i++)
		if (i >= ARRAY_SIZE(fixed_events) || !(events & 1U << fixed_events[i]))
			geometry->fixed_mask &= ~(1U << i);
}

bool event_equal(const struct vpmu_event *a, const struct vpmu_event *b)
{
	return a->vendor == b->vendor && a->arch == b->arch && a->raw == b->raw &&
	       a->fixed == b->fixed && a->user == b->user && a->kernel == b->kernel &&
	       a->slot == b->slot;
}

/*
 * What the kernel calls by one name on all processors. Its cache events are not the last level's
 * everywhere (arm64: the first's), its reference cycles are x86's only.
 */
static int generic_event(const struct vpmu_event *event, struct perf_number *ret)
{
	static const int generic[VPMU_EVENT_RAW + 1] = {
		[VPMU_EVENT_CYCLES] = 1 + PERF_COUNT_HW_CPU_CYCLES,
		[VPMU_EVENT_INSTRUCTIONS] = 1 + PERF_COUNT_HW_INSTRUCTIONS,
		[VPMU_EVENT_BRANCHES] = 1 + PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		[VPMU_EVENT_BRANCH_MISSES] = 1 + PERF_COUNT_HW_BRANCH_MISSES,
	};
	int number = generic[event->arch];

	if (!number)
		return -EOPNOTSUPP;
	*ret = (struct perf_number){ PERF_TYPE_HARDWARE, (uint64_t)number - 1 };
	return 0;
}

int event_to_perf(const struct vpmu_event *event, enum host_vendor host, bool raw,
		  struct perf_number *ret)
{
	uint64_t config = event->raw;

	if (host == HOST_OTHER)
		return generic_event(event, ret);
	if (event->arch != VPMU_EVENT_RAW) {
		config = code((enum vpmu_vendor)host, event->arch);
		if (config == NONE)
			return -EOPNOTSUPP;
		if (event->fixed && event->arch == VPMU_EVENT_SLOTS)
			config = PERF_FIXED_SLOTS;
	} else if (!raw || event->fixed || (unsigned int)event->vendor != (unsigned int)host ||
		   (event->raw & SELECT_ANY)) {
		/* AnyThread counts what the core's other thread does, which may be no guest's. */
		return -EOPNOTSUPP;
	}
	*ret = (struct perf_number){ PERF_TYPE_RAW, config };
	return 0;
}
