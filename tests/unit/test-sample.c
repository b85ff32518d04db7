/* SPDX-License-Identifier: GPL-2.0-only */
/* Checked views of wire records: every promise that does not hold is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "model/sample.h"

struct record {
	struct wire_sample wire;
	u64 frames[2];
	u8 stack[64];
};

static void fill(struct record *r)
{
	*r = (struct record){
		.wire = {
			.size = sizeof(*r),
			.type = WIRE_SAMPLE,
			.user_frames_offset = offsetof(struct record, frames),
			.nr_user_frames = 2,
			.nr_stacks = 1,
			.stacks[0] = {
				.gva = 0xffffc90000000000,
				.offset = offsetof(struct record, stack),
				.size = 64,
			},
		},
		.frames = { 0x1000, 0x2000 },
	};
	r->stack[63] = 7;
}

static void test_good(void **state)
{
	struct sample sample;
	struct record r;
	u8 byte;

	(void)state;
	fill(&r);
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), 0);
	assert_int_equal(sample.user_frames[1], 0x2000);
	assert_int_equal(sample_read_stack(&sample, GVA(0xffffc9000000003f), &byte, 1), 0);
	assert_int_equal(byte, 7);
	assert_int_equal(sample_read_stack(&sample, GVA(0xffffc90000000040), &byte, 1), -EFAULT);
	assert_int_equal(sample_read_stack(&sample, GVA(0xffffc8ffffffffff), &byte, 1), -EFAULT);
}

static void test_bad(void **state)
{
	struct sample sample;
	struct record r;

	(void)state;
	fill(&r);
	for (size_t cut = 0; cut < sizeof(r); cut++)
		assert_int_equal(sample_init(&sample, &r, cut), -ENODATA);
	r.wire.nr_stacks = WIRE_MAX_STACKS + 1;
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), -EBADMSG);
	fill(&r);
	r.wire.stacks[0].offset += 1;
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), -EBADMSG);
	fill(&r);
	r.wire.stacks[0].gva = ~0ULL;
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), -EBADMSG);
	fill(&r);
	r.wire.user_frames_offset = sizeof(r) - 8;
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), -EBADMSG);
	fill(&r);
	r.wire.type = 9;
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), -EBADMSG);
}

/* Of pages that were not mapped no byte is read. */
static void test_holes(void **state)
{
	static struct {
		struct wire_sample wire;
		u8 stack[WIRE_MAX_STACK_BYTES];
	} r;
	struct wire_stack *stack = &r.wire.stacks[0];
	struct sample sample;
	u8 bytes[600];

	(void)state;
	r.wire.size = sizeof(r);
	r.wire.type = WIRE_SAMPLE;
	r.wire.nr_stacks = 1;
	*stack = (struct wire_stack){ 0x7ffc00000e00, sizeof(r.wire), WIRE_MAX_STACK_BYTES };
	assert_int_equal(sample_init(&sample, &r, sizeof(r)), 0);
	for (u32 holes = 0; holes < 32; holes++) {
		stack->holes = holes;
		for (u64 skip = 0; skip + sizeof(bytes) <= WIRE_MAX_STACK_BYTES; skip += 100) {
			bool want = false;

			for (u64 i = skip; i < skip + sizeof(bytes); i++)
				want |= holes & 1U << (i + 0xe00) / 4096;
			assert_int_equal(wire_stack_in_hole(stack, skip, sizeof(bytes)), want);
			assert_int_equal(sample_read_stack(&sample, GVA(stack->gva + skip), bytes,
							   sizeof(bytes)),
					 want ? -EFAULT : 0);
		}
	}
}

static void test_stop_texts(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < STOP_NR; i++)
		assert_non_null(stop_reason_text(i));
	assert_string_equal(stop_reason_text(STOP_NR), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_stop_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
