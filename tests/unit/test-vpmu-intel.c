/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel's registers, as SDM vol. 3 ("Performance Monitoring") and vol. 4 have them, and what
 * kvm-unit-tests' x86/pmu.c and KVM's selftest pmu_counters_test ask of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "vpmu-access.h"

#define PMC 0xc1
#define SELECT 0x186
#define FIXED 0x309
#define CAPABILITIES 0x345
#define FIXED_CONTROL 0x38d
#define STATUS 0x38e
#define CONTROL 0x38f
#define RESET 0x390
#define SET 0x391
#define INUSE 0x392
#define A_PMC 0x4c1
#define DEBUGCTL 0x1d9

#define USER (1U << 16)
#define KERNEL (1U << 17)
#define INT (1U << 20)
#define ANY (1U << 21)
#define ENABLE (1U << 22)
#define FREEZE (1U << 12)

static void wr_gp(struct build_vpmu *b, uint32_t msr, uint64_t value)
{
	uint64_t before = rd(b, msr);

	assert_int_equal(vpmu_wrmsr(b->vpmu, msr, value), VPMU_GP);
	assert_int_equal(rd(b, msr), before);
}

static void not_there(struct build_vpmu *b, uint32_t msr)
{
	uint64_t value = 0x1234;

	assert_int_equal(vpmu_rdmsr(b->vpmu, msr, &value), VPMU_UNKNOWN);
	assert_int_equal(value, 0x1234);
	assert_int_equal(vpmu_wrmsr(b->vpmu, msr, 0), VPMU_UNKNOWN);
}

static void no_rdpmc(struct build_vpmu *b, uint32_t ecx)
{
	uint64_t value;

	assert_int_equal(vpmu_rdpmc(b->vpmu, ecx, true, &value), VPMU_GP);
}

static void start(struct build_vpmu *b, enum vpmu_model model, unsigned int nr_gp,
		  unsigned int fixed_mask, unsigned int flags)
{
	struct vpmu_vm_options options;

	build_vpmu_options(b, model, VPMU_SLOTS, &options);
	options.geometry.nr_gp = nr_gp;
	options.geometry.fixed_mask = fixed_mask;
	options.geometry.fixed_width = 48;
	options.geometry.flags = flags;
	build_vpmu_start(b, &options);
}

/* Which registers there are, for every number of counters. */
static void test_presence(void **state)
{
	(void)state;
	for (unsigned int nr = 1; nr <= 8; nr++) {
		for (int model = VPMU_INTEL_V1; model <= VPMU_INTEL_V5; model++) {
			struct build_vpmu b;
			unsigned int fixed = model == VPMU_INTEL_V1 ? 0 : (1U << nr % 4) - 1;

			start(&b, model, nr, fixed, nr & 1 ? VPMU_FULL_WIDTH : 0);
			for (unsigned int i = 0; i < 16; i++) {
				uint64_t value;

				if (i < nr) {
					wr(&b, PMC + i, 0xffff);
					assert_int_equal(rd(&b, PMC + i), 0xffff);
					wr(&b, SELECT + i, 0xffff);
					assert_int_equal(rd(&b, SELECT + i), 0xffff);
				} else {
					not_there(&b, PMC + i);
					not_there(&b, SELECT + i);
				}
				if (i < nr && (nr & 1))
					assert_int_equal(rd(&b, A_PMC + i), 0xffff);
				else
					not_there(&b, A_PMC + i);
				if (fixed >> i & 1) {
					wr(&b, FIXED + i, 0xffff);
					assert_int_equal(rd(&b, FIXED + i), 0xffff);
				} else {
					not_there(&b, FIXED + i);
				}
				assert_int_equal(vpmu_rdpmc(b.vpmu, i, true, &value),
						 i < nr ? VPMU_OK : VPMU_GP);
				assert_int_equal(vpmu_rdpmc(b.vpmu, i | 1U << 30, true, &value),
						 fixed >> i & 1 ? VPMU_OK : VPMU_GP);
				no_rdpmc(&b, i | 1U << 31);
				for (unsigned int bit = 4; bit < 30; bit++)
					no_rdpmc(&b, i | 1U << 30 | 1U << bit);
				no_rdpmc(&b, i | 1U << 29);
			}
			if (model == VPMU_INTEL_V1) {
				for (uint32_t msr = FIXED_CONTROL; msr <= INUSE; msr++)
					not_there(&b, msr);
			} else if (model < VPMU_INTEL_V4) {
				not_there(&b, SET);
				not_there(&b, INUSE);
			}
			build_vpmu_deinit(&b);
		}
	}
}

