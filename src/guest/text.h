/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest kernel's code, page by page as it is needed. Code is read thousands of times and
 * changes seldom (alternatives, static calls, tracing), so pages are kept until someone doubts
 * them.
 */
#ifndef GUEST_TEXT_H
#define GUEST_TEXT_H

#include "base/hashmap.h"
#include "base/types.h"
#include "base/vec.h"
#include "mem/reader.h"
#include "mmu/translate.h"

#define TEXT_MAX 4096	/* bytes of one read */

struct text {
	const struct mem_reader *mem;
	struct mmu_space space;
	struct hashmap index;	/* page number to place in .pages */
	VEC(u8 *) pages;
};

void text_init(struct text *text, const struct mem_reader *mem, const struct mmu_space *space);
void text_deinit(struct text *text);

/*
 * Copies the up to @size bytes (at most a page) that end at @end. Returns 0 and how many are there
 * up to @end without a gap, which can be none; or an error of the memory other than -EFAULT.
 * @fresh: reads the guest's memory again. Only executable pages count as there.
 */
int text_read_before(struct text *text, u64 end, void *out, size_t size, bool fresh,
		     size_t *ret_read);

#endif
