/* SPDX-License-Identifier: GPL-2.0-only */
/* Call trees against the plain list of chains that they were made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/tree.h"

static u32 add(struct calltree *tree, const u32 *chain, size_t nr, u64 weight)
{
	u32 node = CALLTREE_ROOT;

	for (size_t i = 0; i < nr; i++) {
		node = calltree_child(tree, node, chain[i]);
		assert_int_not_equal(node, CALLTREE_NONE);
	}
	tree->nodes.data[node].self += weight;
	return node;
}

static void test_small(void **state)
{
	static const u32 a[] = { 1, 2, 3 }, b[] = { 1, 2 }, c[] = { 1, 4 }, d[] = { 5, 1 };
	static const struct {
		unsigned int depth;
		u32 frame;
		u64 total;
	} expected[] = {
		{ 0, CALLTREE_NONE, 100 }, { 1, 1, 60 }, { 2, 4, 40 }, { 2, 2, 20 }, { 3, 3, 15 },
		{ 1, 5, 40 }, { 2, 1, 40 },
	};
	unsigned int depth = 0;
	struct calltree tree;
	u32 node = CALLTREE_ROOT;

	(void)state;
	assert_int_equal(calltree_init(&tree), 0);
	assert_int_equal(add(&tree, a, 3, 10), add(&tree, a, 3, 5));
	add(&tree, b, 2, 5);
	add(&tree, c, 2, 40);
	add(&tree, d, 2, 40);
	assert_int_equal(calltree_finish(&tree), 0);
	assert_int_equal(tree.nodes.nr, 7);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(depth, expected[i].depth);
		assert_int_equal(tree.nodes.data[node].frame, expected[i].frame);
		assert_int_equal(tree.nodes.data[node].total, expected[i].total);
		assert_int_equal(calltree_depth(&tree, node), depth);
		node = calltree_next(&tree, node, &depth);
	}
	assert_int_equal(node, CALLTREE_NONE);
	assert_int_equal(calltree_find(&tree, CALLTREE_ROOT, 2), CALLTREE_NONE);
	assert_int_not_equal(calltree_find(&tree, CALLTREE_ROOT, 5), CALLTREE_NONE);
	depth = 1;
	node = calltree_skip(&tree, calltree_find(&tree, CALLTREE_ROOT, 1), &depth);
	assert_int_equal(node, calltree_find(&tree, CALLTREE_ROOT, 5));
	assert_int_equal(depth, 1);
	calltree_deinit(&tree);
}

/* Through growth and clearing: each path keeps its node, and the weights add up. */
static void test_many(void **state)
{
	struct calltree tree;

	(void)state;
	assert_int_equal(calltree_init(&tree), 0);
	for (int round = 0; round < 3; round++) {
		u64 random = 7, sum = 0;
		u32 nodes[4000], chain[12];

		for (int pass = 0; pass < 2; pass++) {
			random = 7;
			for (u32 i = 0; i < ARRAY_SIZE(nodes); i++) {
				u32 node;

				for (size_t k = 0; k < ARRAY_SIZE(chain); k++) {
					random = random * 6364136223846793005 + 1;
					chain[k] = random >> 60;
				}
				node = add(&tree, chain, ARRAY_SIZE(chain), i);
				assert_true(pass == 0 || node == nodes[i]);
				nodes[i] = node;
				sum += i;
			}
		}
		assert_int_equal(calltree_finish(&tree), 0);
		assert_int_equal(tree.nodes.data[CALLTREE_ROOT].total, sum);
		for (u32 i = 1; i < tree.nodes.nr; i++)
			assert_true(tree.nodes.data[i].parent < i);
		calltree_clear(&tree);
		assert_int_equal(tree.nodes.nr, 1);
		add(&tree, chain, 3, 1);
		calltree_clear(&tree);
		assert_int_equal(calltree_find(&tree, CALLTREE_ROOT, chain[0]), CALLTREE_NONE);
	}
	calltree_deinit(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