/* After power-up: the general counters' global enable bits are set, all else is clear. */
static void test_reset(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V4, 5, 7, VPMU_FULL_WIDTH);
	assert_int_equal(rd(&b, CONTROL), 0x1f);
	for (uint32_t msr = FIXED_CONTROL; msr <= INUSE; msr++)
		assert_int_equal(rd(&b, msr), msr == CONTROL ? 0x1f : 0);
	wr(&b, CONTROL, 0);
	wr(&b, SELECT, ENABLE | KERNEL | 0xc0);
	wr(&b, PMC, 77);
	vpmu_reset(b.vpmu);
	assert_int_equal(rd(&b, CONTROL), 0x1f);
	assert_int_equal(rd(&b, SELECT), 0);
	assert_int_equal(rd(&b, PMC), 0);
	build_vpmu_deinit(&b);
}

/* Each bit of each control register alone. */
static void test_reserved(void **state)
{
	(void)state;
	for (int model = VPMU_INTEL_V1; model <= VPMU_INTEL_V5; model++) {
		struct build_vpmu b;
		bool any = model == VPMU_INTEL_V3 || model == VPMU_INTEL_V4;

		start(&b, model, 4, model == VPMU_INTEL_V1 ? 0 : 7, VPMU_FULL_WIDTH);
		for (unsigned int i = 0; i < 64; i++) {
			if (i < 32 && (i != 21 || any))
				wr(&b, SELECT + 1, BIT(i));
			else
				wr_gp(&b, SELECT + 1, BIT(i));
			if (model == VPMU_INTEL_V1)
				continue;
			if (i < 12 && (i % 4 != 2 || any))
				wr(&b, FIXED_CONTROL, BIT(i));
			else
				wr_gp(&b, FIXED_CONTROL, BIT(i));
			if (i < 4 || (i >= 32 && i < 35))
				wr(&b, CONTROL, BIT(i));
			else
				wr_gp(&b, CONTROL, BIT(i));
			if (i < 4 || (i >= 32 && i < 35) || i == 62 || i == 63 ||
			    (i == 59 && model >= VPMU_INTEL_V4)) {
				wr(&b, RESET, BIT(i));
				if (model >= VPMU_INTEL_V4 && i < 63)
					wr(&b, SET, BIT(i));
				else if (model >= VPMU_INTEL_V4)
					wr_gp(&b, SET, BIT(i));
			} else {
				wr_gp(&b, RESET, BIT(i));
				if (model >= VPMU_INTEL_V4)
					wr_gp(&b, SET, BIT(i));
			}
			wr_gp(&b, STATUS, BIT(i));
			if (model >= VPMU_INTEL_V4)
				wr_gp(&b, INUSE, BIT(i));
		}
		build_vpmu_deinit(&b);
	}
}

/*
 * pmu.c's check_gp_counters_write_width(): IA32_PMCx extends bit 31, IA32_A_PMCx takes all or
 * faults.
 */
static void test_write_width(void **state)
{
	const uint64_t value = 0xffffff0123456789;
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V2, 4, 7, VPMU_FULL_WIDTH);
	assert_int_equal(rd(&b, CAPABILITIES), BIT(13));
	wr_gp(&b, CAPABILITIES, BIT(13));
	for (unsigned int i = 0; i < 4; i++) {
		wr(&b, PMC + i, value);
		assert_int_equal(rd(&b, PMC + i), 0x23456789);
		assert_int_equal(rd(&b, A_PMC + i), 0x23456789);
		wr(&b, PMC + i, 0x80000000);
		assert_int_equal(rd(&b, A_PMC + i), 0xffff80000000);
		wr(&b, A_PMC + i, value & (BIT(48) - 1));
		assert_int_equal(rd(&b, PMC + i), value & (BIT(48) - 1));
		wr_gp(&b, A_PMC + i, value);
		wr_gp(&b, A_PMC + i, BIT(48));
	}
	wr(&b, FIXED, BIT(48) - 1);
	wr_gp(&b, FIXED, BIT(48));
	build_vpmu_deinit(&b);
	/* Not told by IA32_PERF_CAPABILITIES: not there. */
	start(&b, VPMU_INTEL_V2, 4, 7, 0);
	not_there(&b, CAPABILITIES);
	not_there(&b, A_PMC);
	build_vpmu_deinit(&b);
}

