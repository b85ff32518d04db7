/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of sources as a user writes it, and the one of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/types.h"
#include "symbols/source-list.h"

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"", ",", "cache,", ",cache", "cache,cache", "gateway", "Cache", "cache host",
	};
	struct symbol_source_list list = { .nr = 7 };
	const char *why = NULL;

	(void)state;
	assert_int_equal(symbol_source_list_parse("host,cache", &list, &why), 0);
	assert_int_equal(list.nr, 2);
	assert_int_equal(list.order[0], SYMBOL_SOURCE_HOST);
	assert_int_equal(symbol_source_list_parse(SYMBOL_SOURCE_NAMES, &list, &why), 0);
	assert_int_equal(list.nr, 5);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		why = NULL;
		assert_int_equal(symbol_source_list_parse(bad[i], &list, &why), -EINVAL);
		assert_non_null(why);
		assert_int_equal(list.nr, 5);
	}
}

/* What nothing answers for is not in it; a list that there is stays. */
static void test_fill(void **state)
{
	struct symbol_source_list list = { .nr = 0 };

	(void)state;
	assert_false(symbol_source_list_has(&list, SYMBOL_SOURCE_GUEST));
	symbol_source_list_fill(&list);
	assert_int_equal(list.nr, 5);
	assert_int_equal(list.order[0], SYMBOL_SOURCE_GUEST);
	assert_int_equal(list.order[4], SYMBOL_SOURCE_DEBUGINFOD);
	assert_true(symbol_source_list_has(&list, SYMBOL_SOURCE_HOST));
	assert_false(symbol_source_list_has(&list, SYMBOL_SOURCE_GATEWAY));
	list = (struct symbol_source_list){ { SYMBOL_SOURCE_CACHE }, 1 };
	symbol_source_list_fill(&list);
	assert_int_equal(list.nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
