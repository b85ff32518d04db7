/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading many small structures of one address space: translations are kept for the time of one
 * visit, and the number of reads is limited, whatever the structures say.
 */
#ifndef GUEST_KREAD_H
#define GUEST_KREAD_H

#include <string.h>

#include "guest/layout.h"
#include "mmu/translate.h"

#define KREAD_PAGES 4

struct kread {
	const struct mem_reader *mem;
	struct mmu_space space;
	u64 left;		/* reads that are still allowed */
	unsigned int next;	/* the place that the next translation goes to */
	struct {
		u64 start, size;	/* of the page; size 0: none */
		u64 gpa;
	} pages[KREAD_PAGES];
};

void kread_init(struct kread *k, const struct mem_reader *mem, const struct mmu_space *space,
		u64 max_reads);

/* -EFAULT when not all of it is there, -E2BIG when no more reads are allowed, or @mem's error. */
int kread(struct kread *k, u64 address, void *out, size_t size);
int kread_u64(struct kread *k, u64 address, u64 *ret);

/* The same at a physical address. */
int kread_physical(struct kread *k, u64 gpa, void *out, size_t size);

/* A struct that was read, or its first part. */
struct kobject {
	u64 address;
	u8 bytes[LAYOUT_STRUCT_MAX];
};

/* @size is one of struct user_layout's .foo_bytes; -EOPNOTSUPP when it is 0. */
int kobject_read(struct kread *k, u64 address, u32 size, struct kobject *ret);

/* A member; 0 when the kernel has none like it. */
static inline u64 kobject_u64(const struct kobject *object, u32 offset)
{
	u64 value = 0;

	if (offset != LAYOUT_NONE)
		memcpy(&value, object->bytes + offset, sizeof(value));
	return value;
}

static inline u32 kobject_u32(const struct kobject *object, u32 offset)
{
	u32 value = 0;

	if (offset != LAYOUT_NONE)
		memcpy(&value, object->bytes + offset, sizeof(value));
	return value;
}

#endif
