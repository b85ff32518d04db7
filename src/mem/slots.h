/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory slots: which host virtual range backs which guest physical range. Shared with BPF. */
#ifndef MEM_SLOTS_H
#define MEM_SLOTS_H

#include "base/addr.h"

/* KVM sets this bit of a set's generation while it changes it; .generation is without it. */
#define MEM_SLOTS_UPDATING (1ULL << 63)

/* Of .flags, by KVM's numbers; the second is newer than some installed headers. */
#define MEM_SLOT_READONLY (1U << 1)	/* KVM_MEM_READONLY: ROM, flash */
#define MEM_SLOT_GUEST_MEMFD (1U << 2)	/* KVM_MEM_GUEST_MEMFD, 6.8: the host may not read it */

#define MEM_MAX_SLOTS 512	/* of one VM that are kept; q35 has about 10, hotplug adds some */

struct mem_slot {
	u64 gpa;	/* first byte, page aligned */
	u64 size;	/* bytes */
	u64 hva;	/* of the first byte, in the VMM */
	u64 flags;	/* MEM_SLOT_* */
};

/* Sorted by gpa, not overlapping. */
struct mem_slots {
	u64 generation;	/* KVM's generation that the table was read at */
	u32 nr;
	u32 cut;	/* slots that did not fit */
	struct mem_slot slots[MEM_MAX_SLOTS];
};

#endif
