/* SPDX-License-Identifier: GPL-2.0-only */
/* What the numbers in event select registers mean, and how Linux perf is asked for the same. */
#ifndef VPMU_EVENTS_H
#define VPMU_EVENTS_H

#include "base/types.h"
#include "vpmu/vpmu.h"

/* Bits of an event select register, Intel's and AMD's. */
#define SELECT_EVENT 0xffULL
#define SELECT_UMASK 0xff00ULL
#define SELECT_USER (1ULL << 16)
#define SELECT_KERNEL (1ULL << 17)
#define SELECT_EDGE (1ULL << 18)
#define SELECT_PIN (1ULL << 19)		/* Intel: ignored since P6; AMD: reserved */
#define SELECT_INT (1ULL << 20)
#define SELECT_ANY (1ULL << 21)		/* Intel: the core's other threads, too; AMD: reserved */
#define SELECT_ENABLE (1ULL << 22)
#define SELECT_INVERT (1ULL << 23)
#define SELECT_CMASK (0xffULL << 24)
#define SELECT_EVENT_AMD (0xfULL << 32)	/* AMD: event select, bits 8 to 11 */

/* The bits that choose the event. */
uint64_t select_event_mask(enum vpmu_vendor vendor);

/*
 * What @select counts. @available: which of Intel's architectural events the guest was told of; a
 * number of another one is a raw event. The slot and modes are set, too.
 */
void event_from_select(enum vpmu_vendor vendor, uint64_t select, unsigned int available,
		       unsigned int slot, struct vpmu_event *ret);

/* What Intel's fixed counter @index counts, of whose control register's four bits are @control. */
void event_from_fixed(unsigned int index, unsigned int control, struct vpmu_event *ret);

/* Same thing to count, in the same modes? */
bool event_equal(const struct vpmu_event *a, const struct vpmu_event *b);

/* Whose processor the host has. */
enum host_vendor {
	HOST_INTEL = VPMU_INTEL,
	HOST_AMD = VPMU_AMD,
	HOST_OTHER,	/* its events are known by the kernel's names only */
};

/* An event as perf_event_open() is asked for it. */
struct perf_number {
	uint32_t type;		/* PERF_TYPE_… */
	uint64_t config;
};

/*
 * What counts @event on a processor of @host. @raw: events without a common meaning may be passed
 * on to a processor of the same vendor. -EOPNOTSUPP: there is none.
 */
int event_to_perf(const struct vpmu_event *event, enum host_vendor host, bool raw,
		  struct perf_number *ret);

#endif
