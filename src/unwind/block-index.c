/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding an offset among ascending ones. */
#include "unwind/block-index.h"

#define MIN_SHIFT 8

int block_index_init(struct block_index *index, const u32 *offset, u32 nr)
{
	u32 last = offset[nr - 1], at = 0;

	index->shift = MIN_SHIFT;
	while (last >> index->shift > nr)
		index->shift++;
	index->nr_blocks = (last >> index->shift) + 1;
	index->block = malloc(((size_t)index->nr_blocks + 1) * sizeof(*index->block));
	if (!index->block)
		return -ENOMEM;
	for (u32 b = 0; b < index->nr_blocks; b++) {
		u32 first = b << index->shift;

		while (at + 1 < nr && offset[at + 1] <= first)
			at++;
		index->block[b] = at;
	}
	index->block[index->nr_blocks] = nr - 1;
	return 0;
}

void block_index_deinit(struct block_index *index)
{
	free(index->block);
	index->block = NULL;
}

u32 block_index_find(const struct block_index *index, const u32 *offset, u32 nr, u64 target)
{
	u64 block = target >> index->shift;
	u32 low, high;

	if (block >= index->nr_blocks)
		return nr - 1;
	low = index->block[block];
	high = index->block[block + 1];
	while (low < high) {
		u32 middle = high - (high - low) / 2;

		if (offset[middle] <= target)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
