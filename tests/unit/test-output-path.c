/* SPDX-License-Identifier: GPL-2.0-only */
/* Which names recordings get when several want the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "engine/output-path.h"

#define NR_PATHS 32

static const char *given[NR_PATHS];
static struct output_paths taken = { given, 0 };

static int teardown(void **state)
{
	(void)state;
	while (taken.nr)
		free((void *)given[--taken.nr]);
	return 0;
}

static void choose(const char *name, const char *expected)
{
	char *path;

	assert_true(taken.nr < NR_PATHS);
	assert_int_equal(output_path_choose("d/perf.data", name, &taken, &path), 0);
	assert_string_equal(path, expected);
	given[taken.nr++] = path;
}

static void test_one(void **state)
{
	(void)state;
	choose(NULL, "d/perf.data");
	choose(NULL, "d/perf.data.2");
	choose(NULL, "d/perf.data.3");
}

static void test_same_names(void **state)
{
	(void)state;
	choose("web", "d/perf.data.web");
	choose("db", "d/perf.data.db");
	choose("web", "d/perf.data.web.2");
	choose("web.2", "d/perf.data.web.2.2");
	choose("web", "d/perf.data.web.3");
	choose("db", "d/perf.data.db.2");
	choose("", "d/perf.data._");
}

/* Of which only what is fit for a path is left. */
static void test_same_when_fit(void **state)
{
	(void)state;
	choose("../a/b", "d/perf.data._._a_b");
	choose("_./a_b", "d/perf.data._._a_b.2");
}

/* When one is written the file that was there is renamed to .old: not over another's. */
static void test_old(void **state)
{
	(void)state;
	choose("web", "d/perf.data.web");
	choose("web.old", "d/perf.data.web.old.2");
	choose("db.old", "d/perf.data.db.old");
	choose("db", "d/perf.data.db.2");
}

static void test_long_names(void **state)
{
	char name[600], expected[600];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(expected, sizeof(expected), "d/perf.data.%.127s", name);
	choose(name, expected);
	strcat(expected, ".2");
	choose(name, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_one, teardown),
		cmocka_unit_test_teardown(test_same_names, teardown),
		cmocka_unit_test_teardown(test_same_when_fit, teardown),
		cmocka_unit_test_teardown(test_old, teardown),
		cmocka_unit_test_teardown(test_long_names, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
