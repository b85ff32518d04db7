/* SPDX-License-Identifier: GPL-2.0-only */
/* Accounting: every chain in one place, reasons in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/accounting.h"

static struct chain chain;

static void add(struct accounting *accounting, u32 flags, u8 kernel_stop, u8 user_stop)
{
	struct wire_sample wire = { .flags = flags };
	struct sample sample = { .wire = &wire };

	chain.kernel_stop = kernel_stop;
	chain.user_stop = user_stop;
	accounting_add(accounting, &sample, &chain);
}

static void test_every_chain_is_in_one_place(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct accounting accounting = { 0 }, sum = { 0 };
	u64 placed = 0;

	(void)state;
	add(&accounting, WIRE_F_TASK, STOP_COMPLETE, STOP_COMPLETE);
	add(&accounting, WIRE_F_TASK | WIRE_F_KTHREAD, STOP_COMPLETE, STOP_NONE);
	add(&accounting, WIRE_F_TASK, STOP_NO_RULE, STOP_COMPLETE);
	add(&accounting, WIRE_F_TASK, STOP_COMPLETE, STOP_DEPTH);
	add(&accounting, WIRE_F_USER | WIRE_F_MOVED, STOP_NONE, STOP_DEPTH);
	add(&accounting, WIRE_F_USER | WIRE_F_TASK, STOP_NONE, STOP_COMPLETE);
	accounting_sum(&sum, &accounting);
	accounting_sum(&sum, &accounting);
	for (unsigned int i = 0; i < STOP_NR; i++)
		placed += sum.from_kernel[i] + sum.from_user[i];
	assert_int_equal(sum.samples, 12);
	assert_int_equal(placed, sum.samples);
	assert_int_equal(sum.user, 4);
	assert_int_equal(sum.moved, 2);
	assert_int_equal(sum.no_task, 2);
	assert_int_equal(accounting_complete(&sum), 6);
	accounting_reasons(&sum, &text);
	assert_string_equal(strbuf_cstr(&text), "depth 4, no rule 2");
}

static void test_unverified_is_per_chain(void **state)
{
	struct accounting accounting = { 0 };

	(void)state;
	chain.nr = 3;
	chain.frames[1].flags = chain.frames[2].flags = FRAME_F_RETURN | FRAME_F_UNVERIFIED;
	add(&accounting, 0, STOP_COMPLETE, STOP_NONE);
	chain.nr = 1;
	add(&accounting, 0, STOP_COMPLETE, STOP_NONE);
	assert_int_equal(accounting.unverified, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_chain_is_in_one_place),
		cmocka_unit_test(test_unverified_is_per_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
