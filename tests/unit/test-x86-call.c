/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call instructions seen from behind: some as the assembler writes them, then all indirect forms,
 * listed by an encoder that goes from operands to bytes, against all pairs of bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "arch/x86-call.h"

#define NOP 0x90

struct bytes {
	u8 n;
	u8 data[9];
};

/* From GNU as 2.40; the comment is its input. */
static const struct bytes calls[] = {
	{ 5, { 0xe8, 0x11, 0x22, 0x33, 0x44 } },		/* call foo */
	{ 6, { 0x67, 0xe8, 0x11, 0x22, 0x33, 0x44 } },		/* the linker's addr32 call foo */
	{ 2, { 0xff, 0xd0 } },					/* call *%rax */
	{ 3, { 0x41, 0xff, 0xd4 } },				/* call *%r12 */
	{ 3, { 0x3e, 0xff, 0xd0 } },				/* notrack call *%rax */
	{ 2, { 0xff, 0x10 } },					/* call *(%rax) */
	{ 3, { 0x67, 0xff, 0x10 } },				/* call *(%eax) */
	{ 3, { 0xff, 0x14, 0x24 } },				/* call *(%rsp) */
	{ 4, { 0x41, 0xff, 0x14, 0x24 } },			/* call *(%r12) */
	{ 4, { 0x41, 0xff, 0x55, 0x00 } },			/* call *(%r13) */
	{ 4, { 0xff, 0x54, 0x24, 0x08 } },			/* call *8(%rsp) */
	{ 7, { 0xff, 0x94, 0x24, 0x00, 0x01, 0x00, 0x00 } },	/* call *0x100(%rsp) */
	{ 6, { 0xff, 0x15, 0x00, 0x10, 0x00, 0x00 } },		/* call *0x1000(%rip) */
	{ 7, { 0xff, 0x14, 0x25, 0x00, 0x10, 0x00, 0x00 } },	/* call *0x1000 */
	{ 7, { 0xff, 0x14, 0xc5, 0x00, 0x10, 0x00, 0x00 } },	/* call *0x1000(,%rax,8) */
	{ 3, { 0xff, 0x14, 0x98 } },				/* call *(%rax,%rbx,4) */
	{ 4, { 0xff, 0x54, 0x9d, 0x00 } },			/* call *(%rbp,%rbx,4) */
	{ 8, { 0x43, 0xff, 0x94, 0x88, 0, 0x10, 0, 0 } },	/* call *0x1000(%r8,%r9,4) */
	{ 3, { 0xff, 0x55, 0xf8 } },				/* call *-8(%rbp) */
	{ 4, { 0x65, 0xff, 0x50, 0x10 } },			/* call *%gs:0x10(%rax) */
};

static const struct bytes others[] = {
	{ 5, { 0xe9, 0x11, 0x22, 0x33, 0x44 } },		/* jmp foo */
	{ 2, { 0xff, 0xe0 } },					/* jmp *%rax */
	{ 2, { 0xff, 0x18 } },					/* lcall *(%rax) */
	{ 2, { 0xff, 0xf0 } },					/* push %rax, long form */
	{ 1, { 0xc3 } },					/* ret */
	{ 2, { 0x48, 0xcb } },					/* lretq */
	{ 4, { 0xe8, 0x11, 0x22, 0x33 } },			/* call, cut short */
	{ 6, { 0xe8, 0x11, 0x22, 0x33, 0x44, NOP } },		/* call and one more */
	{ 3, { 0xff, 0xd0, NOP } },
	{ 2, { 0xff, 0x14 } },					/* SIB missing */
	{ 5, { 0xff, 0x15, 0x00, 0x10, 0x00 } },		/* displacement cut short */
};

/* @bytes at the end of a run of NOPs. */
static bool ends_call(const struct bytes *bytes)
{
	u8 buf[16];

	memset(buf, NOP, sizeof(buf));
	memcpy(buf + sizeof(buf) - bytes->n, bytes->data, bytes->n);
	return x86_call_ends_at(buf, sizeof(buf));
}

static bool ends_far_call(const struct bytes *bytes)
{
	u8 buf[16];

	memset(buf, NOP, sizeof(buf));
	memcpy(buf + sizeof(buf) - bytes->n, bytes->data, bytes->n);
	return x86_far_call_ends_at(buf, sizeof(buf));
}

static const struct bytes far_calls[] = {
	{ 2, { 0xff, 0x18 } },					/* lcall *(%eax) */
	{ 3, { 0xff, 0x5d, 0xf8 } },				/* lcall *-8(%ebp) */
	{ 3, { 0xff, 0x1c, 0x24 } },				/* lcall *(%esp) */
	{ 6, { 0xff, 0x1d, 0x00, 0x10, 0x00, 0x00 } },		/* lcall *0x1000 */
	{ 7, { 0xff, 0x9c, 0x24, 0x00, 0x01, 0x00, 0x00 } },	/* lcall *0x100(%esp) */
};

