/* SPDX-License-Identifier: GPL-2.0-only */
/* AMD's registers, as APM vol. 2 ("Performance Monitoring Counters") has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vpmu-access.h"

#define K7_SELECT 0xc0010000
#define K7_COUNTER 0xc0010004
#define CORE 0xc0010200
#define STATUS 0xc0000300
#define CONTROL 0xc0000301
#define CLEAR 0xc0000302
#define SET 0xc0000303
#define DEBUGCTL 0x1d9

#define KERNEL (1U << 17)
#define INT (1U << 20)
#define ENABLE (1U << 22)

static void not_there(struct build_vpmu *b, uint32_t msr)
{
	uint64_t value;

	assert_int_equal(vpmu_rdmsr(b->vpmu, msr, &value), VPMU_UNKNOWN);
	assert_int_equal(vpmu_wrmsr(b->vpmu, msr, 0), VPMU_UNKNOWN);
}

static void start(struct build_vpmu *b, enum vpmu_model model, unsigned int nr_gp,
		  unsigned int flags)
{
	struct vpmu_vm_options options;

	build_vpmu_options(b, model, VPMU_SLOTS, &options);
	options.geometry.nr_gp = nr_gp;
	options.geometry.flags = flags;
	build_vpmu_start(b, &options);
}

static void test_presence(void **state)
{
	static const struct {
		enum vpmu_model model;
		unsigned int nr;
	} cases[] = { { VPMU_AMD_K7, 4 }, { VPMU_AMD_CORE, 6 }, { VPMU_AMD_V2, 6 }, { VPMU_AMD_V2,
		15 } };

	(void)state;
	for (unsigned int c = 0; c < ARRAY_SIZE(cases); c++) {
		struct build_vpmu b;
		uint64_t value;

		start(&b, cases[c].model, cases[c].nr, 0);
		for (unsigned int i = 0; i < 16; i++) {
			if (cases[c].model != VPMU_AMD_K7 && i < cases[c].nr) {
				wr(&b, CORE + 2 * i, i + 1);
				wr(&b, CORE + 2 * i + 1, i + 100);
				assert_int_equal(rd(&b, CORE + 2 * i), i + 1);
				assert_int_equal(rd(&b, CORE + 2 * i + 1), i + 100);
			} else {
				not_there(&b, CORE + 2 * i);
				not_there(&b, CORE + 2 * i + 1);
			}
			assert_int_equal(vpmu_rdpmc(b.vpmu, i, true, &value),
					 i < cases[c].nr ? VPMU_OK : VPMU_GP);
			assert_int_equal(vpmu_rdpmc(b.vpmu, i, false, &value), VPMU_GP);
		}
		assert_int_equal(vpmu_rdpmc(b.vpmu, 1U << 30, true, &value), VPMU_GP);
		/* The first four, at their old place. */
		for (unsigned int i = 0; i < 4; i++) {
			if (cases[c].model != VPMU_AMD_K7) {
				assert_int_equal(rd(&b, K7_SELECT + i), i + 1);
				assert_int_equal(rd(&b, K7_COUNTER + i), i + 100);
			}
			wr(&b, K7_COUNTER + i, i + 200);
			assert_int_equal(vpmu_rdpmc(b.vpmu, i, true, &value), VPMU_OK);
			assert_int_equal(value, i + 200);
		}
		not_there(&b, K7_COUNTER + 4);
		if (cases[c].model != VPMU_AMD_V2)
			for (uint32_t msr = STATUS; msr <= SET; msr++)
				not_there(&b, msr);
		not_there(&b, SET + 1);
		build_vpmu_deinit(&b);
	}
}

/* Reserved bits are not kept, and do not fault. */
static void test_reserved(void **state)
{
	struct build_vpmu b;

	(void)state;
	build_vpmu(&b, VPMU_AMD_V2);
	for (unsigned int i = 0; i < 64; i++) {
		bool kept = i < 36 && i != 19 && i != 21;

		wr(&b, CORE, BIT(i));
		assert_int_equal(rd(&b, CORE), kept ? BIT(i) : 0);
		wr(&b, CORE + 1, BIT(i));
		assert_int_equal(rd(&b, CORE + 1), i < 48 ? BIT(i) : 0);
		wr(&b, CONTROL, BIT(i));
		assert_int_equal(rd(&b, CONTROL), i < 6 ? BIT(i) : 0);
		wr(&b, SET, BIT(i));
		assert_int_equal(rd(&b, STATUS), i < 6 ? BIT(i) : 0);
		wr(&b, STATUS, 0);
		assert_int_equal(rd(&b, STATUS), i < 6 ? BIT(i) : 0);
		wr(&b, CLEAR, BIT(i));
		assert_int_equal(rd(&b, STATUS), 0);
		assert_int_equal(rd(&b, CLEAR), 0);
		assert_int_equal(rd(&b, SET), 0);
	}
	build_vpmu_deinit(&b);
}

