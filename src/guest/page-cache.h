/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of one file that the guest's kernel has in memory. */
#ifndef GUEST_PAGE_CACHE_H
#define GUEST_PAGE_CACHE_H

#include "guest/kread.h"

struct page_cache {
	struct kread *k;
	const struct user_layout *layout;
	u64 vmemmap;		/* address of the struct page of physical page 0 */
	u64 mapping;		/* the file's struct address_space */
	u32 page;		/* bytes of one: the guest's own */
};

/* Called with the place of the page in the file and its .page bytes. Not 0 ends the walk. */
typedef int page_fn(void *ctx, u64 offset, const u8 *bytes);

/*
 * Calls @fn for those of the file's pages number @first to @last that are there, complete and still
 * the file's after they were read, in ascending order. Others are left out: never cached, swapped
 * out, being read in, or in motion. -E2BIG when @cache->k allows no more reads, or an error of the
 * memory's source.
 */
int page_cache_for_each(const struct page_cache *cache, u64 first, u64 last, page_fn *fn,
			void *ctx);

/*
 * Whether the page at the physical address @gpa is the file's, and not a process's own copy or
 * another's by now. False too when there is no struct page for it.
 */
bool page_cache_owns(const struct page_cache *cache, u64 gpa);

#endif
