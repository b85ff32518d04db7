/* SPDX-License-Identifier: GPL-2.0-only */
/* What the modules of the library share. */
#ifndef VPMU_VPMU_PRIVATE_H
#define VPMU_VPMU_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/types.h"
#include "vpmu/events.h"
#include "vpmu/filter.h"
#include "vpmu/vpmu.h"

#define BIT(n) (1ULL << (n))

/* The first registers of either vendor, which each has to keep from KVM in guests of the other. */
#define MSR_PMC 0xc1		/* IA32_PMCx */
#define MSR_SELECT 0x186	/* IA32_PERFEVTSELx */
#define MSR_K7_SELECT 0xc0010000	/* four, then four counters */
#define NR_K7 4

/* IA32_DEBUGCTL and AMD's DebugCtl. */
#define MSR_DEBUGCTL 0x1d9
#define DEBUGCTL_FREEZE BIT(12)

/* Of the global status registers, Intel's and AMD's. */
#define STATUS_FROZEN BIT(59)
#define STATUS_BUFFER BIT(62)	/* Intel: of PEBS, always 0 */
#define STATUS_CHANGED BIT(63)	/* Intel: CondChgd */

#define FOR_EACH_SLOT(n, set) \
	for (uint64_t set_ = (set), n; set_ && (n = (uint64_t)__builtin_ctzll(set_), 1); \
	     set_ &= set_ - 1)

/* Bits that a register can hold. */
struct register_bits {
	uint64_t select, fixed_control, global_control, global_status;
};

/* What tells one vendor's registers from the other's. */
struct model_ops {
	enum vpmu_vendor vendor;
	enum vpmu_access (*read)(const struct vpmu *vpmu, uint32_t msr, uint64_t *ret);
	enum vpmu_access (*write)(struct vpmu *vpmu, uint32_t msr, uint64_t value);
	/* The counter that RDPMC means by @ecx; negative: none. */
	int (*rdpmc)(const struct vpmu_vm *vm, uint32_t ecx);
	/* Is the counter on, by its own control register? What it counts then. */
	bool (*describe)(const struct vpmu *vpmu, unsigned int slot, struct vpmu_event *ret);
	/* Does its overflow make an interrupt? */
	bool (*interrupts)(const struct vpmu *vpmu, unsigned int slot);
	/* An interrupt came and FREEZE_PERFMON_ON_PMI is set. */
	void (*freeze)(struct vpmu *vpmu);
	void (*bits)(const struct vpmu_vm *vm, struct register_bits *ret);
	/* -EINVAL: no processor is made so. */
	int (*check)(const struct vpmu_geometry *geometry);
	bool (*cpuid)(const struct vpmu_geometry *geometry, uint32_t leaf, uint32_t subleaf,
		      uint32_t regs[4]);
	/* How many there are. */
	unsigned int (*msrs)(const struct vpmu_geometry *geometry,
			     struct vpmu_msr_range ranges[VPMU_MAX_RANGES]);
};

extern const struct model_ops model_intel, model_amd;

/* Stores those of the @nr ranges that are not empty; how many. */
static inline unsigned int keep_ranges(const struct vpmu_msr_range *all, unsigned int nr,
				       struct vpmu_msr_range *ranges)
{
	unsigned int nr_kept = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (all[i].nr)
			ranges[nr_kept++] = all[i];
	return nr_kept;
}

/* CPUID's part of the models: cpuid.c. */
bool cpuid_intel(const struct vpmu_geometry *geometry, uint32_t leaf, uint32_t subleaf,
		 uint32_t regs[4]);
bool cpuid_amd(const struct vpmu_geometry *geometry, uint32_t leaf, uint32_t subleaf,
	       uint32_t regs[4]);

struct vpmu_vm {
	struct vpmu_vm_options options;
	const struct model_ops *model;
	uint64_t slots;			/* the counters that exist */
	_Atomic unsigned int open_events;
	_Atomic unsigned int policy;
	_Atomic unsigned int filter_age;	/* how often the filter has been set */
	pthread_mutex_t lock;		/* of the filter */
	struct event_filter filter;
};

