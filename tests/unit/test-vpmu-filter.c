/* SPDX-License-Identifier: GPL-2.0-only */
/* The semantics that Documentation/virt/kvm/api.rst gives to KVM_SET_PMU_EVENT_FILTER. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vpmu/filter.h"

#define ENTRY(select, mask, match, exclude) \
	(((uint64_t)(select) & 0xff) | ((uint64_t)(select) & 0xf00) << 24 | \
	 (uint64_t)((mask) & 0xff) << 56 | (uint64_t)((match) & 0xff) << 8 | \
	 (uint64_t)!!(exclude) << 55)
#define EVENT(select, umask) \
	(((uint64_t)(select) & 0xff) | ((uint64_t)(select) & 0xf00) << 24 | (umask) << 8)

static int init(enum vpmu_vendor vendor, uint32_t action, uint32_t flags, const uint64_t *events,
		uint32_t nr, struct event_filter *ret)
{
	return event_filter_init(vendor, &(struct vpmu_filter){
		.action = action, .nr = nr, .flags = flags, .events = events }, ret);
}

static void test_none(void **state)
{
	struct event_filter filter;

	(void)state;
	assert_int_equal(event_filter_init(VPMU_INTEL, NULL, &filter), 0);
	assert_true(event_filter_select(&filter, VPMU_INTEL, 0x1234));
	assert_true(event_filter_fixed(&filter, 2));
}

static void test_lists(void **state)
{
	static const uint64_t events[] = { 0x00c0, 0x00c4, 0x4f2e };
	struct event_filter allow, deny;

	(void)state;
	assert_int_equal(init(VPMU_INTEL, VPMU_FILTER_ALLOW, 0, events, 3, &allow), 0);
	assert_int_equal(init(VPMU_INTEL, VPMU_FILTER_DENY, 0, events, 3, &deny), 0);
	for (uint64_t select = 0; select < 0x10000; select++) {
		bool member = select == 0xc0 || select == 0xc4 || select == 0x4f2e;

		/* Other bits of the register are not looked at. */
		assert_int_equal(event_filter_select(&allow, VPMU_INTEL, select | 0xff430000),
			member);
		assert_int_equal(event_filter_select(&deny, VPMU_INTEL, select | 0xff430000),
			!member);
	}
}

/* Empty lists: deny nothing, allow nothing. */
static void test_empty(void **state)
{
	struct event_filter filter;

	(void)state;
	assert_int_equal(init(VPMU_AMD, VPMU_FILTER_DENY, 0, NULL, 0, &filter), 0);
	assert_true(event_filter_select(&filter, VPMU_AMD, 0x76));
	assert_int_equal(init(VPMU_AMD, VPMU_FILTER_ALLOW, 0, NULL, 0, &filter), 0);
	assert_false(event_filter_select(&filter, VPMU_AMD, 0x76));
}

/* AMD's event select has 12 bits: denying 1C2H leaves 0C2H alone. */
static void test_amd_select(void **state)
{
	static const uint64_t events[] = { EVENT(0x1c2, 0ULL) };
	struct event_filter filter;

	(void)state;
	assert_int_equal(init(VPMU_AMD, VPMU_FILTER_DENY, 0, events, 1, &filter), 0);
	assert_true(event_filter_select(&filter, VPMU_AMD, 0xc2));
	assert_false(event_filter_select(&filter, VPMU_AMD, 0x1000000c2));
}

