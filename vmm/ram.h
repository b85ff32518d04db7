/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's memory: one range from 0, in any number of slots, each a mapping of its own. */
#ifndef VMM_RAM_H
#define VMM_RAM_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_MAX_SLOTS 64
#define MEMORY_MAX (3ULL << 30)	/* no hole for devices is made */

enum memory_kind {
	MEMORY_ANON,
	MEMORY_MEMFD,		/* shared, as for vhost-user */
	MEMORY_MEMFD_PRIVATE,
	MEMORY_HUGETLB,		/* a memfd of huge pages */
};

struct memory_slot {
	uint64_t gpa, size;
	uint8_t *hva;
};

struct memory {
	struct memory_slot slots[MEMORY_MAX_SLOTS];
	unsigned int nr;
	uint64_t size;
};

/*
 * Maps @size bytes, a multiple of 2 MiB, in @nr_slots slots with a guard page around each, and
 * gives them to the VM @vm_fd. Negative errno. There is no undoing it but to end.
 */
int memory_create(struct memory *memory, int vm_fd, enum memory_kind kind, uint64_t size,
		  unsigned int nr_slots);

/* Copies @size bytes to guest physical @gpa. -EFAULT when that is not all memory. */
int memory_write(const struct memory *memory, uint64_t gpa, const void *data, size_t size);

/* Copies from there, likewise. */
int memory_read(const struct memory *memory, uint64_t gpa, void *data, size_t size);

#endif
