/* SPDX-License-Identifier: GPL-2.0-only */
/* Frame records by a function's instructions, at each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arm64-frame.h"

#define PACIASP 0xd503233f
#define AUTIASP 0xd50323bf
#define NOP 0xd503201f
#define BL 0x94000100
#define RET 0xd65f03c0
#define STP_PRE 0xa9be7bfd	/* stp x29, x30, [sp, #-32]! */
#define STP_16 0xa9017bfd	/* stp x29, x30, [sp, #16] */
#define SUB_SP 0xd100c3ff	/* sub sp, sp, #48 */
#define MOV_FP 0x910003fd	/* mov x29, sp */
#define ADD_FP_16 0x910043fd	/* add x29, sp, #16 */
#define LDP_POST 0xa8c27bfd	/* ldp x29, x30, [sp], #32 */
#define LDP_16 0xa9417bfd	/* ldp x29, x30, [sp, #16] */
#define B_OUT 0x14001000
#define B_BACK(n) (0x14000000 | (-(n) & 0x3ffffff))
#define CBZ_BACK 0xb4ffffa0

struct want {
	u32 insn;
	enum arm64_frame frame;	/* when it is the next to run */
	u32 offset;
};

static void check(const struct want *want, size_t nr)
{
	u32 code[64], offset;

	for (size_t i = 0; i < nr; i++)
		code[i] = want[i].insn;
	for (size_t i = 0; i < nr; i++) {
		offset = 0;
		if (arm64_frame_at(code, nr, i, &offset) != want[i].frame)
			fail_msg("instruction %zu", i);
		if (want[i].frame == ARM64_FRAME_AT_SP)
			assert_int_equal(offset, want[i].offset);
	}
}

static void test_plain(void **state)
{
	static const struct want function[] = {
		{ PACIASP, ARM64_FRAME_LR, 0 },
		{ STP_PRE, ARM64_FRAME_LR, 0 },
		{ MOV_FP, ARM64_FRAME_AT_SP, 0 },
		{ BL, ARM64_FRAME_RECORD, 0 },
		{ NOP, ARM64_FRAME_RECORD, 0 },
		{ LDP_POST, ARM64_FRAME_RECORD, 0 },
		{ AUTIASP, ARM64_FRAME_LR, 0 },
		{ RET, ARM64_FRAME_LR, 0 },
	};

	(void)state;
	check(function, ARRAY_SIZE(function));
}

/* A way out in the middle, jumps inside, a tail call. */
static void test_ways_out(void **state)
{
	static const struct want function[] = {
		{ SUB_SP, ARM64_FRAME_LR, 0 },
		{ STP_16, ARM64_FRAME_LR, 0 },
		{ NOP, ARM64_FRAME_AT_SP, 16 },
		{ ADD_FP_16, ARM64_FRAME_AT_SP, 16 },
		{ CBZ_BACK, ARM64_FRAME_RECORD, 0 },
		{ LDP_16, ARM64_FRAME_RECORD, 0 },
		{ NOP, ARM64_FRAME_LR, 0 },
		{ RET, ARM64_FRAME_LR, 0 },
		{ BL, ARM64_FRAME_RECORD, 0 },
		{ B_BACK(5), ARM64_FRAME_RECORD, 0 },
		{ LDP_16, ARM64_FRAME_RECORD, 0 },
		{ NOP, ARM64_FRAME_LR, 0 },
		{ B_OUT, ARM64_FRAME_LR, 0 },
	};

	(void)state;
	check(function, ARRAY_SIZE(function));
}

static void test_leaf(void **state)
{
	static const struct want function[] = {
		{ NOP, ARM64_FRAME_LR, 0 },
		{ CBZ_BACK, ARM64_FRAME_LR, 0 },
		{ RET, ARM64_FRAME_LR, 0 },
	};

	(void)state;
	check(function, ARRAY_SIZE(function));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_ways_out),
		cmocka_unit_test(test_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