/* Loads 81H, stores 82H, both 83H of Intel's D0H, as KVM's selftest takes them. */
static void test_masked(void **state)
{
	static const struct {
		uint64_t entries[2];
		uint32_t nr;
		bool loads, stores, both;
	} cases[] = {
		{ { ENTRY(0xd0, 0xff, 0x81, 0) }, 1, true, false, false },
		{ { ENTRY(0xd0, 0xff, 0x82, 0) }, 1, false, true, false },
		{ { ENTRY(0xd0, 0xff, 0x83, 0) }, 1, false, false, true },
		{ { ENTRY(0xd0, 0x7c, 0, 0), ENTRY(0xd0, 0xff, 0x83, 1) }, 2, true, true, false },
		{ { ENTRY(0xd0, 0xff, 0x82, 1), ENTRY(0xd0, 0x7c, 0, 0) }, 2, true, false, true },
		{ { ENTRY(0xd0, 0xfe, 0x82, 0) }, 1, false, true, true },
		{ { ENTRY(0xd0, 0x7c, 0, 0) }, 1, true, true, true },
		{ { ENTRY(0xd1, 0, 0, 0) }, 1, false, false, false },
		{ { ENTRY(0xd0, 0, 0, 1) }, 1, false, false, false },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_filter filter;

		assert_int_equal(init(VPMU_INTEL, VPMU_FILTER_ALLOW, VPMU_FILTER_MASKED,
				      cases[i].entries, cases[i].nr, &filter), 0);
		assert_int_equal(event_filter_select(&filter, VPMU_INTEL, 0x81d0), cases[i].loads);
		assert_int_equal(event_filter_select(&filter, VPMU_INTEL, 0x82d0), cases[i].stores);
		assert_int_equal(event_filter_select(&filter, VPMU_INTEL, 0x83d0), cases[i].both);
		/* A deny list of the same entries is the opposite. */
		assert_int_equal(init(VPMU_INTEL, VPMU_FILTER_DENY, VPMU_FILTER_MASKED,
				      cases[i].entries, cases[i].nr, &filter), 0);
		assert_int_equal(event_filter_select(&filter, VPMU_INTEL, 0x83d0), !cases[i].both);
	}
}

static void test_fixed(void **state)
{
	static const uint64_t events[] = { 0x003c, 0x00c0 };
	struct event_filter filter;

	(void)state;
	for (uint32_t bitmap = 0; bitmap < 16; bitmap++) {
		for (uint32_t action = 0; action < 2; action++) {
			assert_int_equal(event_filter_init(VPMU_INTEL, &(struct vpmu_filter){
				.action = action, .fixed_bitmap = bitmap, .nr = 2,
				.events = events }, &filter), 0);
			for (unsigned int i = 0; i < 4; i++) {
				bool named = bitmap >> i & 1;

				assert_int_equal(event_filter_fixed(&filter, i),
						 named == (action == VPMU_FILTER_ALLOW));
			}
		}
	}
}

static void test_wrong(void **state)
{
	static const uint64_t all[] = { UINT64_MAX };
	static const uint64_t good[] = { ENTRY(0xff, 0xff, 0xff, 0xf) };
	static const uint64_t amd[] = { ENTRY(0xfff, 0xff, 0xff, 0) };
	static uint64_t many[VPMU_FILTER_MAX + 1];
	struct event_filter filter = { .nr = 77 };

	(void)state;
	assert_int_equal(init(VPMU_INTEL, 2, 0, good, 1, &filter), -EINVAL);
	assert_int_equal(init(VPMU_INTEL, 0, 2, good, 1, &filter), -EINVAL);
	assert_int_equal(init(VPMU_INTEL, 0, 0, NULL, 1, &filter), -EINVAL);
	assert_int_equal(init(VPMU_INTEL, 0, 0, many, VPMU_FILTER_MAX + 1, &filter), -E2BIG);
	assert_int_equal(init(VPMU_INTEL, 0, VPMU_FILTER_MASKED, all, 1, &filter), -EINVAL);
	assert_int_equal(init(VPMU_INTEL, 0, VPMU_FILTER_MASKED, amd, 1, &filter), -EINVAL);
	assert_int_equal(filter.nr, 77);
	assert_int_equal(init(VPMU_AMD, 0, VPMU_FILTER_MASKED, amd, 1, &filter), 0);
	assert_int_equal(init(VPMU_INTEL, 0, VPMU_FILTER_MASKED, good, 1, &filter), 0);
	assert_int_equal(init(VPMU_INTEL, 0, 0, many, VPMU_FILTER_MAX, &filter), 0);
	/* A plain entry with other bits is taken, and matches nothing. */
	assert_int_equal(init(VPMU_INTEL, 0, 0, all, 1, &filter), 0);
	assert_false(event_filter_select(&filter, VPMU_INTEL, 0xffff));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_amd_select),
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