/* pmu.c's check_rdpmc(), and who may. */
static void test_rdpmc(void **state)
{
	struct build_vpmu b;
	uint64_t value = 5;

	(void)state;
	start(&b, VPMU_INTEL_V2, 4, 7, VPMU_FULL_WIDTH);
	wr(&b, A_PMC + 2, 0xff0123456789 & (BIT(48) - 1));
	assert_int_equal(vpmu_rdpmc(b.vpmu, 2, true, &value), VPMU_OK);
	assert_int_equal(value, 0xff0123456789);
	wr(&b, FIXED + 1, 0xdead);
	assert_int_equal(vpmu_rdpmc(b.vpmu, 1U << 30 | 1, true, &value), VPMU_OK);
	assert_int_equal(value, 0xdead);
	assert_int_equal(vpmu_rdpmc(b.vpmu, 2, false, &value), VPMU_GP);
	assert_int_equal(value, 0xdead);
	build_vpmu_deinit(&b);
}

/* A counter counts when its own and the global bit are set, in the modes that it says. */
static void test_enable(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V2, 4, 7, VPMU_FULL_WIDTH);
	wr(&b, SELECT + 1, ENABLE | KERNEL | 0xc0);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 10);
	assert_int_equal(rd(&b, PMC + 1), 10);
	wr(&b, CONTROL, 1);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 10);
	assert_int_equal(rd(&b, PMC + 1), 10);
	wr(&b, CONTROL, 2);
	wr(&b, SELECT + 1, ENABLE | USER | 0xc0);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 10);
	assert_int_equal(rd(&b, PMC + 1), 10);
	wr(&b, SELECT + 1, KERNEL | 0xc0);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 10);
	assert_int_equal(rd(&b, PMC + 1), 10);
	wr(&b, SELECT + 1, ENABLE | 0xc0);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 10);
	assert_int_equal(rd(&b, PMC + 1), 10);
	wr(&b, SELECT + 1, ENABLE | USER | KERNEL | 0xc0);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 10);
	assert_int_equal(rd(&b, PMC + 1), 20);
	build_vpmu_run(&b, VPMU_EVENT_BRANCHES, 10);
	assert_int_equal(rd(&b, PMC + 1), 20);
	/* A write while it counts counts on from there. */
	wr(&b, PMC + 1, 0xdead);
	assert_int_equal(rd(&b, PMC + 1), 0xdead);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 1);
	assert_int_equal(rd(&b, PMC + 1), 0xdeae);
	build_vpmu_deinit(&b);
}

/* Version 1 has no global enable. */
static void test_v1(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V1, 2, 0, 0);
	wr(&b, SELECT, ENABLE | KERNEL | INT | 0x3c);
	wr(&b, PMC, 0xffffffff);
	assert_int_equal(rd(&b, PMC), BIT(40) - 1);
	assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_CYCLES, 3), 1);
	assert_int_equal(rd(&b, PMC), 2);
	build_vpmu_deinit(&b);
}

static void test_fixed(void **state)
{
	static const enum vpmu_arch_event events[] = {
		VPMU_EVENT_INSTRUCTIONS, VPMU_EVENT_CYCLES, VPMU_EVENT_REF_TSC, VPMU_EVENT_SLOTS };
	struct build_vpmu b;

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		start(&b, VPMU_INTEL_V5, 2, 0xf, VPMU_FULL_WIDTH);
		wr(&b, FIXED_CONTROL, 1ULL << 4 * i);
		build_vpmu_run(&b, events[i], 7);
		assert_int_equal(rd(&b, FIXED + i), 0);
		wr(&b, CONTROL, BIT(32 + i));
		for (unsigned int j = 0; j < 4; j++)
			build_vpmu_run(&b, events[j], 7);
		assert_int_equal(rd(&b, FIXED + i), 7);
		build_vpmu_deinit(&b);
	}
}

