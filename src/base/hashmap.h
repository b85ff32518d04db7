/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash map from u64 to u64 (an index, a pointer, a count), open addressing, no deletion of
 * single keys. For composite keys hash them with hash_u64()/hash_bytes() and compare in the values.
 */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

#include "base/types.h"

struct hashmap_slot {
	u64 key;
	u64 value;
};

struct hashmap {
	struct hashmap_slot *slots;
	u8 *used;	/* one byte a slot */
	size_t nr;
	size_t mask;	/* slots - 1; 0 when nothing is allocated */
};

#define HASHMAP_INIT ((struct hashmap){ 0 })

/* The finaliser of MurmurHash3: every input bit reaches every output bit. */
static inline u64 hash_u64(u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x;
}

static inline u64 hash_combine(u64 a, u64 b)
{
	return hash_u64(a * 0x9e3779b97f4a7c15ULL + b);
}

u64 hash_bytes(const void *data, size_t size);

/*
 * The same with a seed that who chose the data does not know: for keys that a guest chooses, so
 * that it cannot choose them to collide.
 */
u64 hash_bytes_seeded(u64 seed, const void *data, size_t size);
u64 hash_new_seed(void);

void hashmap_deinit(struct hashmap *map);
void hashmap_clear(struct hashmap *map);

/* The place of @key's value, or NULL. Valid until the next insertion. */
u64 *hashmap_get(const struct hashmap *map, u64 key);

/*
 * The place of @key's value, inserted as 0 when it is new; *@ret_new (may be NULL) says which.
 * NULL when out of memory.
 */
u64 *hashmap_put(struct hashmap *map, u64 key, bool *ret_new);

#endif
