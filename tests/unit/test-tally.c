/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting from start to end, on a host made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-counting.h"
#include "count/tally.h"

#define MS 1000000ULL

struct fixture {
	struct build_counting host;
	struct build_vm *vm;
	struct build_vcpu *vcpu;
	struct tally *tally;
	struct tally_report report;
	const char *why;
};

static int create(struct fixture *f, struct following_choice choice)
{
	f->why = NULL;
	return tally_create(&f->host.reader, &choice, build_counting_events, BUILD_COUNTING_EVENTS,
			    &f->tally, &f->why);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -1;
	build_counting_init(&f->host);
	f->vm = build_counting_add_vm(&f->host, 0);
	f->vcpu = build_counting_add_vcpu(f->vm, 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tally_report_deinit(&f->report);
	tally_destroy(f->tally);
	assert_int_equal(f->host.destroyed, 1);
	free(f);
	return 0;
}

/* What is reported: the time it is about, how many rows, and what all of them have in ms. */
static void check_report(struct fixture *f, bool interval, u64 elapsed, size_t nr, u64 ms)
{
	struct tally_sums sum;

	tally_report_deinit(&f->report);
	assert_int_equal(tally_report(f->tally, interval, true, &f->report), 0);
	assert_int_equal(f->report.elapsed, elapsed * MS);
	assert_int_equal(f->report.rows.nr, nr);
	assert_int_equal(tally_sums_init(&sum, BUILD_COUNTING_EVENTS), 0);
	vec_for_each(&f->report.rows, row)
		assert_int_equal(tally_sums_add(&sum, &row->sums, BUILD_COUNTING_EVENTS), 0);
	assert_int_equal(sum.followed, ms * MS);
	assert_int_equal(sum.exits, ms * BUILD_EXITS);
	assert_int_equal(sum.guest, ms * BUILD_GUEST);
	assert_int_equal(sum.halt, ms * BUILD_HALT);
	assert_int_equal(tally_count(&sum, 1, COUNT_HOST)->value, 4 * ms);
	tally_sums_deinit(&sum);
}

static void test_intervals(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, (struct following_choice){ 0 }), 0);
	assert_int_equal(f->host.prepared, 1);
	build_counting_pass(&f->host, 1000);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, true, 1000, 1, 1000);
	/* A vCPU comes; the intervals go on. */
	build_counting_add_vcpu(f->vm, 1);
	build_counting_pass(&f->host, 400);
	assert_int_equal(tally_follow(f->tally), 0);
	build_counting_pass(&f->host, 600);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, true, 1000, 2, 1000 + 600);
	/* What comes after reading is in the next report. */
	build_counting_pass(&f->host, 50);
	check_report(f, false, 2000, 2, 2000 + 600);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, true, 50, 2, 100);
	check_report(f, false, 2050, 2, 2050 + 650);
}

static void test_restart(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, (struct following_choice){ .all = true }), 0);
	build_counting_pass(&f->host, 1000);
	assert_int_equal(tally_restart(f->tally), 0);
	build_counting_pass(&f->host, 300);
	build_counting_add_vcpu(build_counting_add_vm(&f->host, 1), 0);
	assert_int_equal(tally_follow(f->tally), 0);
	build_counting_pass(&f->host, 200);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, true, 500, 2, 500 + 200);
	check_report(f, false, 500, 2, 500 + 200);
}

/* One that ended before the restart is in no report. */
static void test_gone_before_restart(void **state)
{
	struct fixture *f = *state;
	struct build_vcpu *other = build_counting_add_vcpu(f->vm, 1);

	assert_int_equal(create(f, (struct following_choice){ 0 }), 0);
	build_counting_pass(&f->host, 1000);
	other->there = false;
	assert_int_equal(tally_follow(f->tally), 0);
	assert_int_equal(tally_restart(f->tally), 0);
	build_counting_pass(&f->host, 100);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, false, 100, 1, 100);
}

static void test_all_gone(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, (struct following_choice){ .pid = 1000 }), 0);
	build_counting_pass(&f->host, 100);
	f->vm->there = false;
	assert_int_equal(tally_follow(f->tally), -ESRCH);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, false, 100, 1, 100);
	f->host.scan_error = -EPERM;
	assert_int_equal(tally_follow(f->tally), -EPERM);
}

/* The process is gone, with its VM: that is seen to as for any other. */
static void test_process_gone(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, (struct following_choice){ .pid = 1000 }), 0);
	build_counting_pass(&f->host, 100);
	f->host.scan_error = -ESRCH;
	assert_int_equal(tally_follow(f->tally), -ESRCH);
	assert_int_equal(f->vcpu->stops, 1);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, false, 100, 1, 100);
}

static void test_waits(void **state)
{
	struct fixture *f = *state;

	f->vm->there = false;
	assert_int_equal(create(f, (struct following_choice){ .all = true }), 0);
	assert_int_equal(tally_follow(f->tally), 0);
	build_counting_pass(&f->host, 100);
	f->vm->there = true;
	assert_int_equal(tally_follow(f->tally), 0);
	build_counting_pass(&f->host, 100);
	assert_int_equal(tally_read(f->tally), 0);
	check_report(f, false, 200, 1, 100);
}

static void test_none(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(create(f, (struct following_choice){ .name = "nobody" }), -ENOENT);
	assert_non_null(f->why);
	assert_null(f->tally);
	/* What takes privileges is not done for nothing. */
	assert_int_equal(f->host.prepared, 0);
}

static void test_cannot_start(void **state)
{
	struct fixture *f = *state;

	f->host.start_error = -EMFILE;
	assert_int_equal(create(f, (struct following_choice){ 0 }), -EMFILE);
	assert_string_equal(f->why, "the vCPUs' threads cannot be counted");
}

static void keep_last(const char *text, void *arg)
{
	*(char **)arg = strdup(text);
}

static void test_notes(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;

	assert_int_equal(create(f, (struct following_choice){ 0 }), 0);
	tally_notes(f->tally, keep_last, &text);
	assert_null(text);
	f->vcpu->own.nr = 3;
	assert_int_equal(tally_read(f->tally), 0);
	tally_notes(f->tally, keep_last, &text);
	assert_non_null(text);
	assert_non_null(strstr(text, "guest vm0 uses 3 counters"));
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_intervals), TEST(test_restart), TEST(test_gone_before_restart),
		TEST(test_all_gone), TEST(test_process_gone), TEST(test_waits), TEST(test_none),
		TEST(test_cannot_start), TEST(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
