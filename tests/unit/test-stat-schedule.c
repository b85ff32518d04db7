/* SPDX-License-Identifier: GPL-2.0-only */
/* When counts are printed, and guests looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cmd/stat-schedule.h"

#define START 1000000ULL

/* All that becomes due by @now, and that but the end it is due once. */
static void check(struct stat_schedule *schedule, u64 now, u32 want)
{
	assert_int_equal(stat_schedule_take(schedule, START + now), want);
	assert_int_equal(stat_schedule_take(schedule, START + now), want & STAT_DUE_END);
}

static void test_follows(void **state)
{
	struct stat_schedule schedule;

	(void)state;
	stat_schedule_begin(&schedule, START, 0, 0, 0);
	assert_int_equal(stat_schedule_wait(&schedule, START), STAT_FOLLOW_MS);
	check(&schedule, STAT_FOLLOW_MS - 1, 0);
	assert_int_equal(stat_schedule_wait(&schedule, START + STAT_FOLLOW_MS), 0);
	check(&schedule, STAT_FOLLOW_MS, STAT_DUE_FOLLOW);
	assert_int_equal(stat_schedule_wait(&schedule, START + STAT_FOLLOW_MS), STAT_FOLLOW_MS);
	check(&schedule, 10000000, STAT_DUE_FOLLOW);
}

static void test_ends(void **state)
{
	struct stat_schedule schedule;

	(void)state;
	stat_schedule_begin(&schedule, START, 300, 0, 0);
	assert_int_equal(stat_schedule_wait(&schedule, START + 100), 200);
	check(&schedule, 299, 0);
	check(&schedule, 300, STAT_DUE_END);
	assert_false(schedule.printed_all);
}

static void test_prints(void **state)
{
	struct stat_schedule schedule;

	(void)state;
	stat_schedule_begin(&schedule, START, 400, 100, 0);
	check(&schedule, 99, 0);
	/* A bit late: the next is in time again. */
	check(&schedule, 130, STAT_DUE_PRINT);
	check(&schedule, 199, 0);
	check(&schedule, 200, STAT_DUE_PRINT);
	/* Very late: once. */
	check(&schedule, 399, STAT_DUE_PRINT);
	/* The last is the end's, which is printed with what is left. */
	check(&schedule, 400, STAT_DUE_END);
}

static void test_counts(void **state)
{
	struct stat_schedule schedule;

	(void)state;
	stat_schedule_begin(&schedule, START, 0, 100, 2);
	check(&schedule, 100, STAT_DUE_PRINT);
	assert_false(schedule.printed_all);
	assert_int_equal(stat_schedule_take(&schedule, START + 200), STAT_DUE_PRINT | STAT_DUE_END);
	assert_true(schedule.printed_all);
	/* Time may be over before that. */
	stat_schedule_begin(&schedule, START, 150, 100, 2);
	check(&schedule, 100, STAT_DUE_PRINT);
	check(&schedule, 150, STAT_DUE_END);
	assert_false(schedule.printed_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_prints),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
