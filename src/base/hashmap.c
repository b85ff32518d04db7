/* SPDX-License-Identifier: GPL-2.0-only */
/* A hash map from u64 to u64. */
#include "base/hashmap.h"

#include <string.h>
#include <sys/random.h>

#define MIN_SLOTS 64

u64 hash_bytes_seeded(u64 seed, const void *data, size_t size)
{
	const u8 *p = data;
	u64 hash = seed + size * 0x9e3779b97f4a7c15ULL, word;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&word, p, 8);
		hash = hash_combine(hash, word);
	}
	word = 0;
	if (size)
		memcpy(&word, p, size);
	return hash_combine(hash, word);
}

u64 hash_bytes(const void *data, size_t size)
{
	return hash_bytes_seeded(0, data, size);
}

u64 hash_new_seed(void)
{
	static const int place;
	u64 seed;

	/* Without random bytes, early at boot, where this program was loaded has to do. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = hash_u64((uintptr_t)&place);
	return seed;
}

void hashmap_deinit(struct hashmap *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map->used);
	*map = HASHMAP_INIT;
}

void hashmap_clear(struct hashmap *map)
{
	if (map->used)
		memset(map->used, 0, map->mask + 1);
	map->nr = 0;
}

/* The slot of @key, or the free slot where it belongs. Needs a free slot. */
static size_t find_slot(const struct hashmap *map, u64 key)
{
	size_t i = hash_u64(key) & map->mask;

	while (map->used[i] && map->slots[i].key != key)
		i = (i + 1) & map->mask;
	return i;
}

u64 *hashmap_get(const struct hashmap *map, u64 key)
{
	size_t i;

	if (!map->slots)
		return NULL;
	i = find_slot(map, key);
	return map->used[i] ? &map->slots[i].value : NULL;
}

static int grow(struct hashmap *map)
{
	size_t old = map->slots ? map->mask + 1 : 0, size = old ? old * 2 : MIN_SLOTS, i, to;
	struct hashmap bigger = { .nr = map->nr, .mask = size - 1 };

	bigger.slots = malloc(size * sizeof(*bigger.slots));
	bigger.used = calloc(size, 1);
	if (!bigger.slots || !bigger.used) {
		hashmap_deinit(&bigger);
		return -ENOMEM;
	}
	for (i = 0; i < old; i++) {
		if (!map->used[i])
			continue;
		to = find_slot(&bigger, map->slots[i].key);
		bigger.slots[to] = map->slots[i];
		bigger.used[to] = 1;
	}
	hashmap_deinit(map);
	*map = bigger;
	return 0;
}

u64 *hashmap_put(struct hashmap *map, u64 key, bool *ret_new)
{
	bool is_new;
	size_t i;

	/* At most 70 % full, so that probes stay short and a free slot exists. */
	if ((!map->slots || (map->nr + 1) * 10 > (map->mask + 1) * 7) && grow(map))
		return NULL;
	i = find_slot(map, key);
	is_new = !map->used[i];
	if (is_new) {
		map->used[i] = 1;
		map->slots[i] = (struct hashmap_slot){ .key = key };
		map->nr++;
	}
	if (ret_new)
		*ret_new = is_new;
	return &map->slots[i].value;
}
