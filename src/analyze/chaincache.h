/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Many samples have the very same chain. This remembers, for a chain as it lies in the file and
 * what else decides its meaning (the tag), a number that its user worked out once. Bounded: what
 * does not fit any more goes all at once, and the user is asked to forget its side too.
 */
#ifndef ANALYZE_CHAINCACHE_H
#define ANALYZE_CHAINCACHE_H

#include "base/types.h"

/* What else tells chains apart: a process and how often its mappings have changed, say. */
struct chain_tag {
	u64 words[3];
};

struct chaincache_slot {
	u64 hash;
	u32 at;		/* of the key in words[]; 0: free */
	u32 value;
};

struct chaincache {
	u64 *words;	/* keys: length, tag, chain; one after the other */
	size_t nr_words;
	size_t max_words;
	size_t alloc_words;
	struct chaincache_slot *slots;
	size_t nr_slots;
	size_t nr;
	u64 seed[2];	/* so that a guest cannot choose chains that collide */
};

/* @max_bytes bounds the keys; the table comes on top of it. */
int chaincache_init(struct chaincache *cache, size_t max_bytes);
void chaincache_deinit(struct chaincache *cache);
void chaincache_clear(struct chaincache *cache);

/* To be kept from find to add. */
u64 chaincache_hash(const struct chaincache *cache, const struct chain_tag *tag, const u64 *ips,
		    size_t nr);

/* The value, or NULL. Valid until the next change. */
const u32 *chaincache_find(const struct chaincache *cache, u64 hash, const struct chain_tag *tag,
			   const u64 *ips, size_t nr);

/*
 * Adds a chain that was not found. -ENOSPC: the cache is full and the chain was not added (it may
 * be after chaincache_clear(), unless it is bigger than the whole cache); -ENOMEM.
 */
int chaincache_add(struct chaincache *cache, u64 hash, const struct chain_tag *tag, const u64 *ips,
		   size_t nr, u32 value);

#endif
