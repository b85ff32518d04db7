/* SPDX-License-Identifier: GPL-2.0-only */
/* What is not the guest's own system, by flags and registers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unwind/outside.h"

#define CR0_PE 0x11ULL
#define CR0_PG 0x80050033ULL

static void test_x86(void **state)
{
	static const struct {
		u64 cr0, pc;
		u32 flags;
		enum stop_reason stop;
	} cases[] = {
		{ CR0_PG, 0xffffffff81000000, 0, STOP_NONE },
		{ CR0_PG, 0x401000, WIRE_F_USER, STOP_NONE },
		{ 0x10, 0xfff0, 0, STOP_REAL_MODE },
		{ 0x10, 0xffffffff81000000, WIRE_F_FLAT, STOP_REAL_MODE },
		{ CR0_PE, 0x7c00, 0, STOP_FIRMWARE },
		{ CR0_PE, 0x7c00, WIRE_F_USER, STOP_FIRMWARE },
		/* A kernel that is not known may be anywhere, but for where ROMs are. */
		{ CR0_PG, 0xbffff, WIRE_F_FLAT, STOP_NONE },
		{ CR0_PG, 0xc0000, WIRE_F_FLAT, STOP_FIRMWARE },
		{ CR0_PG, 0xfffff, WIRE_F_FLAT, STOP_FIRMWARE },
		{ CR0_PG, 0x100000, WIRE_F_FLAT, STOP_NONE },
		{ CR0_PG, 0xfeffffff, WIRE_F_FLAT, STOP_NONE },
		{ CR0_PG, 0xff000000, WIRE_F_FLAT, STOP_FIRMWARE },
		{ CR0_PG, 0xffffffff, WIRE_F_FLAT, STOP_FIRMWARE },
		{ CR0_PG, 0x100000000, WIRE_F_FLAT, STOP_NONE },
		{ CR0_PG, 0xfffff, 0, STOP_NONE },
		/* Whatever the registers say. */
		{ 0x10, 0xfff0, WIRE_F_SMM, STOP_SMM },
		{ CR0_PG, 0xffffffff81000000, WIRE_F_SMM, STOP_SMM },
		{ CR0_PG, 0xffffffff81000000, WIRE_F_NESTED, STOP_NESTED },
		{ CR0_PG, 0x401000, WIRE_F_NESTED | WIRE_F_USER, STOP_NESTED },
		{ 0x10, 0xfff0, WIRE_F_NESTED, STOP_NESTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct wire_sample wire = {
			.flags = cases[i].flags,
			.regs = {
				.arch = VCPU_ARCH_X86_64,
				.bits = 64,
				.pc = cases[i].pc,
				.x86.cr0 = cases[i].cr0,
			},
		};

		assert_int_equal(outside_stop(&wire), cases[i].stop);
	}
}

/* Of 32 bits, with paging. */
static void test_x86_32(void **state)
{
	struct wire_sample wire = {
		.flags = WIRE_F_FLAT,
		.regs = {
			.arch = VCPU_ARCH_X86_64,
			.bits = 32,
			.pc = 0xfffffffffffc0000,
			.x86.cr0 = CR0_PG,
		},
	};

	(void)state;
	assert_int_equal(outside_stop(&wire), STOP_FIRMWARE);
	wire.regs.pc = 0xffffffffc1000000;
	assert_int_equal(outside_stop(&wire), STOP_NONE);
	wire.regs.bits = 64;
	wire.regs.pc = 0xfffffffffffc0000;
	assert_int_equal(outside_stop(&wire), STOP_NONE);
}

static void test_arm64(void **state)
{
	struct wire_sample wire = {
		.regs = { .arch = VCPU_ARCH_ARM64, .pc = 0x40080000 },
	};

	(void)state;
	assert_int_equal(outside_stop(&wire), STOP_FIRMWARE);
	wire.regs.arm64.sctlr = 1;
	assert_int_equal(outside_stop(&wire), STOP_NONE);
	wire.flags = WIRE_F_NESTED;
	assert_int_equal(outside_stop(&wire), STOP_NESTED);
}

static void test_low(void **state)
{
	struct wire_sample wire = { .regs = { .arch = VCPU_ARCH_X86_64, .pc = 0x9a000 } };

	(void)state;
	assert_true(outside_is_low(&wire));
	wire.flags = WIRE_F_USER;
	assert_false(outside_is_low(&wire));
	wire.flags = 0;
	wire.regs.pc = 0xffffffffc1000000;
	assert_false(outside_is_low(&wire));
	/* With a tag above, and without. */
	wire.regs.arch = VCPU_ARCH_ARM64;
	assert_false(outside_is_low(&wire));
	wire.regs.pc = 0x00ff800080000000;
	assert_false(outside_is_low(&wire));
	wire.regs.pc = 0xff0000004000c000;
	assert_true(outside_is_low(&wire));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_x86_32),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_low),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
