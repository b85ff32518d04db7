/* SPDX-License-Identifier: GPL-2.0-only */
/* VMs that cannot be followed: told of once each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/refusals.h"

static void test_told_once(void **state)
{
	struct refusals refusals = { 0 };

	(void)state;
	assert_true(refusals_note(&refusals, 0x1000, 7, 1));
	assert_true(refusals_note(&refusals, 0x1000, 8, 1));
	for (int round = 0; round < 10; round++) {
		refusals_next_round(&refusals);
		/* More patience later is no reason to tell it again. */
		assert_false(refusals_note(&refusals, 0x1000, 7, 3));
		assert_false(refusals_note(&refusals, 0x1000, 8, 3));
	}
	refusals_deinit(&refusals);
}

static void test_patience(void **state)
{
	struct refusals refusals = { 0 };

	(void)state;
	assert_false(refusals_note(&refusals, 0x1000, 7, 3));
	assert_false(refusals_note(&refusals, 0x1000, 7, 3));	/* the same round */
	refusals_next_round(&refusals);
	assert_false(refusals_note(&refusals, 0x1000, 7, 3));
	refusals_next_round(&refusals);
	assert_true(refusals_note(&refusals, 0x1000, 7, 3));
	refusals_deinit(&refusals);
}

/* One that could be followed meanwhile, or another at the same place, begins anew. */
static void test_forgotten(void **state)
{
	struct refusals refusals = { 0 };

	(void)state;
	assert_false(refusals_note(&refusals, 0x1000, 7, 2));
	assert_true(refusals_note(&refusals, 0x2000, 7, 1));
	refusals_next_round(&refusals);
	assert_false(refusals_note(&refusals, 0x2000, 7, 1));
	refusals_next_round(&refusals);
	assert_int_equal(refusals.list.nr, 1);
	assert_false(refusals_note(&refusals, 0x1000, 7, 2));
	refusals_next_round(&refusals);
	assert_true(refusals_note(&refusals, 0x1000, 7, 2));
	refusals_next_round(&refusals);
	refusals_next_round(&refusals);
	assert_int_equal(refusals.list.nr, 0);
	refusals_deinit(&refusals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_once),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
