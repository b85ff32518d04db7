/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vpmu/counter.h"

/* One by one, as a processor counts. */
static void test_add_is_counting(void **state)
{
	uint64_t start = counter_mask(32) - 5;

	(void)state;
	for (uint64_t n = 0; n < 20; n++) {
		uint64_t value = start, stepped = start, wraps = 0;
		uint64_t got = counter_add(&value, 32, n);

		for (uint64_t i = 0; i < n; i++) {
			stepped = (stepped + 1) & counter_mask(32);
			wraps += !stepped;
		}
		assert_int_equal(value, stepped);
		assert_int_equal(got, wraps);
	}
}

static void test_add_wraps_often(void **state)
{
	uint64_t value = 7;

	(void)state;
	assert_int_equal(counter_add(&value, 32, 5ULL << 32), 5);
	assert_int_equal(value, 7);
	assert_int_equal(counter_add(&value, 48, UINT64_MAX), (1 << 16));
	assert_int_equal(value, 6);
}

static void test_left(void **state)
{
	uint64_t value;

	(void)state;
	for (unsigned int width = 32; width <= 48; width++) {
		assert_int_equal(counter_left(0, width), 1ULL << width);
		assert_int_equal(counter_left(counter_mask(width), width), 1);
		value = counter_mask(width) - 99;
		assert_int_equal(counter_left(value, width), 100);
		assert_int_equal(counter_add(&value, width, 99), 0);
		assert_int_equal(counter_add(&value, width, 1), 1);
		assert_int_equal(value, 0);
	}
}

static void test_extend(void **state)
{
	(void)state;
	assert_int_equal(counter_extend(0x7fffffff, 48), 0x7fffffff);
	assert_int_equal(counter_extend(0x80000000, 48), 0xffff80000000);
	assert_int_equal(counter_extend(0xffffff0123456789, 48), 0x23456789);
	assert_int_equal(counter_extend(0xffffffff, 40), 0xffffffffff);
}

static void test_advance(void **state)
{
	struct vpmu_count last = { 0 };
	struct vpmu_count half = { .value = 500, .enabled = 2000, .running = 1000 };
	struct vpmu_count none = { .value = 500, .enabled = 3000, .running = 1000 };
	struct vpmu_count later = { .value = 700, .enabled = 4000, .running = 1500 };
	struct vpmu_count all = { .value = 800, .enabled = 4100, .running = 1600 };

	(void)state;
	assert_int_equal(count_advance(&last, &half), 1000);
	/* No time on a counter: nothing is known yet … */
	assert_int_equal(count_advance(&last, &none), 0);
	/* … and what comes then stands for that time, too. */
	assert_int_equal(count_advance(&last, &later), 200 * 2000 / 500);
	assert_int_equal(count_advance(&last, &all), 100);
	/* Without times the value is all there is. */
	last = (struct vpmu_count){ .value = 10 };
	assert_int_equal(count_advance(&last, &(struct vpmu_count){ .value = 35 }), 25);
	/* No overflow in between. */
	last = (struct vpmu_count){ 0 };
	assert_int_equal(count_advance(&last, &(struct vpmu_count){
		.value = 1ULL << 40, .enabled = 3ULL << 50, .running = 1ULL << 50 }), 3ULL << 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add_is_counting),
		cmocka_unit_test(test_add_wraps_often),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_extend),
		cmocka_unit_test(test_advance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
