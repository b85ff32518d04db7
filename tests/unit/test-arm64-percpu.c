/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU variables by the code that loads them: Debian 6.1's, as it is in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arm64-percpu.h"

/* call_on_irq_stack() at 0x166dc of the image: irq_stack_ptr is at 0x1804090. */
static const u32 irq_stack[] = {
	0xd503245f, 0xd53b4229, 0xd5034fdf, 0xa9bf7bfd, 0x910003fd, 0xd000bf70,
	0x91024210, 0xd538d091, 0xf8716a10, 0x9140121f,
};

static void test_code(void **state)
{
	u64 offset = 0;

	(void)state;
	assert_true(arm64_find_percpu((const u8 *)irq_stack, sizeof(irq_stack), 0x166dc, &offset));
	assert_int_equal(offset, 0x1804090);
	/* A page before the code's. */
	assert_true(arm64_find_percpu((const u8 *)(u32[]){ 0xf0fffff0, 0x91024210, 0xd53cd051,
							   0xf8716a10 }, 16, 0x166dc, &offset));
	assert_int_equal(offset, 0x15090);
}

static void test_truncated(void **state)
{
	u64 offset = 7;

	(void)state;
	for (u64 size = 0; size < 36; size++)
		assert_false(arm64_find_percpu((const u8 *)irq_stack, size, 0x166dc, &offset));
	assert_int_equal(offset, 7);
}

static void test_other_code(void **state)
{
	u64 offset = 7;

	(void)state;
	/* Each of the four is another register's or another instruction. */
	for (unsigned int i = 5; i < 9; i++) {
		u32 code[ARRAY_SIZE(irq_stack)];

		for (size_t j = 0; j < ARRAY_SIZE(code); j++)
			code[j] = irq_stack[j] ^ (i == j);
		assert_false(arm64_find_percpu((const u8 *)code, sizeof(code), 0, &offset));
	}
	assert_int_equal(offset, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_other_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
