/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * As Linux 6.18 has it: arch/x86/kvm/pmu.c, check_pmu_event_filter() and what it calls. An event
 * matches when an entry includes it and none excludes it; of an event only its select and unit
 * mask are looked at.
 */
#include "vpmu/filter.h"

#include "vpmu/events.h"

static bool masked_valid(uint64_t entry, enum vpmu_vendor vendor)
{
	return !(entry & ~(select_event_mask(vendor) | SELECT_UMASK | FILTER_EXCLUDE |
			   0xffULL << FILTER_MASK_SHIFT));
}

/* Plain entries with other bits can match nothing; KVM takes and forgets them. */
static void add_plain(struct event_filter *filter, uint64_t entry, enum vpmu_vendor vendor)
{
	if (!(entry & ~(select_event_mask(vendor) | SELECT_UMASK)))
		filter->entries[filter->nr++] = entry | 0xffULL << FILTER_MASK_SHIFT;
}

static int check(enum vpmu_vendor vendor, const struct vpmu_filter *from)
{
	if (from->action > VPMU_FILTER_DENY || (from->flags & ~VPMU_FILTER_MASKED))
		return -EINVAL;
	if (from->nr > VPMU_FILTER_MAX)
		return -E2BIG;
	if (from->nr && !from->events)
		return -EINVAL;
	for (uint32_t i = 0; (from->flags & VPMU_FILTER_MASKED) && i < from->nr; i++)
		if (!masked_valid(from->events[i], vendor))
			return -EINVAL;
	return 0;
}

int event_filter_init(enum vpmu_vendor vendor, const struct vpmu_filter *from,
		      struct event_filter *ret)
{
	int err = from ? check(vendor, from) : 0;

	if (err)
		return err;
	ret->set = from;
	ret->nr = 0;
	if (!from)
		return 0;
	ret->deny = from->action == VPMU_FILTER_DENY;
	ret->fixed_bitmap = from->fixed_bitmap;
	for (uint32_t i = 0; i < from->nr; i++) {
		if (from->flags & VPMU_FILTER_MASKED)
			ret->entries[ret->nr++] = from->events[i];
		else
			add_plain(ret, from->events[i], vendor);
	}
	return 0;
}

static bool matches(uint64_t entry, uint64_t select, uint64_t event_mask)
{
	uint64_t mask = entry >> FILTER_MASK_SHIFT << 8;

	return !((entry ^ select) & event_mask) && (select & mask) == (entry & SELECT_UMASK);
}

bool event_filter_select(const struct event_filter *filter, enum vpmu_vendor vendor,
			 uint64_t select)
{
	bool included = false, excluded = false;

	if (!filter->set)
		return true;
	for (uint32_t i = 0; i < filter->nr; i++) {
		if (!matches(filter->entries[i], select, select_event_mask(vendor)))
			continue;
		if (filter->entries[i] & FILTER_EXCLUDE)
			excluded = true;
		else
			included = true;
	}
	return (included && !excluded) != filter->deny;
}

bool event_filter_fixed(const struct event_filter *filter, unsigned int index)
{
	bool named = index < 32 && (filter->fixed_bitmap >> index & 1);

	return !filter->set || named != filter->deny;
}
