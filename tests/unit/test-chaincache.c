/* SPDX-License-Identifier: GPL-2.0-only */
/* The cache of chains: what was added is found, nothing else is, and it stays within its bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "analyze/chaincache.h"

static void make_chain(u64 n, u64 *ips, size_t *nr)
{
	*nr = n % 9;
	for (size_t i = 0; i < *nr; i++)
		ips[i] = 0x401000 + n * 16 + i;
}

static void test_find(void **state)
{
	struct chain_tag tag = { { 7, 1, 3 } };
	struct chaincache cache;
	u64 ips[9], hash;
	size_t nr;

	(void)state;
	assert_int_equal(chaincache_init(&cache, 1 << 20), 0);
	for (u64 n = 0; n < 5000; n++) {
		make_chain(n, ips, &nr);
		tag.words[0] = n;
		hash = chaincache_hash(&cache, &tag, ips, nr);
		assert_null(chaincache_find(&cache, hash, &tag, ips, nr));
		assert_int_equal(chaincache_add(&cache, hash, &tag, ips, nr, n), 0);
	}
	for (u64 n = 0; n < 5000; n++) {
		const u32 *value;

		make_chain(n, ips, &nr);
		tag.words[0] = n;
		hash = chaincache_hash(&cache, &tag, ips, nr);
		value = chaincache_find(&cache, hash, &tag, ips, nr);
		assert_non_null(value);
		assert_int_equal(*value, n);
	}
	chaincache_deinit(&cache);
}

/* The same hash with another tag, another length or another chain is not the same. */
static void test_key(void **state)
{
	struct chain_tag tag = { { 7, 1, 3 } }, other = { { 7, 1, 4 } };
	u64 ips[3] = { 1, 2, 3 };
	struct chaincache cache;

	(void)state;
	assert_int_equal(chaincache_init(&cache, 4096), 0);
	assert_int_equal(chaincache_add(&cache, 5, &tag, ips, 3, 9), 0);
	assert_non_null(chaincache_find(&cache, 5, &tag, ips, 3));
	assert_null(chaincache_find(&cache, 5, &other, ips, 3));
	assert_null(chaincache_find(&cache, 5, &tag, ips, 2));
	ips[1] = 4;
	assert_null(chaincache_find(&cache, 5, &tag, ips, 3));
	chaincache_clear(&cache);
	ips[1] = 2;
	assert_null(chaincache_find(&cache, 5, &tag, ips, 3));
	chaincache_deinit(&cache);
}

/* Every word of the chain counts in the hash. */
static void test_hash(void **state)
{
	struct chain_tag tag = { { 1, 2, 3 } };
	struct chaincache cache;
	u64 ips[11] = { 0 };

	(void)state;
	assert_int_equal(chaincache_init(&cache, 4096), 0);
	for (size_t nr = 1; nr <= ARRAY_SIZE(ips); nr++) {
		u64 hash = chaincache_hash(&cache, &tag, ips, nr);

		assert_int_not_equal(hash, chaincache_hash(&cache, &tag, ips, nr - 1));
		for (size_t i = 0; i < nr; i++) {
			ips[i]++;
			assert_int_not_equal(hash, chaincache_hash(&cache, &tag, ips, nr));
			ips[i]--;
		}
	}
	chaincache_deinit(&cache);
}

static void test_full(void **state)
{
	struct chain_tag tag = { { 1, 2, 3 } };
	struct chaincache cache;
	u64 ips[200] = { 0 };
	int err = 0;

	(void)state;
	assert_int_equal(chaincache_init(&cache, 1000), 0);
	assert_int_equal(chaincache_add(&cache, 1, &tag, ips, 200, 1), -ENOSPC);
	for (u64 n = 0; n < 100 && !err; n++)
		err = chaincache_add(&cache, n, &tag, ips, 10, n);
	assert_int_equal(err, -ENOSPC);
	assert_in_range(cache.nr, 5, 12);
	chaincache_clear(&cache);
	assert_int_equal(chaincache_add(&cache, 1, &tag, ips, 10, 1), 0);
	chaincache_deinit(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