/* Version 5's bitmap may have gaps. */
static void test_fixed_gaps(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V5, 2, 0xb, 0);
	not_there(&b, FIXED + 2);
	wr_gp(&b, FIXED_CONTROL, 1 << 8);
	wr_gp(&b, CONTROL, BIT(34));
	wr(&b, FIXED_CONTROL, 1 << 12);
	wr(&b, CONTROL, BIT(35));
	build_vpmu_run(&b, VPMU_EVENT_SLOTS, 4);
	assert_int_equal(rd(&b, FIXED + 3), 4);
	build_vpmu_deinit(&b);
}

/* pmu.c's check_counter_overflow(): the status is set with or without an interrupt. */
static void test_overflow(void **state)
{
	(void)state;
	for (unsigned int with = 0; with < 2; with++) {
		struct build_vpmu b;
		struct vpmu_exit left;

		start(&b, VPMU_INTEL_V2, 4, 7, VPMU_FULL_WIDTH);
		wr(&b, SELECT + 3, ENABLE | KERNEL | (with ? INT : 0) | 0xc0);
		wr(&b, A_PMC + 3, BIT(48) - 100);
		assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 99), 0);
		assert_int_equal(rd(&b, STATUS), 0);
		assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
		/* The host's event tells just then. */
		assert_int_equal(vpmu_sim_run(b.sim, 0, VPMU_EVENT_INSTRUCTIONS, 0, false, 1), 1);
		vpmu_exit(b.vpmu, &left);
		assert_int_equal(left.overflowed, BIT(3));
		assert_int_equal(left.pmi, with);
		assert_int_equal(rd(&b, PMC + 3), 0);
		assert_int_equal(rd(&b, STATUS), BIT(3));
		wr(&b, RESET, BIT(2));
		assert_int_equal(rd(&b, STATUS), BIT(3));
		wr(&b, RESET, BIT(3));
		assert_int_equal(rd(&b, STATUS), 0);
		assert_int_equal(rd(&b, RESET), 0);
		build_vpmu_deinit(&b);
	}
}

static void test_fixed_overflow(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V2, 4, 7, 0);
	wr(&b, CONTROL, BIT(33));
	wr(&b, FIXED_CONTROL, 0x9 << 4);
	wr(&b, FIXED + 1, BIT(48) - 1);
	assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1), BIT(33));
	assert_int_equal(rd(&b, STATUS), BIT(33));
	build_vpmu_deinit(&b);
}

static void test_status_set(void **state)
{
	struct build_vpmu b;
	struct vpmu_exit left;

	(void)state;
	start(&b, VPMU_INTEL_V4, 4, 7, 0);
	wr(&b, SELECT, ENABLE | KERNEL | INT | 0xc0);
	wr(&b, SET, BIT(0) | BIT(34) | BIT(62));
	assert_int_equal(rd(&b, STATUS), BIT(0) | BIT(34) | BIT(62));
	assert_int_equal(rd(&b, SET), 0);
	/* CondChgd is for clearing only. */
	assert_int_equal(vpmu_wrmsr(b.vpmu, SET, BIT(63)), VPMU_GP);
	assert_int_equal(rd(&b, STATUS), BIT(0) | BIT(34) | BIT(62));
	/* It is software that has set it: no interrupt. */
	assert_int_equal(vpmu_enter(b.vpmu, NULL), 0);
	vpmu_exit(b.vpmu, &left);
	assert_false(left.pmi);
	wr(&b, RESET, BIT(0) | BIT(34) | BIT(62) | BIT(63));
	assert_int_equal(rd(&b, STATUS), 0);
	build_vpmu_deinit(&b);
}

static void test_in_use(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V4, 4, 7, 0);
	assert_int_equal(rd(&b, INUSE), 0);
	wr(&b, SELECT + 2, 0xc0);
	wr(&b, FIXED_CONTROL, 0x200);
	assert_int_equal(rd(&b, INUSE), BIT(2) | BIT(34));
	wr(&b, FIXED_CONTROL, 0x280);
	assert_int_equal(rd(&b, INUSE), BIT(2) | BIT(34) | BIT(63));
	wr(&b, FIXED_CONTROL, 0);
	wr(&b, SELECT + 2, INT | 0xff00);
	assert_int_equal(rd(&b, INUSE), BIT(63));
	build_vpmu_deinit(&b);
}

