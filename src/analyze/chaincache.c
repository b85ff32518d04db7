/* SPDX-License-Identifier: GPL-2.0-only */
/* Chains seen before: an open-addressed table over keys in one array. */
#include "analyze/chaincache.h"

#include <string.h>
#include <sys/random.h>

#include "base/hashmap.h"

#define FIRST_SLOTS 1024
#define FIRST_WORDS 8192
#define KEY_HEAD 4	/* length and tag */

int chaincache_init(struct chaincache *cache, size_t max_bytes)
{
	*cache = (struct chaincache){
		.max_words = MIN(max_bytes / sizeof(u64), UINT32_MAX),
	};
	if (getrandom(cache->seed, sizeof(cache->seed), GRND_NONBLOCK) < 0)
		cache->seed[0] = hash_u64((uintptr_t)cache);	/* speed is at stake, no more */
	cache->slots = calloc(FIRST_SLOTS, sizeof(*cache->slots));
	cache->words = malloc(FIRST_WORDS * sizeof(u64));
	if (!cache->slots || !cache->words) {
		chaincache_deinit(cache);
		return -ENOMEM;
	}
	cache->nr_slots = FIRST_SLOTS;
	cache->alloc_words = FIRST_WORDS;
	cache->nr_words = 1;
	return 0;
}

void chaincache_deinit(struct chaincache *cache)
{
	free(cache->slots);
	free(cache->words);
	*cache = (struct chaincache){ 0 };
}

void chaincache_clear(struct chaincache *cache)
{
	memset(cache->slots, 0, cache->nr_slots * sizeof(*cache->slots));
	cache->nr = 0;
	cache->nr_words = 1;
}

/* Both halves of the product: every bit of both factors reaches the result. */
static u64 mix(u64 a, u64 b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (u64)product ^ (u64)(product >> 64);
}

u64 chaincache_hash(const struct chaincache *cache, const struct chain_tag *tag, const u64 *ips,
		    size_t nr)
{
	u64 k0 = cache->seed[0] | 1, k1 = cache->seed[1] ^ 0x9e3779b97f4a7c15ULL;
	u64 a = mix(tag->words[0] ^ k0, tag->words[1] ^ k1), b = mix(tag->words[2] ^ k0, nr ^ k1);
	size_t i = 0;

	/* Two chains of multiplications, for the processor to do side by side. */
	for (; i + 4 <= nr; i += 4) {
		a = mix(ips[i] ^ k0 ^ a, ips[i + 1] ^ k1);
		b = mix(ips[i + 2] ^ k0 ^ b, ips[i + 3] ^ k1);
	}
	for (; i < nr; i++)
		a = mix(ips[i] ^ k0 ^ a, k1);
	return mix(a ^ k0, b ^ k1);
}

static bool same_key(const struct chaincache *cache, size_t at, const struct chain_tag *tag,
		     const u64 *ips, size_t nr)
{
	const u64 *key = cache->words + at;

	return key[0] == nr && !memcmp(key + 1, tag->words, sizeof(tag->words)) &&
	       (!nr || !memcmp(key + KEY_HEAD, ips, nr * sizeof(*ips)));
}

const u32 *chaincache_find(const struct chaincache *cache, u64 hash, const struct chain_tag *tag,
			   const u64 *ips, size_t nr)
{
	size_t mask = cache->nr_slots - 1;

	for (size_t i = hash & mask; cache->slots[i].at; i = (i + 1) & mask) {
		const struct chaincache_slot *slot = &cache->slots[i];

		if (slot->hash == hash && same_key(cache, slot->at, tag, ips, nr))
			return &slot->value;
	}
	return NULL;
}

static void insert(struct chaincache_slot *slots, size_t mask, const struct chaincache_slot *new)
{
	size_t i = new->hash & mask;

	while (slots[i].at)
		i = (i + 1) & mask;
	slots[i] = *new;
}

static int grow_slots(struct chaincache *cache)
{
	size_t nr_slots = cache->nr_slots * 2;
	struct chaincache_slot *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < cache->nr_slots; i++)
		if (cache->slots[i].at)
			insert(slots, nr_slots - 1, &cache->slots[i]);
	free(cache->slots);
	cache->slots = slots;
	cache->nr_slots = nr_slots;
	return 0;
}

static int grow_words(struct chaincache *cache, size_t need)
{
	size_t alloc = cache->alloc_words;
	u64 *words;

	while (alloc < need)
		alloc *= 2;
	if (alloc == cache->alloc_words)
		return 0;
	words = realloc(cache->words, alloc * sizeof(*words));
	if (!words)
		return -ENOMEM;
	cache->words = words;
	cache->alloc_words = alloc;
	return 0;
}

int chaincache_add(struct chaincache *cache, u64 hash, const struct chain_tag *tag, const u64 *ips,
		   size_t nr, u32 value)
{
	size_t need = cache->nr_words + KEY_HEAD + nr;
	struct chaincache_slot slot = { .hash = hash, .at = cache->nr_words, .value = value };
	u64 *key;

	if (nr > cache->max_words || need > cache->max_words)
		return -ENOSPC;
	if (grow_words(cache, need) || (cache->nr * 2 >= cache->nr_slots && grow_slots(cache)))
		return -ENOMEM;
	key = cache->words + cache->nr_words;
	key[0] = nr;
	memcpy(key + 1, tag->words, sizeof(tag->words));
	if (nr)
		memcpy(key + KEY_HEAD, ips, nr * sizeof(*ips));
	cache->nr_words = need;
	cache->nr++;
	insert(cache->slots, cache->nr_slots - 1, &slot);
	return 0;
}