static const struct bytes no_far_calls[] = {
	{ 2, { 0xff, 0xd8 } },					/* by a register: none */
	{ 2, { 0xff, 0x10 } },					/* call *(%eax) */
	{ 5, { 0xe8, 0x11, 0x22, 0x33, 0x44 } },		/* call foo */
	{ 5, { 0xff, 0x1d, 0x00, 0x10, 0x00 } },		/* displacement cut short */
};

static void test_far(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(far_calls); i++)
		assert_true(ends_far_call(&far_calls[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no_far_calls); i++)
		assert_false(ends_far_call(&no_far_calls[i]));
	for (size_t n = 0; n < 2; n++)
		assert_false(x86_far_call_ends_at((const u8 *)"\xff\x18" + n, 2 - n - 1));
}

static void test_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!ends_call(&calls[i]))
			fail_msg("call %zu not seen", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (ends_call(&others[i]))
			fail_msg("%zu taken for a call", i);
	}
}

/* Sizes of the calls of given ModRM and SIB; bit n: n bytes. SIB counts only where there is one. */
static u8 sizes[256][256];

enum { NO_REG = -1, RIP = 16 };

static void note(u8 modrm, int sib, unsigned int size)
{
	for (unsigned int i = 0; i < 256; i++) {
		if (sib < 0 || (unsigned int)sib == i)
			sizes[modrm][i] |= 1 << size;
	}
}

/* call *disp(base,index,scale), base and index by their low three bits. */
static void encode_memory(int base, int index, unsigned int scale, unsigned int disp_size)
{
	unsigned int mod = disp_size == 0 ? 0 : disp_size == 1 ? 1 : 2;

	if (base == RIP) {
		note(0x15, -1, 2 + 4);
	} else if (base == NO_REG) {
		note(0x14, scale << 6 | index << 3 | 5, 3 + 4);
	} else if (index != NO_REG || base == 4) {
		int i = index == NO_REG ? 4 : index;

		note(mod << 6 | 0x14, scale << 6 | i << 3 | base, 3 + disp_size);
	} else {
		note(mod << 6 | 0x10 | base, -1, 2 + disp_size);
	}
}

static void encode_all(void)
{
	static const unsigned int disps[] = { 0, 1, 4 };

	encode_memory(RIP, NO_REG, 0, 4);
	for (int reg = 0; reg < 8; reg++)
		note(0xd0 | reg, -1, 2);
	for (int index = 0; index < 8; index++) {
		for (unsigned int scale = 0; scale < 4; scale++)
			encode_memory(NO_REG, index, scale, 4);
	}
	for (int base = 0; base < 8; base++) {
		for (unsigned int d = 0; d < ARRAY_SIZE(disps); d++) {
			if (base == 5 && disps[d] == 0)
				continue;	/* RBP and R13 always have a displacement */
			encode_memory(base, NO_REG, 0, disps[d]);
			/* Index 4 is R12 with REX.X, no index without; the length is the same. */
			for (int index = 0; index < 8; index++) {
				for (unsigned int scale = 0; scale < 4; scale++)
					encode_memory(base, index, scale, disps[d]);
			}
		}
	}
}

static void test_all_indirect(void **state)
{
	(void)state;
	encode_all();
	for (unsigned int modrm = 0; modrm < 256; modrm++) {
		for (unsigned int sib = 0; sib < 256; sib++) {
			for (unsigned int n = 2; n <= X86_CALL_MAX + 1; n++) {
				struct bytes b = { n, { 0xff, modrm } };
				bool has_sib = n > 2 && modrm >> 6 != 3 && (modrm & 7) == 4;
				bool want = sizes[modrm][sib] & 1 << n;

				if (has_sib)
					b.data[2] = sib;
				want |= n >= 5 && b.data[n - 5] == 0xe8;
				if (ends_call(&b) != want)
					fail_msg("ff %02x %02x of %u bytes", modrm, sib, n);
			}
		}
	}
}

/* Fewer bytes than the longest call: no byte before them may be read (ASan sees it). */
static void test_short(void **state)
{
	u8 *one = malloc(1), *two = malloc(2);

	(void)state;
	assert_non_null(one);
	assert_non_null(two);
	*one = 0xff;
	two[0] = 0xff;
	two[1] = 0xd0;
	assert_false(x86_call_ends_at(one, 0));
	assert_false(x86_call_ends_at(one, 1));
	assert_true(x86_call_ends_at(two, 2));
	free(one);
	free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_all_indirect),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
