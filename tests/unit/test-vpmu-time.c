/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest time as cycles, by a clock that the test moves; and that the timer does come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <time.h>

#include "vpmu-access.h"

#define SELECT 0x186
#define A_PMC 0x4c1
#define FIXED 0x309
#define FIXED_CONTROL 0x38d
#define CONTROL 0x38f
#define BOTH ((1U << 16) | (1U << 17))
#define ENABLE (1U << 22)

static uint64_t test_clock(void *context)
{
	return *(uint64_t *)context;
}

/* One that must not be asked. */
static uint64_t no_clock(void *context)
{
	(void)context;
	fail_msg("the clock is read");
	return 0;
}

static int start(struct build_vpmu *b, const struct vpmu_time_options *time)
{
	struct vpmu_vm_options options;
	int err;

	build_vpmu_options(b, VPMU_INTEL_V2, 1, &options);
	options.backend.ops->destroy(options.backend.self);
	err = vpmu_backend_time(time, &options.backend);
	if (!err)
		build_vpmu_start(b, &options);
	return err;
}

/* No rounding adds up, however short the stays are. */
static void test_cycles(void **state)
{
	uint64_t now = 1000, inside = 0;
	struct vpmu_time_options time = { .size = sizeof(time), .cycles_hz = 2445423111,
					  .clock = test_clock, .clock_context = &now };
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start(&b, &time), 0);
	wr(&b, SELECT, ENABLE | BOTH | 0x3c);
	for (unsigned int i = 0; i < 10000; i++) {
		assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
		now += 1 + i % 13;
		inside += 1 + i % 13;
		vpmu_exit(b.vpmu, NULL);
		now += 999;	/* not the guest's */
		assert_int_equal(rd(&b, A_PMC),
			(unsigned __int128)inside * time.cycles_hz / 1000000000);
	}
	build_vpmu_deinit(&b);
}

static void test_pause(void **state)
{
	uint64_t now = 0;
	struct vpmu_time_options time = { .size = sizeof(time), .cycles_hz = 1000000000,
					  .clock = test_clock, .clock_context = &now };
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start(&b, &time), 0);
	wr(&b, SELECT, ENABLE | BOTH | 0x3c);
	for (unsigned int i = 0; i < 10; i++) {
		wr(&b, CONTROL, i & 1);
		assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
		now += 100;
		vpmu_exit(b.vpmu, NULL);
	}
	assert_int_equal(rd(&b, A_PMC), 500);
	build_vpmu_deinit(&b);
}

/* A guest that counts nothing costs nothing. */
static void test_idle(void **state)
{
	struct vpmu_time_options time = { .size = sizeof(time), .cycles_hz = 1000000000,
					  .clock = no_clock };
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start(&b, &time), 0);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_exit(b.vpmu, NULL);
	/* Refused, or off. */
	wr(&b, SELECT, ENABLE | BOTH | 0xc0);
	wr(&b, SELECT + 1, BOTH | 0x3c);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

/* What cannot be known: instructions, and the time in one mode alone. */
static void test_refused(void **state)
{
	static const uint64_t refused[] = { BOTH | 0xc0, BOTH | 0xc4, BOTH | 0x4f2e, BOTH | 0x12d0,
					    1U << 16 | 0x3c, 1U << 17 | 0x3c,
						BOTH | 0x3c | 1U << 24,
					    BOTH | 0x13c };
	struct vpmu_time_options time = { .size = sizeof(time), .cycles_hz = 1000000000 };
	struct vpmu_entry entry;
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start(&b, &time), 0);
	for (unsigned int i = 0; i < ARRAY_SIZE(refused); i++) {
		wr(&b, SELECT, ENABLE | refused[i]);
		assert_int_equal(vpmu_enter(b.vpmu, &entry), 0);
		assert_int_equal(entry.refused, 1);
		vpmu_exit(b.vpmu, NULL);
		assert_int_equal(rd(&b, A_PMC), 0);
		assert_int_equal(b.reports[i].kind, VPMU_REPORT_REFUSED);
	}
	build_vpmu_deinit(&b);
}

static void test_reference(void **state)
{
	uint64_t now = 0;
	struct vpmu_time_options time = { .size = sizeof(time), .cycles_hz = 3000000000,
					  .ref_hz = 2000000000, .clock = test_clock,
					  .clock_context = &now };
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start(&b, &time), 0);
	wr(&b, SELECT, ENABLE | BOTH | 0x13c);
	wr(&b, FIXED_CONTROL, 0x330);
	wr(&b, CONTROL, 1 | BIT(33) | BIT(34));
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	now = 10;
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(rd(&b, A_PMC), 20);
	assert_int_equal(rd(&b, FIXED + 1), 30);
	assert_int_equal(rd(&b, FIXED + 2), 20);
	build_vpmu_deinit(&b);
}

static void test_options(void **state)
{
	struct vpmu_time_options time = { .size = sizeof(time) };
	struct build_vpmu b;

	(void)state;
	assert_int_equal(start(&b, &time), -EINVAL);
	time.cycles_hz = 1000000000000;
	assert_int_equal(start(&b, &time), -EINVAL);
	time.cycles_hz = 1;
	time.size--;
	assert_int_equal(start(&b, &time), -EINVAL);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

/* By real time: the signal comes, and the counter has then overflowed, in the end. */
static void test_timer(void **state)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct vpmu_time_options time = { .size = sizeof(time), .signal = SIGUSR1,
					  .cycles_hz = 1000000000 };
	struct vpmu_exit left = { 0 };
	struct build_vpmu b;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(start(&b, &time), 0);
	wr(&b, A_PMC, BIT(48) - 3000000);
	wr(&b, SELECT, ENABLE | BOTH | 1U << 20 | 0x3c);
	while (!left.overflowed) {
		sig_atomic_t before = signals;

		/* As a guest that runs until it is told to leave. */
		assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
		while (signals == before)
			;
		vpmu_exit(b.vpmu, &left);
	}
	assert_true(left.pmi);
	assert_true(rd(&b, A_PMC) < BIT(47));
	build_vpmu_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
