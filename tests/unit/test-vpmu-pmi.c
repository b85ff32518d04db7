/* SPDX-License-Identifier: GPL-2.0-only */
/* The interrupt: one for what has overflowed, by the way that LVTPC says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vpmu-access.h"

#define PMC 0xc1
#define SELECT 0x186
#define A_PMC 0x4c1
#define K7_SELECT 0xc0010000
#define K7_COUNTER 0xc0010004
#define CYCLES ((1U << 22) | (1U << 17) | (1U << 20) | 0x3c)
#define CYCLES_AMD ((1U << 22) | (1U << 17) | (1U << 20) | 0x76)
#define NMI 0x400
#define MASKED (1U << 16)

static struct vpmu_pmi pmi(struct build_vpmu *b, uint32_t lvtpc)
{
	struct vpmu_pmi pmi;

	vpmu_pmi(b->vpmu, lvtpc, &pmi);
	return pmi;
}

static void overflow(struct build_vpmu *b)
{
	wr(b, A_PMC, BIT(48) - 1);
	wr(b, SELECT, CYCLES);
	assert_int_equal(build_vpmu_run(b, VPMU_EVENT_CYCLES, 1), 1);
}

static void test_ways(void **state)
{
	static const struct {
		uint32_t lvtpc;
		enum vpmu_pmi_kind kind;
		unsigned int vector;
	} ways[] = {
		{ NMI, VPMU_PMI_NMI, 0 },
		{ NMI | 0x42, VPMU_PMI_NMI, 0 },	/* an NMI has no vector */
		{ 0x42, VPMU_PMI_VECTOR, 0x42 },
		{ 0xfe, VPMU_PMI_VECTOR, 0xfe },
		{ 0x10, VPMU_PMI_VECTOR, 0x10 },
		{ 0x0f, VPMU_PMI_INVALID, 0 },
		{ 0x200, VPMU_PMI_SMI, 0 },
		{ 0x500, VPMU_PMI_INVALID, 0 },		/* INIT */
		{ 0x700, VPMU_PMI_INVALID, 0 },		/* ExtINT */
		{ MASKED | NMI, VPMU_PMI_NONE, 0 },
		{ MASKED | 0x42, VPMU_PMI_NONE, 0 },
	};
	struct build_vpmu b;

	(void)state;
	build_vpmu(&b, VPMU_INTEL_V2);
	for (unsigned int i = 0; i < ARRAY_SIZE(ways); i++) {
		bool goes = ways[i].kind != VPMU_PMI_NONE && ways[i].kind != VPMU_PMI_INVALID;
		struct vpmu_pmi got;

		overflow(&b);
		got = pmi(&b, ways[i].lvtpc);
		assert_int_equal(got.kind, ways[i].kind);
		assert_int_equal(got.vector, ways[i].vector);
		/* Intel's local APIC masks itself when it has delivered. */
		assert_int_equal(got.lvtpc, ways[i].lvtpc | (goes ? MASKED : 0));
		/* Taken, whatever became of it. */
		assert_int_equal(pmi(&b, NMI).kind, VPMU_PMI_NONE);
	}
	assert_int_equal(stats(&b).pmis, ARRAY_SIZE(ways));
	assert_int_equal(stats(&b).pmis_masked, 2);
	assert_int_equal(stats(&b).pmis_invalid, 3);
	assert_int_equal(stats(&b).pmis_delivered, 6);
	build_vpmu_deinit(&b);
}

static void test_amd_does_not_mask(void **state)
{
	struct build_vpmu b;
	struct vpmu_pmi got;

	(void)state;
	build_vpmu(&b, VPMU_AMD_K7);
	wr(&b, K7_SELECT, CYCLES_AMD);
	wr(&b, K7_COUNTER, -1ULL);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1);
	got = pmi(&b, NMI);
	assert_int_equal(got.kind, VPMU_PMI_NMI);
	assert_int_equal(got.lvtpc, NMI);
	build_vpmu_deinit(&b);
}

/* None without an overflow, one for each stay in the guest that had any. */
static void test_one_each(void **state)
{
	struct build_vpmu b;
	uint64_t value = 0, overflows = 0, pmis = 0;

	(void)state;
	build_vpmu(&b, VPMU_AMD_CORE);
	wr(&b, K7_SELECT, CYCLES_AMD);
	for (unsigned int i = 0; i < 3000; i++) {
		uint64_t step = 1 + i * 7919 % 1000;
		struct vpmu_exit left;

		if (i % 3 == 0) {
			value = BIT(48) - 1 - i % 1500;
			wr(&b, K7_COUNTER, value);
		}
		assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
		vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, step);
		vpmu_exit(b.vpmu, &left);
		value += step;
		assert_int_equal(left.pmi, value >> 48);
		overflows += value >> 48;
		value &= BIT(48) - 1;
		pmis += pmi(&b, NMI).kind == VPMU_PMI_NMI;
	}
	assert_true(overflows > 100);
	assert_int_equal(pmis, overflows);
	assert_int_equal(stats(&b).overflows, overflows);
	build_vpmu_deinit(&b);
}

/* Two counters in one stay: one interrupt, both bits. */
static void test_together(void **state)
{
	struct build_vpmu b;
	uint64_t status;

	(void)state;
	build_vpmu(&b, VPMU_INTEL_V3);
	for (unsigned int i = 0; i < 3; i++) {
		wr(&b, A_PMC + i, BIT(48) - 1);
		wr(&b, SELECT + i, CYCLES);
	}
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 5);
	assert_int_equal(vpmu_rdmsr(b.vpmu, 0x38e, &status), VPMU_OK);
	assert_int_equal(status, 7);
	assert_int_equal(pmi(&b, NMI).kind, VPMU_PMI_NMI);
	assert_int_equal(pmi(&b, NMI).kind, VPMU_PMI_NONE);
	build_vpmu_deinit(&b);
}

/* One that was not taken is still there at the next exit, and is still one. */
static void test_pending(void **state)
{
	struct build_vpmu b;
	struct vpmu_exit left;

	(void)state;
	build_vpmu(&b, VPMU_INTEL_V3);
	overflow(&b);
	wr(&b, SELECT, 0);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_exit(b.vpmu, &left);
	assert_true(left.pmi);
	assert_int_equal(left.overflowed, 0);
	overflow(&b);
	assert_int_equal(pmi(&b, NMI).kind, VPMU_PMI_NMI);
	assert_int_equal(pmi(&b, NMI).kind, VPMU_PMI_NONE);
	/* Gone with RESET. */
	overflow(&b);
	vpmu_reset(b.vpmu);
	assert_int_equal(pmi(&b, NMI).kind, VPMU_PMI_NONE);
	build_vpmu_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_amd_does_not_mask),
		cmocka_unit_test(test_one_each),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