/* FREEZE_PERFMON_ON_PMI: versions 2 and 3 lose their enable bits, 4 and 5 have a bit for it. */
static void test_freeze(void **state)
{
	(void)state;
	for (int model = VPMU_INTEL_V2; model <= VPMU_INTEL_V5; model++) {
		bool old = model < VPMU_INTEL_V4;
		struct build_vpmu b;

		start(&b, model, 4, 7, VPMU_FULL_WIDTH | VPMU_DEBUGCTL);
		wr_gp(&b, DEBUGCTL, FREEZE | 1);
		wr(&b, DEBUGCTL, FREEZE);
		assert_int_equal(rd(&b, DEBUGCTL), FREEZE);
		wr(&b, SELECT, ENABLE | KERNEL | INT | 0xc0);
		wr(&b, SELECT + 1, ENABLE | KERNEL | 0xc4);
		wr(&b, A_PMC, BIT(48) - 5);
		build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 8);
		assert_int_equal(rd(&b, STATUS), BIT(0) | (old ? 0 : BIT(59)));
		assert_int_equal(rd(&b, CONTROL), old ? 0 : 0xf);
		/* Neither that one nor another counts now. */
		build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 8);
		build_vpmu_run(&b, VPMU_EVENT_BRANCHES, 8);
		assert_int_equal(rd(&b, PMC), 3);
		assert_int_equal(rd(&b, PMC + 1), 0);
		if (old)
			wr(&b, CONTROL, 0xf);
		wr(&b, RESET, rd(&b, STATUS));
		build_vpmu_run(&b, VPMU_EVENT_BRANCHES, 8);
		assert_int_equal(rd(&b, PMC + 1), 8);
		build_vpmu_deinit(&b);
	}
}

/* An overflow without an interrupt freezes nothing, nor does one without FREEZE_PERFMON_ON_PMI. */
static void test_no_freeze(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, VPMU_INTEL_V4, 4, 7, VPMU_FULL_WIDTH | VPMU_DEBUGCTL);
	wr(&b, DEBUGCTL, FREEZE);
	wr(&b, SELECT, ENABLE | KERNEL | 0xc0);
	wr(&b, A_PMC, BIT(48) - 1);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 1);
	assert_int_equal(rd(&b, STATUS), BIT(0));
	wr(&b, DEBUGCTL, 0);
	wr(&b, SELECT, ENABLE | KERNEL | INT | 0xc0);
	wr(&b, A_PMC, BIT(48) - 1);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 1);
	assert_int_equal(rd(&b, STATUS), BIT(0));
	build_vpmu_deinit(&b);
}

static int create(const struct vpmu_geometry *geometry)
{
	struct vpmu_vm_options options;
	struct build_vpmu b;
	struct vpmu_vm *vm;
	int err;

	build_vpmu_options(&b, VPMU_INTEL_V1, 1, &options);
	options.geometry = *geometry;
	err = vpmu_vm_create(&options, &vm);
	if (err)
		options.backend.ops->destroy(options.backend.self);
	else
		vpmu_vm_destroy(vm);
	return err;
}

