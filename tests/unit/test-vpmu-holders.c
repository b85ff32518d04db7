/* SPDX-License-Identifier: GPL-2.0-only */
/* Who holds counters, by a /proc that the test makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/types.h"
#include "vpmu/vpmu.h"

static char root[] = "/tmp/vpmu-holders-XXXXXX";

static void path_of(char *out, size_t size, const char *name)
{
	assert_true(snprintf(out, size, "%s/%s", root, name) < (int)size);
}

static void folder(const char *name)
{
	char path[128];

	path_of(path, sizeof(path), name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	path_of(path, sizeof(path), name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void link_to(const char *name, const char *target)
{
	char path[128];

	path_of(path, sizeof(path), name);
	assert_int_equal(symlink(target, path), 0);
}

static int make(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(root));
	folder("sys");
	folder("sys/kernel");
	file("sys/kernel/nmi_watchdog", "1\n");
	folder("17");
	folder("17/fd");
	file("17/comm", "one\n");
	link_to("17/fd/3", "anon_inode:[perf_event]");
	link_to("17/fd/4", "anon_inode:[eventfd]");
	folder("18");
	folder("18/fd");
	file("18/comm", "perf record, with a long name\n");
	link_to("18/fd/3", "anon_inode:[perf_event]");
	link_to("18/fd/4", "anon_inode:[perf_event]");
	link_to("18/fd/5", "anon_inode:[perf_event]");
	folder("19");
	folder("19/fd");
	link_to("19/fd/0", "/dev/null");
	folder("20");		/* not ours to look at: no fd */
	folder("self");
	folder("21x");
	return 0;
}

static int remove_all(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void test_order(void **state)
{
	struct vpmu_holder holders[4] = { 0 };

	(void)state;
	assert_int_equal(vpmu_holders(root, holders, 4), 3);
	assert_int_equal(holders[0].pid, 18);
	assert_int_equal(holders[0].nr_events, 3);
	assert_string_equal(holders[0].name, "perf record, wi");
	assert_true(holders[1].pid == 0 || holders[1].pid == 17);
	assert_int_equal(holders[1].pid + holders[2].pid, 17);
	assert_int_equal(holders[3].nr_events, 0);
}

static void test_few(void **state)
{
	struct vpmu_holder holders[2] = { 0 };

	(void)state;
	assert_int_equal(vpmu_holders(root, holders, 1), 3);
	assert_int_equal(holders[0].pid, 18);
	assert_int_equal(holders[1].nr_events, 0);
	assert_int_equal(vpmu_holders(root, NULL, 0), 3);
}

static void test_not_there(void **state)
{
	(void)state;
	assert_int_equal(vpmu_holders("/nonexistent", NULL, 0), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_not_there),
	};

	return cmocka_run_group_tests(tests, make, remove_all);
}