/* What the selftest's AMD guest does, through the registers that all have. */
static void test_count(void **state)
{
	(void)state;
	for (int model = VPMU_AMD_K7; model <= VPMU_AMD_V2; model++) {
		struct build_vpmu b;

		build_vpmu(&b, model);
		wr(&b, K7_SELECT, 0);
		wr(&b, K7_SELECT, ENABLE | KERNEL | 0xc2);
		wr(&b, K7_SELECT + 1, ENABLE | KERNEL | 0xc0);
		build_vpmu_run(&b, VPMU_EVENT_BRANCHES, 42);
		build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 43);
		assert_int_equal(rd(&b, K7_COUNTER), 42);
		assert_int_equal(rd(&b, K7_COUNTER + 1), 43);
		assert_int_equal(rd(&b, K7_COUNTER + 2), 0);
		wr(&b, K7_SELECT, KERNEL | 0xc2);
		build_vpmu_run(&b, VPMU_EVENT_BRANCHES, 42);
		assert_int_equal(rd(&b, K7_COUNTER), 42);
		build_vpmu_deinit(&b);
	}
}

static void test_raw(void **state)
{
	struct build_vpmu b;

	(void)state;
	build_vpmu(&b, VPMU_AMD_CORE);
	wr(&b, CORE, ENABLE | KERNEL | 0x1000003d1);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_RAW, 0x1000003d1, false, 5);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_RAW, 0x0000003d1, false, 7);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(rd(&b, CORE + 1), 5);
	build_vpmu_deinit(&b);
}

static void test_global(void **state)
{
	struct build_vpmu b;

	(void)state;
	build_vpmu(&b, VPMU_AMD_V2);
	assert_int_equal(rd(&b, CONTROL), 0x3f);
	wr(&b, CONTROL, 0x20);
	wr(&b, CORE + 2 * 5, ENABLE | KERNEL | INT | 0x76);
	wr(&b, CORE + 2 * 4, ENABLE | KERNEL | 0x76);
	wr(&b, CORE + 2 * 5 + 1, -10ULL);
	assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_CYCLES, 25), BIT(5));
	assert_int_equal(rd(&b, CORE + 2 * 5 + 1), 15);
	assert_int_equal(rd(&b, CORE + 2 * 4 + 1), 0);
	assert_int_equal(rd(&b, STATUS), BIT(5));
	wr(&b, CLEAR, BIT(5));
	assert_int_equal(rd(&b, STATUS), 0);
	build_vpmu_deinit(&b);
}

static void test_freeze(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_AMD_V2, 6, VPMU_DEBUGCTL);
	wr(&b, DEBUGCTL, 1U << 12);
	wr(&b, CORE, ENABLE | KERNEL | INT | 0x76);
	wr(&b, CORE + 1, -1ULL);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 3);
	assert_int_equal(rd(&b, STATUS), BIT(0) | BIT(59));
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 3);
	assert_int_equal(rd(&b, CORE + 1), 2);
	wr(&b, CLEAR, BIT(59) | BIT(0));
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 3);
	assert_int_equal(rd(&b, CORE + 1), 5);
	build_vpmu_deinit(&b);
}

static void test_geometry(void **state)
{
	static const struct {
		struct vpmu_geometry geometry;
		int err;
	} cases[] = {
		{ { VPMU_AMD_K7, 0, 4, 48, 0, 0, 0 }, 0 },
		{ { VPMU_AMD_K7, 0, 6, 48, 0, 0, 0 }, -EINVAL },
		{ { VPMU_AMD_CORE, 0, 4, 48, 0, 0, 0 }, -EINVAL },
		{ { VPMU_AMD_CORE, 0, 7, 48, 0, 0, 0 }, -EINVAL },
		{ { VPMU_AMD_V2, 0, 15, 48, 0, 0, 0 }, 0 },
		{ { VPMU_AMD_V2, 0, 16, 48, 0, 0, 0 }, -EINVAL },
		{ { VPMU_AMD_V2, 0, 6, 47, 0, 0, 0 }, -EINVAL },
		{ { VPMU_AMD_V2, 0, 6, 48, 1, 48, 0 }, -EINVAL },
		{ { VPMU_AMD_V2, VPMU_FULL_WIDTH, 6, 48, 0, 0, 0 }, -EINVAL },
		{ { VPMU_AMD_CORE, VPMU_DEBUGCTL, 6, 48, 0, 0, 0 }, -EINVAL },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct vpmu_vm_options options;
		struct build_vpmu b;
		struct vpmu_vm *vm;
		int err;

		build_vpmu_options(&b, VPMU_AMD_K7, 1, &options);
		options.geometry = cases[i].geometry;
		err = vpmu_vm_create(&options, &vm);
		assert_int_equal(err, cases[i].err);
		if (err)
			options.backend.ops->destroy(options.backend.self);
		else
			vpmu_vm_destroy(vm);
	}
}

/* Intel's registers that KVM would read as 0 are in the list, and there are none. */
static void test_foreign(void **state)
{
	static const uint32_t msrs[] = { 0xc1, 0xc2, 0x186, 0x187 };
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	struct build_vpmu b;
	unsigned int nr, listed = 0;

	(void)state;
	start(&b, VPMU_AMD_V2, 6, VPMU_DEBUGCTL);
	nr = vpmu_vm_msrs(b.vm, ranges, VPMU_MAX_RANGES);
	assert_in_range(nr, 1, VPMU_MAX_RANGES);
	for (unsigned int m = 0; m < ARRAY_SIZE(msrs); m++) {
		for (unsigned int i = 0; i < nr; i++)
			listed += msrs[m] - ranges[i].base < ranges[i].nr;
		not_there(&b, msrs[m]);
	}
	assert_int_equal(listed, ARRAY_SIZE(msrs));
	build_vpmu_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_presence),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_global),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_geometry),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