static void test_geometry(void **state)
{
	static const struct {
		struct vpmu_geometry geometry;
		int err;
	} cases[] = {
		{ { VPMU_INTEL_V2, 0, 4, 48, 7, 48, 0x7f }, 0 },
		{ { VPMU_INTEL_V2, 0, 0, 48, 7, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 0, 10, 48, 7, 48, 0x7f }, 0 },
		{ { VPMU_INTEL_V2, 0, 11, 48, 7, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 0, 4, 31, 7, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 0, 4, 49, 7, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 0, 4, 48, 7, 0, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 0, 4, 48, 0, 0, 0x7f }, 0 },
		{ { VPMU_INTEL_V4, 0, 4, 48, 5, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V5, 0, 4, 48, 5, 48, 0x7f }, 0 },
		{ { VPMU_INTEL_V5, 0, 4, 48, 0x10000, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V1, 0, 2, 40, 1, 40, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V1, VPMU_DEBUGCTL, 2, 40, 0, 0, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 4, 4, 48, 7, 48, 0x7f }, -EINVAL },
		{ { VPMU_INTEL_V2, 0, 4, 48, 7, 48, 0x100 }, -EINVAL },
		{ { 6, 0, 4, 48, 7, 48, 0x7f }, -EINVAL },
		{ { 0, 0, 4, 48, 7, 48, 0x7f }, -EINVAL },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(create(&cases[i].geometry), cases[i].err);
}

/* All that the model answers for is in the list of ranges, and nothing beside. */
static void test_msrs(void **state)
{
	(void)state;
	for (int model = VPMU_INTEL_V1; model <= VPMU_INTEL_V5; model++) {
		struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
		struct build_vpmu b;
		unsigned int nr;

		build_vpmu(&b, model);
		nr = vpmu_vm_msrs(b.vm, ranges, VPMU_MAX_RANGES);
		assert_in_range(nr, 2, VPMU_MAX_RANGES);
		for (uint32_t msr = 0; msr < 0x1000; msr++) {
			bool listed = false;
			uint64_t value;

			for (unsigned int i = 0; i < nr; i++)
				listed |= msr - ranges[i].base < ranges[i].nr;
			if (vpmu_rdmsr(b.vpmu, msr, &value) == VPMU_OK)
				assert_true(listed);
			if (!listed)
				assert_int_equal(vpmu_wrmsr(b.vpmu, msr, 0), VPMU_UNKNOWN);
		}
		build_vpmu_deinit(&b);
	}
}

/*
 * AMD's registers are in the list as well: KVM would read them as 0, where there are none in an
 * Intel processor. There is still room for all.
 */
static void test_foreign(void **state)
{
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	struct build_vpmu b;
	unsigned int nr, listed = 0;
	uint64_t value;

	(void)state;
	start(&b, VPMU_INTEL_V5, 8, 0xf, VPMU_FULL_WIDTH | VPMU_DEBUGCTL);
	nr = vpmu_vm_msrs(b.vm, ranges, VPMU_MAX_RANGES);
	assert_in_range(nr, 1, VPMU_MAX_RANGES);
	for (uint32_t msr = 0xc0010000; msr < 0xc0010008; msr++) {
		for (unsigned int i = 0; i < nr; i++)
			listed += msr - ranges[i].base < ranges[i].nr;
		assert_int_equal(vpmu_rdmsr(b.vpmu, msr, &value), VPMU_UNKNOWN);
		assert_int_equal(vpmu_wrmsr(b.vpmu, msr, 0), VPMU_UNKNOWN);
	}
	assert_int_equal(listed, 8);
	build_vpmu_deinit(&b);
}

static bool is_listed(const struct build_vpmu *b, uint32_t msr)
{
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	unsigned int nr = vpmu_vm_msrs(b->vm, ranges, VPMU_MAX_RANGES);

	for (unsigned int i = 0; i < nr; i++)
		if (msr - ranges[i].base < ranges[i].nr)
			return true;
	return false;
}

/* So would KVM the second counter where there is one; what follows the last stays KVM's. */
static void test_second(void **state)
{
	struct build_vpmu b;

	(void)state;
	for (unsigned int nr = 1; nr <= 10; nr++) {
		start(&b, VPMU_INTEL_V1, nr, 0, 0);
		for (unsigned int i = 0; i < 16; i++) {
			assert_int_equal(is_listed(&b, PMC + i), i < 2 || i < nr);
			assert_int_equal(is_listed(&b, SELECT + i), i < 2 || i < nr);
		}
		if (nr == 1) {
			not_there(&b, PMC + 1);
			not_there(&b, SELECT + 1);
		}
		build_vpmu_deinit(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_presence),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_write_width),
		cmocka_unit_test(test_rdpmc),
		cmocka_unit_test(test_enable),
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_fixed_gaps),
		cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_fixed_overflow),
		cmocka_unit_test(test_status_set),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_freeze),
		cmocka_unit_test(test_no_freeze),
		cmocka_unit_test(test_geometry),
		cmocka_unit_test(test_msrs),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
