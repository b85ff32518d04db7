/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of one vCPU, from readings made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "count/progress.h"

#define MS 1000000ULL
#define NR 1

static const struct reading first = {
	.now = 5000 * MS,
	.has = READING_HAS_TIMES | READING_HAS_HALT | READING_HAS_EXITS,
	.times = { .run = 70 * MS, .wait = 10 * MS, .guest = 40 * MS },
	.halt = { .wait = 900 * MS, .poll = 30 * MS },
};

static const struct reading later = {
	.now = 6000 * MS,
	.has = READING_HAS_TIMES | READING_HAS_HALT | READING_HAS_EXITS,
	.times = { .run = 570 * MS, .wait = 60 * MS, .guest = 340 * MS },
	.halt = { .wait = 1100 * MS, .poll = 45 * MS },
	.exits = { .guest = 400 * MS, .exits = 1234 },
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct progress));
	return !*state || progress_init(*state, NR);
}

static int teardown(void **state)
{
	progress_deinit(*state);
	free(*state);
	return 0;
}

/* Where the kernel's figures stood when we came is not ours. */
static void test_grows(void **state)
{
	struct progress *progress = *state;
	const struct tally_sums *total = &progress->total;

	progress_begin(progress, &first);
	assert_int_equal(total->known, TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST | TALLY_KNOWS_HALT |
					       TALLY_KNOWS_EXITS | TALLY_KNOWS_REASONS);
	assert_int_equal(total->run, 0);
	progress_take(progress, &later);
	assert_int_equal(total->followed, 1000 * MS);
	assert_int_equal(total->run, 500 * MS);
	assert_int_equal(total->steal, 50 * MS);
	assert_int_equal(total->guest, 400 * MS);
	assert_int_equal(total->halt, 200 * MS);
	assert_int_equal(total->poll, 15 * MS);
	assert_int_equal(total->exits, 1234);
}

/* Then the scheduler's ticks are all there is of time in the guest, and exits are a number. */
static void test_without_bpf(void **state)
{
	struct progress *progress = *state;
	struct reading begin = first, then = later;

	begin.has = then.has = READING_HAS_TIMES | READING_HAS_NR_EXITS;
	then.nr_exits = 99;
	progress_begin(progress, &begin);
	assert_int_equal(progress->total.known,
			 TALLY_KNOWS_SCHED | TALLY_KNOWS_GUEST | TALLY_KNOWS_EXITS);
	progress_take(progress, &then);
	assert_int_equal(progress->total.guest, 300 * MS);
	assert_int_equal(progress->total.exits, 99);
	assert_int_equal(progress->total.halt, 0);
}

/* A kernel without schedstats, and one where not even the exits can be had. */
static void test_unknown(void **state)
{
	struct progress *progress = *state;
	struct reading begin = first;

	begin.has = READING_HAS_EXITS;
	progress_begin(progress, &begin);
	assert_int_equal(progress->total.known,
			 TALLY_KNOWS_GUEST | TALLY_KNOWS_EXITS | TALLY_KNOWS_REASONS);
	begin.has = 0;
	progress_begin(progress, &begin);
	assert_int_equal(progress->total.known, 0);
	/* What is known is settled at the beginning. */
	progress_take(progress, &later);
	assert_int_equal(progress->total.known, 0);
	assert_int_equal(progress->total.halt, 0);
}

/* /proc has no more of a thread that has ended, and KVM nothing of its vCPU. */
static void test_ended(void **state)
{
	struct progress *progress = *state;
	struct reading last = {
		.now = 7000 * MS, .has = READING_HAS_EXITS,
		.exits = { .guest = 450 * MS, .exits = 1300 },
	};

	progress_begin(progress, &first);
	progress_take(progress, &later);
	progress_take(progress, &last);
	assert_int_equal(progress->total.run, 500 * MS);
	assert_int_equal(progress->total.halt, 200 * MS);
	assert_int_equal(progress->total.guest, 450 * MS);
	assert_int_equal(progress->total.exits, 1300);
	assert_int_equal(progress->total.followed, 2000 * MS);
	/* The stay that lasted as it was read is not in what BPF has later: it does not go back. */
	last.exits.guest = 449 * MS;
	progress_take(progress, &last);
	assert_int_equal(progress->total.guest, 450 * MS);
}

/* A halt of ten minutes that ends now has been only a second of our time. */
static void test_long_halt(void **state)
{
	struct progress *progress = *state;
	struct reading begin = first, then = later;

	begin.halt.blocking = true;
	then.halt.wait += 600 * 1000 * MS;
	progress_begin(progress, &begin);
	progress_take(progress, &then);
	assert_int_equal(progress->total.halt, 1000 * MS);
}

static void test_reasons(void **state)
{
	struct progress *progress = *state;
	const struct tally_sums *total = &progress->total;

	progress_begin(progress, &first);
	progress_take(progress, &later);
	for (int i = 0; i < 2; i++) {
		progress_clear_reasons(progress);
		progress_add_reason(progress, &(struct exit_reason){ 0x60, 2, 1000 });
		progress_add_reason(progress, &(struct exit_reason){ 0x78, 2, 200 });
		progress_end_reasons(progress);
		assert_int_equal(total->reasons.nr, 2);
		assert_int_equal(total->reasons.data[0].nr, 1000);
		/* Fewer than there are exits: they may be lost, or come in between. */
		assert_int_equal(total->exits, 1234);
	}
	progress_add_reason(progress, &(struct exit_reason){ 0x78, 2, 100 });
	progress_end_reasons(progress);
	assert_int_equal(total->exits, 1300);
}

static void check_report(const struct progress *progress, bool interval, u64 followed, u64 count)
{
	struct tally_sums sums;

	assert_int_equal(tally_sums_init(&sums, NR), 0);
	assert_int_equal(progress_add_to(progress, interval, NR, &sums), 0);
	assert_int_equal(sums.followed, followed);
	assert_int_equal(sums.counts[0].value, count);
	tally_sums_deinit(&sums);
}

static void test_marks(void **state)
{
	struct progress *progress = *state;
	struct reading then = later;

	progress_begin(progress, &first);
	/* Of the sums it is one from its beginning on, of an interval when time has passed. */
	assert_true(progress_has_more(progress, false));
	assert_false(progress_has_more(progress, true));
	progress_take(progress, &then);
	progress->total.counts[0].value = 10;
	assert_true(progress_has_more(progress, true));
	check_report(progress, true, 1000 * MS, 10);
	assert_int_equal(progress_mark(progress, true, NR), 0);
	assert_false(progress_has_more(progress, true));
	check_report(progress, false, 1000 * MS, 10);

	then.now += 500 * MS;
	progress_take(progress, &then);
	progress->total.counts[0].value = 17;
	check_report(progress, true, 500 * MS, 7);
	check_report(progress, false, 1500 * MS, 17);

	/* All begins anew; one that was gone by then is in no report. */
	assert_int_equal(progress_mark(progress, false, NR), 0);
	assert_false(progress_has_more(progress, false));
	then.now += 100 * MS;
	progress_take(progress, &then);
	progress->total.counts[0].value = 20;
	assert_true(progress_has_more(progress, false));
	check_report(progress, false, 100 * MS, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_grows), TEST(test_without_bpf), TEST(test_unknown), TEST(test_ended),
		TEST(test_long_halt), TEST(test_reasons), TEST(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
