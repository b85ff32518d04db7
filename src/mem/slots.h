/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory slots: which host virtual range backs which guest physical range. Shared with BPF. */
#ifndef MEM_SLOTS_H
#define MEM_SLOTS_H

#include "base/addr.h"

#define MEM_MAX_SLOTS 512	/* of one VM that are kept; q35 has about 10, hotplug adds some */

struct mem_slot {
	u64 gpa;	/* first byte, page aligned */
	u64 size;	/* bytes */
	u64 hva;	/* of the first byte, in the VMM */
	u64 flags;	/* KVM_MEM_*; KVM_MEM_GUEST_MEMFD slots cannot be read */
};

/* Sorted by gpa, not overlapping. */
struct mem_slots {
	u64 generation;	/* KVM's generation that the table was read at */
	u32 nr;
	u32 cut;	/* slots that did not fit */
	struct mem_slot slots[MEM_MAX_SLOTS];
};

#endif
