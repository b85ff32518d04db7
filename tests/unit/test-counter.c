/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting one event on one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "count/counter.h"

static const struct capture_event cycles = {
	.name = "cycles", .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES,
};
static const struct capture_event faults = {
	.name = "page-faults", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS,
	.host_side = true,
};
static const struct capture_event clock_event = {
	.name = "task-clock", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK,
};

static void test_ways(void **state)
{
	struct capture_event event = cycles;

	(void)state;
	assert_int_equal(count_way(&event, COUNT_GUEST), COUNT_BY_PERF);
	assert_int_equal(count_way(&event, COUNT_HOST), COUNT_BY_PERF);
	event.only_guest = true;
	assert_int_equal(count_way(&event, COUNT_GUEST), COUNT_BY_PERF);
	assert_int_equal(count_way(&event, COUNT_HOST), COUNT_NEVER);
	event = cycles;
	event.only_host = true;
	assert_int_equal(count_way(&event, COUNT_GUEST), COUNT_NEVER);
	assert_int_equal(count_way(&event, COUNT_HOST), COUNT_BY_PERF);
	assert_int_equal(count_way(&faults, COUNT_GUEST), COUNT_NEVER);
	assert_int_equal(count_way(&faults, COUNT_HOST), COUNT_BY_PERF);
	/* Never by perf: with exclude_host it counts all the same. */
	assert_int_equal(count_way(&clock_event, COUNT_GUEST), COUNT_BY_TIME);
	assert_int_equal(count_way(&clock_event, COUNT_HOST), COUNT_BY_TIME);
	event = clock_event;
	event.only_host = true;
	assert_int_equal(count_way(&event, COUNT_GUEST), COUNT_NEVER);
}

static void test_attr(void **state)
{
	struct capture_event event = cycles;
	struct perf_event_attr attr;

	(void)state;
	event.config1 = 7;
	event.exclude_user = true;
	event.pinned = true;
	counter_fill_attr(&event, COUNT_GUEST, &attr);
	assert_int_equal(attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr.config1, 7);
	assert_true(attr.exclude_host && !attr.exclude_guest && attr.disabled && attr.pinned);
	assert_true(attr.exclude_user && !attr.exclude_kernel && !attr.inherit);
	assert_int_equal(attr.sample_period, 0);
	counter_fill_attr(&event, COUNT_HOST, &attr);
	assert_true(attr.exclude_guest && !attr.exclude_host);
	counter_fill_attr(&faults, COUNT_HOST, &attr);
	assert_false(attr.exclude_guest || attr.exclude_host || attr.pinned);
}

static void test_sums(void **state)
{
	struct count a = { .value = 100, .on = 1000, .counted = 250 };
	struct count b = { .value = 50, .on = 1000, .counted = 1000 }, since;

	(void)state;
	assert_int_equal(count_scaled(&a), 400);
	assert_float_equal(count_share(&a), 25, 1e-9);
	assert_int_equal(count_scaled(&b), 50);
	assert_float_equal(count_share(&b), 100, 1e-9);
	count_add(&a, &b);
	assert_int_equal(a.value, 150);
	assert_int_equal(a.on, 2000);
	assert_int_equal(a.counted, 1250);
	since = count_since(&a, &b);
	assert_int_equal(since.value, 100);
	assert_int_equal(since.counted, 250);
	/* What went back is nothing, not very much. */
	since = count_since(&b, &a);
	assert_int_equal(since.value, 0);
	assert_int_equal(since.on, 0);
	assert_true(count_is_valid(&a));
	b.unsupported = true;
	count_add(&a, &b);
	assert_true(a.unsupported);
	assert_false(count_is_valid(&a));
}

static void test_valid(void **state)
{
	struct count never = { .on = 1000 }, idle = { .value = 0 };
	struct count failed = { .value = 9, .on = 10, .counted = 5, .failed = true };

	(void)state;
	assert_false(count_is_valid(&never));
	assert_float_equal(count_share(&never), 0, 1e-9);
	assert_int_equal(count_scaled(&never), 0);
	/* A thread that has not run has counted nothing, and that is right. */
	assert_true(count_is_valid(&idle));
	assert_float_equal(count_share(&idle), 100, 1e-9);
	assert_false(count_is_valid(&failed));
}

static void test_real(void **state)
{
	struct counter counter;
	pid_t tid = syscall(SYS_gettid);
	int err = counter_open(&faults, COUNT_HOST, tid, &counter);
	volatile char *pages;

	(void)state;
	if (err == -EACCES || err == -EPERM || counter.last.unsupported)
		skip();
	assert_int_equal(err, 0);
	pages = aligned_alloc(4096, 1 << 22);
	assert_non_null((void *)pages);
	for (size_t i = 0; i < 1 << 22; i += 4096)
		pages[i] = 1;
	counter_read(&counter);
	assert_true(counter.last.value >= 1);
	assert_true(counter.last.on && count_is_valid(&counter.last));
	counter_close(&counter);
	/* Its last value stays. */
	counter_read(&counter);
	assert_true(counter.last.value >= 1);
	free((void *)pages);
}

static void test_refused(void **state)
{
	struct capture_event event = { .type = 0x7ffffff0, .name = "nothing" };
	struct counter counter;
	pid_t tid = syscall(SYS_gettid);
	int err = counter_open(&event, COUNT_GUEST, tid, &counter);

	(void)state;
	if (err == -EACCES || err == -EPERM)
		skip();
	assert_int_equal(err, 0);
	assert_int_equal(counter.fd, -1);
	assert_true(counter.last.unsupported);
	assert_int_equal(counter.error, -ENOENT);
	counter_read(&counter);
	counter_close(&counter);
	/* Not even tried. */
	event = cycles;
	event.guest_why = "the PMU is the guests'";
	assert_int_equal(counter_open(&event, COUNT_GUEST, tid, &counter), 0);
	assert_int_equal(counter.error, -EOPNOTSUPP);
	assert_true(counter.last.unsupported);
	assert_int_equal(counter_open(&faults, COUNT_HOST, INT32_MAX, &counter), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_attr),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
