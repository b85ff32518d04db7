/* SPDX-License-Identifier: GPL-2.0-only */
/* Filters of events as they are written on kvmprof-vmm's command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vmm/pmu-filter.h"

static void test_events(void **state)
{
	struct pmu_filter f;

	(void)state;
	assert_int_equal(pmu_filter_parse("deny:0x76,192,0x10000412e", &f), 0);
	assert_int_equal(f.filter.action, VPMU_FILTER_DENY);
	assert_int_equal(f.filter.nr, 3);
	assert_ptr_equal(f.filter.events, f.events);
	assert_int_equal(f.events[0], 0x76);
	assert_int_equal(f.events[1], 0xc0);
	assert_int_equal(f.events[2], 0x10000412e);
	assert_int_equal(f.filter.fixed_bitmap, 0);
	assert_int_equal(f.filter.flags, 0);
}

static void test_fixed(void **state)
{
	struct pmu_filter f;

	(void)state;
	assert_int_equal(pmu_filter_parse("allow:fixed0,0x3c,fixed31", &f), 0);
	assert_int_equal(f.filter.action, VPMU_FILTER_ALLOW);
	assert_int_equal(f.filter.nr, 1);
	assert_int_equal(f.events[0], 0x3c);
	assert_int_equal(f.filter.fixed_bitmap, 0x80000001);
}

/* What is wrong leaves the filter as it was. */
static void test_wrong(void **state)
{
	static const char *const wrong[] = {
		"", "deny", "deny:", "deny:,", "deny:0x76,", "deny:0x76,,0xc0", "deny: 0x76",
		"deny:-1", "deny:+1", "deny:0x76 ", "deny:x", "deny:fixed", "deny:fixed32",
		"deny:fixed-1", "deny:18446744073709551616", "Deny:1", "0x76", "deny:1;2",
	};
	struct pmu_filter f;

	(void)state;
	memset(&f, 0x5a, sizeof(f));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		assert_int_equal(pmu_filter_parse(wrong[i], &f), -EINVAL);
		assert_int_equal(f.filter.action, 0x5a5a5a5a);
	}
}

static void test_many(void **state)
{
	char text[8 + 2 * (VPMU_FILTER_MAX + 1)] = "deny:0";
	struct pmu_filter f;

	(void)state;
	for (unsigned int i = 1; i < VPMU_FILTER_MAX; i++)
		strcat(text, ",1");
	assert_int_equal(pmu_filter_parse(text, &f), 0);
	assert_int_equal(f.filter.nr, VPMU_FILTER_MAX);
	strcat(text, ",1");
	assert_int_equal(pmu_filter_parse(text, &f), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
