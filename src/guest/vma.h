/* SPDX-License-Identifier: GPL-2.0-only */
/* The struct vm_area_struct of an address space, in the order of their addresses. */
#ifndef GUEST_VMA_H
#define GUEST_VMA_H

#include "guest/kread.h"

#define VMA_MAX 65536

/*
 * Called for each with its address and the range that its tree has it for; a list has none: @last
 * is 0. A result that is not 0 ends the walk and is returned.
 */
typedef int vma_fn(void *ctx, u64 vma, u64 first, u64 last);

/*
 * Walks the mappings of @mm, a struct mm_struct of which .mm_bytes were read: the maple tree from
 * 6.1 on, the list before. -EBADMSG: it makes no sense, which also happens when it is changed at
 * this moment; -E2BIG: more than VMA_MAX.
 */
int vma_for_each(struct kread *k, const struct user_layout *layout, const struct kobject *mm,
		 vma_fn *fn, void *ctx);

/* The bytes of the tree's top node, which change with most changes below it. -ENOENT: no node. */
#define VMA_NODE_BYTES 256
int vma_read_root(struct kread *k, const struct user_layout *layout, const struct kobject *mm,
		  u8 ret[VMA_NODE_BYTES]);

#endif
