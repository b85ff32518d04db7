/* SPDX-License-Identifier: GPL-2.0-only */
/* The block index against a plain search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hashmap.h"
#include "unwind/block-index.h"

#define NR 700

static u32 plain_find(const u32 *offset, u32 nr, u64 target)
{
	u32 at = 0;

	while (at + 1 < nr && offset[at + 1] <= target)
		at++;
	return at;
}

static void check(const u32 *offset, u32 nr, u64 target)
{
	struct block_index index;

	assert_int_equal(block_index_init(&index, offset, nr), 0);
	assert_true(index.nr_blocks <= nr + 1);
	for (u64 at = 0; at <= target; at += 1 + target / 4000)
		assert_int_equal(block_index_find(&index, offset, nr, at),
				 plain_find(offset, nr, at));
	block_index_deinit(&index);
	block_index_deinit(&index);
}

/* Steps from equal ones to ones of many blocks. */
static void test_find(void **state)
{
	static u32 offset[NR];
	u32 at = 0;

	(void)state;
	for (u32 i = 0; i < NR; i++) {
		offset[i] = at;
		at += hash_u64(i) % 3 ? hash_u64(i + NR) % 9 : hash_u64(i) % 5000;
	}
	check(offset, NR, offset[NR - 1] + 1000);
	check(offset, 1, 1000);
	check(offset, 2, 1000);
}

static void test_far(void **state)
{
	static const u32 offset[] = { 0, 5, 0xfffffff0, 0xffffffff };

	(void)state;
	check(offset, ARRAY_SIZE(offset), 1ULL << 33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
