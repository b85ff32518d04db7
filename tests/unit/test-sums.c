/* SPDX-License-Identifier: GPL-2.0-only */
/* Adding up what was counted of vCPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "count/sums.h"

static const struct capture_event events[] = {
	{ .name = "cycles", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES },
	{ .name = "task-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK },
	{ .name = "cs", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	  .host_side = true },
};
#define NR ARRAY_SIZE(events)

static void fill(struct tally_sums *sums, u64 n)
{
	assert_int_equal(tally_sums_init(sums, NR), 0);
	for (u32 i = 0; i < NR * COUNT_NR_MODES; i++)
		sums->counts[i] = (struct count){ .value = (i + 1) * n, .on = n, .counted = n };
	sums->followed = 100 * n;
	sums->run = 70 * n;
	sums->steal = 5 * n;
	sums->guest = 60 * n;
	sums->halt = 20 * n;
	sums->poll = 2 * n;
	sums->exits = 9 * n;
	sums->known = TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST | TALLY_KNOWS_HALT | TALLY_KNOWS_EXITS;
	assert_int_equal(exit_reasons_add(&sums->reasons, 1, 2, n), 0);
}

static void test_add(void **state)
{
	struct tally_sums sum, one, two;

	(void)state;
	assert_int_equal(tally_sums_init(&sum, NR), 0);
	fill(&one, 10);
	fill(&two, 1);
	two.known &= ~TALLY_KNOWS_HALT;
	exit_reasons_add(&two.reasons, 3, 2, 4);
	assert_int_equal(tally_sums_add(&sum, &one, NR), 0);
	assert_int_equal(sum.known, one.known);
	assert_int_equal(tally_sums_add(&sum, &two, NR), 0);
	/* What is not known of one is not of both. */
	assert_int_equal(sum.known, two.known);
	assert_int_equal(sum.followed, 1100);
	assert_int_equal(sum.run, 770);
	assert_int_equal(sum.steal, 55);
	assert_int_equal(sum.guest, 660);
	assert_int_equal(sum.exits, 99);
	assert_int_equal(tally_count(&sum, 2, COUNT_HOST)->value, 66);
	assert_int_equal(sum.reasons.nr, 2);
	assert_int_equal(sum.reasons.data[0].nr, 11);
	tally_sums_deinit(&sum);
	tally_sums_deinit(&one);
	tally_sums_deinit(&two);
}

static void test_since(void **state)
{
	struct tally_sums now, before, since;

	(void)state;
	fill(&now, 10);
	fill(&before, 8);
	exit_reasons_add(&now.reasons, 7, 2, 3);
	/* Of a halt that began long before it was looked at. */
	now.halt = 1000000;
	assert_int_equal(tally_sums_init(&since, NR), 0);
	assert_int_equal(tally_sums_since(&now, &before, NR, &since), 0);
	assert_int_equal(since.followed, 200);
	assert_int_equal(since.guest, 120);
	assert_int_equal(since.halt, 200);
	assert_int_equal(since.poll, 4);
	assert_int_equal(since.exits, 18);
	assert_int_equal(tally_count(&since, 0, COUNT_GUEST)->value, 2);
	assert_int_equal(tally_count(&since, 0, COUNT_GUEST)->on, 2);
	assert_int_equal(since.reasons.nr, 2);
	assert_int_equal(since.reasons.data[0].nr, 2);
	assert_int_equal(since.reasons.data[1].nr, 3);
	tally_sums_deinit(&since);
	/* A reason that did not come again is none of the interval's. */
	assert_int_equal(tally_sums_init(&since, NR), 0);
	assert_int_equal(tally_sums_since(&now, &now, NR, &since), 0);
	assert_int_equal(since.reasons.nr, 0);
	assert_int_equal(since.followed, 0);
	tally_sums_deinit(&since);
	tally_sums_deinit(&now);
	tally_sums_deinit(&before);
}

static void test_value(void **state)
{
	struct tally_sums sums;
	struct count count;

	(void)state;
	fill(&sums, 10);
	assert_int_equal(tally_value(&sums, events, 0, COUNT_HOST).value, 20);
	/* A clock in the guest is the time there, whatever perf may have counted. */
	assert_int_equal(tally_value(&sums, events, 1, COUNT_GUEST).value, 600);
	assert_int_equal(tally_value(&sums, events, 1, COUNT_HOST).value, 100);
	assert_false(count_is_valid(&(struct count){ .unsupported = true }));
	count = tally_value(&sums, events, 2, COUNT_GUEST);
	assert_false(count_is_valid(&count));
	sums.known = TALLY_KNOWS_GUEST;
	count = tally_value(&sums, events, 1, COUNT_HOST);
	assert_false(count_is_valid(&count));
	count = tally_value(&sums, events, 1, COUNT_GUEST);
	assert_true(count_is_valid(&count));
	sums.known = TALLY_KNOWS_SCHED;
	count = tally_value(&sums, events, 1, COUNT_GUEST);
	assert_false(count_is_valid(&count));
	tally_sums_deinit(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
