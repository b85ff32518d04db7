/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>

#include "vpmu/events.h"

#define BOTH (SELECT_USER | SELECT_KERNEL)

static enum vpmu_arch_event meaning(enum vpmu_vendor vendor, uint64_t select)
{
	struct vpmu_event event;

	event_from_select(vendor, select, 0xff, 0, &event);
	return event.arch;
}

/* SDM vol. 3, table of pre-defined architectural events; AMD's PPRs. */
static void test_meaning(void **state)
{
	static const uint16_t intel[] = { 0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5,
		0x01a4 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(intel); i++)
		assert_int_equal(meaning(VPMU_INTEL, intel[i] | BOTH), i);
	assert_int_equal(meaning(VPMU_AMD, 0x76), VPMU_EVENT_CYCLES);
	assert_int_equal(meaning(VPMU_AMD, 0xc0), VPMU_EVENT_INSTRUCTIONS);
	assert_int_equal(meaning(VPMU_AMD, 0xc2), VPMU_EVENT_BRANCHES);
	assert_int_equal(meaning(VPMU_AMD, 0xc3), VPMU_EVENT_BRANCH_MISSES);
	assert_int_equal(meaning(VPMU_AMD, 0x3c), VPMU_EVENT_RAW);
	assert_int_equal(meaning(VPMU_INTEL, 0x76), VPMU_EVENT_RAW);
	assert_int_equal(meaning(VPMU_AMD, 0x1000000c0), VPMU_EVENT_RAW);
	assert_int_equal(meaning(VPMU_INTEL, 0x0300), VPMU_EVENT_RAW);
}

/* With a modifier it is another thing; what else is in the register is not. */
static void test_modifiers(void **state)
{
	static const uint64_t other[] = { SELECT_EDGE, SELECT_INVERT, 1ULL << 24, SELECT_ANY };
	static const uint64_t same[] = { SELECT_INT, SELECT_ENABLE, SELECT_PIN };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(other); i++)
		assert_int_equal(meaning(VPMU_INTEL, 0x3c | other[i]), VPMU_EVENT_RAW);
	for (unsigned int i = 0; i < ARRAY_SIZE(same); i++)
		assert_int_equal(meaning(VPMU_INTEL, 0x3c | same[i]), VPMU_EVENT_CYCLES);
}

static void test_not_available(void **state)
{
	struct vpmu_event event;

	(void)state;
	event_from_select(VPMU_INTEL, 0xc4 | SELECT_KERNEL, 0xff & ~(1U << VPMU_EVENT_BRANCHES), 3,
			  &event);
	assert_int_equal(event.arch, VPMU_EVENT_RAW);
	assert_int_equal(event.raw, 0xc4);
	assert_int_equal(event.slot, 3);
	assert_true(event.kernel);
	assert_false(event.user);
}

static int to_perf(enum vpmu_vendor guest, uint64_t select, enum host_vendor host, bool raw,
		   struct perf_number *ret)
{
	struct vpmu_event event;

	event_from_select(guest, select, 0xff, 0, &event);
	return event_to_perf(&event, host, raw, ret);
}

static void test_to_perf(void **state)
{
	struct perf_number number;

	(void)state;
	assert_int_equal(to_perf(VPMU_INTEL, 0x3c | BOTH, HOST_AMD, false, &number), 0);
	assert_int_equal(number.config, 0x76);
	assert_int_equal(to_perf(VPMU_AMD, 0xc2, HOST_INTEL, false, &number), 0);
	assert_int_equal(number.config, 0xc4);
	assert_int_equal(to_perf(VPMU_INTEL, 0x4f2e, HOST_INTEL, false, &number), 0);
	assert_int_equal(number.config, 0x4f2e);
	assert_int_equal(number.type, PERF_TYPE_RAW);
	/* AMD's cache events are those of another cache. */
	assert_int_equal(to_perf(VPMU_INTEL, 0x4f2e, HOST_AMD, true, &number), -EOPNOTSUPP);
	assert_int_equal(to_perf(VPMU_INTEL, 0x013c, HOST_AMD, true, &number), -EOPNOTSUPP);
	/* Raw: to the same vendor, when that is wished for. */
	assert_int_equal(to_perf(VPMU_AMD, 0x1000001d1 | SELECT_EDGE, HOST_AMD, true, &number), 0);
	assert_int_equal(number.config, 0x1000001d1 | SELECT_EDGE);
	assert_int_equal(to_perf(VPMU_AMD, 0x1d1, HOST_AMD, false, &number), -EOPNOTSUPP);
	assert_int_equal(to_perf(VPMU_AMD, 0x1d1, HOST_INTEL, true, &number), -EOPNOTSUPP);
	/* The other thread of the core is not the guest's. */
	assert_int_equal(to_perf(VPMU_INTEL, 0x3c | SELECT_ANY, HOST_INTEL, true, &number),
		-EOPNOTSUPP);
}

