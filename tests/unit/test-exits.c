/* SPDX-License-Identifier: GPL-2.0-only */
/* Exits by reason: the part that needs no KVM. The programs run in tests/lab/lab-stat.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "count/exits.h"

static void test_reasons(void **state)
{
	exit_reasons reasons = VEC_INIT;

	(void)state;
	exit_reasons_sort(&reasons);
	assert_int_equal(exit_reasons_add(&reasons, 0x78, 2, 10), 0);
	assert_int_equal(exit_reasons_add(&reasons, 0x60, 2, 30), 0);
	assert_int_equal(exit_reasons_add(&reasons, 0x78, 1, 5), 0);
	assert_int_equal(exit_reasons_add(&reasons, 0x78, 2, 7), 0);
	assert_int_equal(exit_reasons_add(&reasons, 0x61, 2, 30), 0);
	exit_reasons_sort(&reasons);
	assert_int_equal(reasons.nr, 4);
	assert_int_equal(reasons.data[0].reason, 0x60);
	assert_int_equal(reasons.data[1].reason, 0x61);
	assert_int_equal(reasons.data[2].nr, 17);
	assert_int_equal(reasons.data[3].detail, 1);
	vec_deinit(&reasons);
}

/* Where there is no tracefs or no KVM it says what is missing. */
static void test_absent(void **state)
{
	struct exits *exits = NULL;
	const char *why = NULL;

	(void)state;
	assert_int_not_equal(exits_open("/nonexistent", &exits, &why), 0);
	assert_null(exits);
	assert_non_null(why);
	assert_true(strlen(why) > 10);
	exits_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
