/* SPDX-License-Identifier: GPL-2.0-only */
/* Call instructions of arm64, of which binutils gives the encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arm64-call.h"

static bool ends(u32 insn)
{
	return arm64_call_ends_at((const u8 *)&insn, sizeof(insn));
}

static void test_calls(void **state)
{
	static const u32 calls[] = {
		0x94000001,	/* bl .+4 */
		0x97ffffff,	/* bl .-4 */
		0xd63f0000,	/* blr x0 */
		0xd63f03c0,	/* blr x30 */
		0xd63f081f,	/* blraaz x0 */
		0xd63f0e7f,	/* blrabz x19 */
		0xd73f0820,	/* blraa x1, x0 */
		0xd73f0e7f,	/* blrab x19, sp */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_true(ends(calls[i]));
}

static void test_others(void **state)
{
	static const u32 others[] = {
		0x14000001,	/* b .+4 */
		0xd61f0000,	/* br x0 */
		0xd65f03c0,	/* ret */
		0xd503201f,	/* nop */
		0xd4000001,	/* svc #0 */
		0xd71f0820,	/* braa x1, x0 */
		0xd65f0bff,	/* retaa */
		0,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(ends(others[i]));
}

static void test_size(void **state)
{
	static const u8 code[] = { 0x1f, 0x20, 0x03, 0xd5, 0x01, 0x00, 0x00, 0x94 };

	(void)state;
	assert_true(arm64_call_ends_at(code, 8));
	assert_false(arm64_call_ends_at(code, 4));
	assert_false(arm64_call_ends_at(code + 5, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
