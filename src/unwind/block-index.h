/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding an offset among ascending ones: a coarse index by blocks of addresses narrows the
 * binary search to the few that begin in one block.
 */
#ifndef UNWIND_BLOCK_INDEX_H
#define UNWIND_BLOCK_INDEX_H

#include "base/types.h"

/* Of the offsets that cover any of block b, block[b] is the first and block[b + 1] the last. */
struct block_index {
	u32 *block;	/* owned, nr_blocks + 1 */
	u32 nr_blocks;
	u8 shift;	/* a block is 1 << shift bytes */
};

/* Of @nr ascending offsets, at least one. Not more blocks than offsets. 0 or -ENOMEM. */
int block_index_init(struct block_index *index, const u32 *offset, u32 nr);
void block_index_deinit(struct block_index *index);

/*
 * The last of the same offsets that is at or below @target, which is not below the first. Of equal
 * ones the last.
 */
u32 block_index_find(const struct block_index *index, const u32 *offset, u32 nr, u64 target);

#endif
