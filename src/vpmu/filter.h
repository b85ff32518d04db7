/* SPDX-License-Identifier: GPL-2.0-only */
/* The event filter, with the semantics of KVM_SET_PMU_EVENT_FILTER. */
#ifndef VPMU_FILTER_H
#define VPMU_FILTER_H

#include "base/types.h"
#include "vpmu/vpmu.h"

/* Of a masked entry; the rest of its bits are an event select register's. */
#define FILTER_EXCLUDE (1ULL << 55)
#define FILTER_MASK_SHIFT 56

struct event_filter {
	bool set;		/* else all is allowed */
	bool deny;		/* the entries are what is denied */
	uint32_t fixed_bitmap;
	uint32_t nr;
	uint64_t entries[VPMU_FILTER_MAX];	/* all masked entries */
};

/*
 * -EINVAL and -E2BIG as vpmu_vm_set_filter(); *ret is untouched then. @from NULL: all is allowed.
 */
int event_filter_init(enum vpmu_vendor vendor, const struct vpmu_filter *from,
		      struct event_filter *ret);

/* May a general counter count what @select says? */
bool event_filter_select(const struct event_filter *filter, enum vpmu_vendor vendor,
			 uint64_t select);

/* May fixed counter @index count? The entries say nothing on that. */
bool event_filter_fixed(const struct event_filter *filter, unsigned int index);

#endif