enum slot_state {
	SLOT_CLOSED,
	SLOT_PAUSED,
	SLOT_RUNNING,
};

/* What has been made of an active counter, to tell of it once. */
enum slot_verdict {
	SLOT_IDLE,
	SLOT_COUNTS,
	SLOT_DENIED,
	SLOT_REFUSED,
	SLOT_MISSING,	/* VPMU_POLICY_FAIL */
	SLOT_STILL,	/* evicted: until something about it changes */
};

struct slot {
	uint64_t value;			/* outside guest mode: what the guest reads */
	uint64_t select;		/* general counters: the event select register */
	struct vpmu_event event;	/* that the host's event is for, or would be */
	struct vpmu_count last;		/* what is in @value already */
	enum slot_state state;
	enum slot_verdict verdict;
	bool pinned;
	bool rearm;			/* @value is not where the host's event thinks it is */
};

struct vpmu {
	struct vpmu_vm *vm;
	void *backend;			/* the backend's part */
	unsigned int id;
	unsigned int filter_age;	/* of @filter */
	bool entered;
	bool pmi;			/* an interrupt is pending */
	uint64_t fixed_control;		/* Intel */
	uint64_t global_control, global_status;
	uint64_t debugctl;
	uint64_t touched;		/* counters that entry has to look at */
	uint64_t running;		/* those in SLOT_RUNNING */
	uint64_t turns;			/* those whose event, running or paused, is not pinned */
	uint64_t overflowed;		/* not yet told by vpmu_exit() */
	struct vpmu_entry entry;	/* what the last entry said, kept up to date */
	struct slot slots[VPMU_SLOTS];
	struct event_filter filter;
	struct vpmu_stats stats;
};

/* One writer, readers anywhere. */
static inline void stat_add(uint64_t *stat, uint64_t n)
{
	__atomic_store_n(stat, *stat + n, __ATOMIC_RELAXED);
}

static inline unsigned int slot_width(const struct vpmu *vpmu, unsigned int slot)
{
	const struct vpmu_geometry *geometry = &vpmu->vm->options.geometry;

	return slot < VPMU_FIXED_SLOT ? geometry->gp_width : geometry->fixed_width;
}

/* Models before Intel's version 2 and AMD's PerfMonV2 have no global registers. */
static inline bool has_global(const struct vpmu_geometry *geometry)
{
	return geometry->model == VPMU_AMD_V2 ||
	       (geometry->model >= VPMU_INTEL_V2 && geometry->model <= VPMU_INTEL_V5);
}

/* vpmu.c: for the models. */
void vpmu_set_counter(struct vpmu *vpmu, unsigned int slot, uint64_t value);
void vpmu_set_select(struct vpmu *vpmu, unsigned int slot, uint64_t select);
void vpmu_set_global_control(struct vpmu *vpmu, uint64_t value);
void vpmu_set_status(struct vpmu *vpmu, uint64_t value);

/* Is the counter to count now, and what? */
bool vpmu_active(const struct vpmu *vpmu, unsigned int slot, struct vpmu_event *ret);

/* May it, by the filter? */
bool vpmu_allowed(const struct vpmu *vpmu, unsigned int slot);

/* enter.c: adds what the host's event has counted. -EBUSY: it was on no counter. */
int vpmu_sync(struct vpmu *vpmu, unsigned int slot, bool *ret_mapped);

/* enter.c: counts @n more, with what an overflow entails but the freeze. */
void vpmu_count(struct vpmu *vpmu, unsigned int slot, uint64_t n);

/* enter.c: freezes, if an interrupt has come to be pending where none was before. */
void vpmu_freeze(struct vpmu *vpmu, bool was_pending);

/* enter.c: closes the host's event, if there is one. */
void vpmu_close(struct vpmu *vpmu, unsigned int slot);

#endif
