/* SPDX-License-Identifier: GPL-2.0-only */
/* What CPUID tells: SDM vol. 2A and APM vol. 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-vpmu.h"

enum { EAX, EBX, ECX, EDX };

static void start(struct build_vpmu *b, const struct vpmu_geometry *geometry)
{
	struct vpmu_vm_options options;

	build_vpmu_options(b, geometry->model, VPMU_SLOTS, &options);
	options.geometry = *geometry;
	build_vpmu_start(b, &options);
}

static void check(const struct vpmu_geometry *geometry, uint32_t leaf, uint32_t subleaf,
		  const uint32_t before[4], const uint32_t after[4])
{
	struct build_vpmu b;
	uint32_t regs[4];

	start(&b, geometry);
	memcpy(regs, before, sizeof(regs));
	assert_int_equal(vpmu_vm_cpuid(b.vm, leaf, subleaf, regs),
			 memcmp(before, after, sizeof(regs)) != 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(regs[i], after[i]);
	assert_false(vpmu_vm_cpuid(b.vm, leaf, subleaf, regs));
	build_vpmu_deinit(&b);
}

#define REGS(...) ((const uint32_t[4]){ __VA_ARGS__ })
#define ALL REGS(~0U, ~0U, ~0U, ~0U)
#define ZERO REGS(0, 0, 0, 0)
/* 8000_0001H:ECX: IBS and the counters of core, northbridge, time and cache. */
#define AMD_PERFORMANCE (1U << 10 | 1U << 23 | 1U << 24 | 1U << 27 | 1U << 28)

static void test_leaf_a(void **state)
{
	static const struct vpmu_geometry v1 = { VPMU_INTEL_V1, 0, 2, 40, 0, 0, 0x7f };
	static const struct vpmu_geometry v2 = { VPMU_INTEL_V2, 0, 4, 48, 7, 48, 0x7f };
	static const struct vpmu_geometry some = { VPMU_INTEL_V4, 0, 8, 44, 3, 40, 0x13 };
	static const struct vpmu_geometry v5 = { VPMU_INTEL_V5, 0, 8, 48, 0xb, 48, 0xff };

	(void)state;
	check(&v1, 0xa, 0, ZERO, REGS(0x07280201, 0, 0, 0));
	check(&v2, 0xa, 0, ALL, REGS(0x07300402, 0, 0, 3 | 48 << 5));
	/* Events that are not there have their bit set in EBX. */
	check(&some, 0xa, 0, ZERO, REGS(0x072c0804, 0x6c, 0, 2 | 40 << 5));
	/* A gap: two without one, the bitmap has the fourth; AnyThread is deprecated. */
	check(&v5, 0xa, 0, ZERO, REGS(0x08300805, 0, 0xb, 2 | 48 << 5 | 1 << 15));
}

static void test_intel(void **state)
{
	static const struct vpmu_geometry plain = { VPMU_INTEL_V2, 0, 4, 48, 7, 48, 0x7f };
	static const struct vpmu_geometry full = { VPMU_INTEL_V2, VPMU_FULL_WIDTH, 4, 48, 7, 48,
		0x7f };

	(void)state;
	/* No DS, hence no PEBS; IA32_PERF_CAPABILITIES when there is something in it. */
	check(&plain, 1, 0, ALL, REGS(~0U, ~0U, ~0x8014U, ~0x200000U));
	check(&full, 1, 0, ZERO, REGS(0, 0, 0x8000, 0));
	check(&full, 7, 0, ALL, REGS(~0U, ~(1U << 25), ~0U, ~(1U << 19)));
	check(&full, 7, 1, ALL, REGS(~(1U << 8), ~0U, ~0U, ~0U));
	check(&full, 7, 2, ALL, ALL);
	check(&full, 0x14, 1, ALL, ZERO);
	check(&full, 0x1c, 0, ALL, ZERO);
	check(&full, 0x23, 0, ALL, ZERO);
	check(&full, 0xb, 0, ALL, ALL);
	/* The host may be AMD's. */
	check(&full, 0x80000001, 0, ALL, REGS(~0U, ~0U, ~AMD_PERFORMANCE, ~0U));
	check(&full, 0x8000001b, 0, ALL, ZERO);
	check(&full, 0x80000022, 0, ALL, ZERO);
	check(&full, 0x80000008, 0, ALL, ALL);
}

static void test_amd(void **state)
{
	static const struct vpmu_geometry k7 = { VPMU_AMD_K7, 0, 4, 48, 0, 0, 0 };
	static const struct vpmu_geometry core = { VPMU_AMD_CORE, 0, 6, 48, 0, 0, 0 };
	static const struct vpmu_geometry v2 = { VPMU_AMD_V2, 0, 6, 48, 0, 0, 0 };
	static const struct vpmu_geometry freezes = { VPMU_AMD_V2, VPMU_DEBUGCTL, 8, 48, 0, 0, 0 };
	const uint32_t all = AMD_PERFORMANCE;

	(void)state;
	check(&k7, 0x80000001, 0, ALL, REGS(~0U, ~0U, ~all, ~0U));
	check(&core, 0x80000001, 0, ALL, REGS(~0U, ~0U, ~all | 1U << 23, ~0U));
	check(&core, 0x80000001, 0, ZERO, REGS(0, 0, 1U << 23, 0));
	check(&core, 0x80000022, 0, ALL, ZERO);
	check(&v2, 0x80000022, 0, ALL, REGS(1, 6, 0, 0));
	check(&freezes, 0x80000022, 0, ALL, REGS(5, 8, 0, 0));
	check(&v2, 0x8000001b, 0, ALL, ZERO);
	/* The host may be Intel's. */
	check(&v2, 0xa, 0, ALL, ZERO);
	check(&v2, 7, 0, ALL, REGS(~0U, ~(1U << 25), ~0U, ~(1U << 19)));
	check(&v2, 7, 1, ALL, REGS(~(1U << 8), ~0U, ~0U, ~0U));
	check(&v2, 0x14, 1, ALL, ZERO);
	check(&v2, 0x1c, 0, ALL, ZERO);
	check(&v2, 0x23, 0, ALL, ZERO);
	check(&v2, 0xb, 0, ALL, ALL);
	check(&v2, 1, 0, ALL, REGS(~0U, ~0U, ~0x8014U, ~0x200000U));
}

static void test_needs(void **state)
{
	(void)state;
	for (int model = 0; model < 32; model++) {
		struct build_vpmu b;

		if (!vpmu_model_name(model))
			continue;
		build_vpmu(&b, model);
		assert_int_equal(vpmu_vm_cpuid_needs(b.vm, 0xa), model < VPMU_AMD_K7);
		assert_int_equal(vpmu_vm_cpuid_needs(b.vm, 0x80000022), model == VPMU_AMD_V2);
		assert_false(vpmu_vm_cpuid_needs(b.vm, 1));
		assert_int_equal(vpmu_vm_vendor(b.vm),
				 model < VPMU_AMD_K7 ? VPMU_INTEL : VPMU_AMD);
		build_vpmu_deinit(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaf_a),
		cmocka_unit_test(test_intel),
		cmocka_unit_test(test_amd),
		cmocka_unit_test(test_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