/* On other processors: what has the kernel's name on all of them. */
static void test_to_perf_elsewhere(void **state)
{
	static const struct { uint64_t select; int config; } known[] = {
		{ 0x3c, PERF_COUNT_HW_CPU_CYCLES }, { 0xc0, PERF_COUNT_HW_INSTRUCTIONS },
		{ 0xc4, PERF_COUNT_HW_BRANCH_INSTRUCTIONS }, { 0xc5, PERF_COUNT_HW_BRANCH_MISSES },
		{ 0x013c, -1 }, { 0x4f2e, -1 }, { 0x412e, -1 }, { 0x01a4, -1 }, { 0x12d0, -1 },
	};
	struct vpmu_event event;
	struct perf_number number;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++) {
		int err = to_perf(VPMU_INTEL, known[i].select | BOTH, HOST_OTHER, true, &number);

		assert_int_equal(err, known[i].config < 0 ? -EOPNOTSUPP : 0);
		if (err)
			continue;
		assert_int_equal(number.type, PERF_TYPE_HARDWARE);
		assert_int_equal(number.config, known[i].config);
	}
	event_from_fixed(1, 3, &event);
	assert_int_equal(event_to_perf(&event, HOST_OTHER, false, &number), 0);
	assert_int_equal(number.config, PERF_COUNT_HW_CPU_CYCLES);
	event_from_fixed(2, 3, &event);
	assert_int_equal(event_to_perf(&event, HOST_OTHER, true, &number), -EOPNOTSUPP);
}

static void test_fixed(void **state)
{
	static const uint16_t intel[] = { 0x00c0, 0x003c, 0x0300, 0x0400 };
	struct vpmu_event event;
	struct perf_number number;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(intel); i++) {
		event_from_fixed(i, 0xb, &event);
		assert_true(event.fixed && event.user && event.kernel);
		assert_int_equal(event.slot, VPMU_FIXED_SLOT + i);
		assert_int_equal(event_to_perf(&event, HOST_INTEL, false, &number), 0);
		assert_int_equal(number.config, intel[i]);
		assert_int_equal(event_to_perf(&event, HOST_AMD, true, &number),
				 i < 2 ? 0 : -EOPNOTSUPP);
	}
	event_from_fixed(0, 1, &event);
	assert_true(event.kernel && !event.user);
	event_from_fixed(0, 2 | 4, &event);
	assert_true(event.user && !event.kernel);
	assert_int_equal(event.arch, VPMU_EVENT_RAW);
	assert_int_equal(event_to_perf(&event, HOST_INTEL, true, &number), -EOPNOTSUPP);
	event_from_fixed(4, 3, &event);
	assert_int_equal(event_to_perf(&event, HOST_INTEL, true, &number), -EOPNOTSUPP);
}

static void test_equal(void **state)
{
	struct vpmu_event a, b;

	(void)state;
	event_from_select(VPMU_INTEL, 0x3c | BOTH, 0xff, 1, &a);
	b = a;
	assert_true(event_equal(&a, &b));
	b.user = false;
	assert_false(event_equal(&a, &b));
	event_from_select(VPMU_INTEL, 0x3c | BOTH | SELECT_INT | SELECT_ENABLE, 0xff, 1, &b);
	assert_true(event_equal(&a, &b));
	event_from_select(VPMU_INTEL, 0x3c | BOTH, 0xff, 2, &b);
	assert_false(event_equal(&a, &b));
}

/* Before version 5 CPUID has no way to leave out a fixed counter but the last. */
static void test_keep(void **state)
{
	unsigned int cycles = 1U << VPMU_EVENT_CYCLES | 1U << VPMU_EVENT_REF_CYCLES |
			      1U << VPMU_EVENT_REF_TSC;
	struct vpmu_geometry geometry, before;

	(void)state;
	assert_int_equal(vpmu_geometry_init(&geometry, VPMU_INTEL_V4), 0);
	vpmu_geometry_keep(&geometry, cycles);
	assert_int_equal(geometry.arch_events, 5);
	assert_int_equal(geometry.fixed_mask, 7);
	assert_int_equal(vpmu_geometry_init(&geometry, VPMU_INTEL_V5), 0);
	geometry.fixed_mask |= 1U << 7;
	vpmu_geometry_keep(&geometry, cycles);
	assert_int_equal(geometry.arch_events, 5);
	assert_int_equal(geometry.fixed_mask, 6);
	assert_int_equal(vpmu_geometry_init(&geometry, VPMU_AMD_V2), 0);
	before = geometry;
	vpmu_geometry_keep(&geometry, 0);
	assert_memory_equal(&geometry, &before, sizeof(geometry));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meaning),
		cmocka_unit_test(test_modifiers),
		cmocka_unit_test(test_not_available),
		cmocka_unit_test(test_to_perf),
		cmocka_unit_test(test_to_perf_elsewhere),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
