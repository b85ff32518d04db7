/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters run, by a few lines that do what the kernel does with the instructions, over a record
 * made here; and given to the kernel's verifier where BPF is permitted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "capture/trace-filter.h"

static const char some[] =
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int reason;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:int error;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:u64 rip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:s8 small;\toffset:24;\tsize:1;\tsigned:1;\n"
	"\tfield:u16 port;\toffset:26;\tsize:2;\tsigned:0;\n"
	"\tfield:char comm[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 odd;\toffset:49;\tsize:4;\tsigned:0;\n";

struct record {
	u8 common[8];
	u32 reason;
	s32 error;
	u64 rip;
	s8 small;
	u8 pad;
	u16 port;
} __attribute__((packed));

static const struct record record = {
	.reason = 0x78, .error = -22, .rip = 0xffffffff81000123, .small = -3, .port = 0x3f8,
};

#define PID 4711
#define CPU 3
#define PROGRAMS 77

static struct trace_format format;
static struct bpf_insn insns[TRACE_FILTER_MAX_INSNS];
static size_t nr_insns;
static const char *why;

static int compile(const char *text)
{
	why = NULL;
	return trace_filter_compile(&format, text, PROGRAMS, insns, &nr_insns, &why);
}

/* A program's registers and its stack; of addresses only those in the record and the stack. */
struct machine {
	u64 r[11];
	u8 stack[512];
};

static u64 load(const u8 *at, u8 size)
{
	u64 value = 0;

	memcpy(&value, at, size == BPF_B ? 1 : size == BPF_H ? 2 : size == BPF_W ? 4 : 8);
	return value;
}

static bool compare(u8 how, u64 a, u64 b)
{
	switch (how) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JSLT:
		return (s64)a < (s64)b;
	case BPF_JSLE:
		return (s64)a <= (s64)b;
	case BPF_JSGT:
		return (s64)a > (s64)b;
	case BPF_JSGE:
		return (s64)a >= (s64)b;
	case BPF_JSET:
		return a & b;
	default:
		fail_msg("jump %x", how);
		return false;
	}
}

static void compute(struct machine *m, const struct bpf_insn *insn)
{
	u64 *to = &m->r[insn->dst_reg];
	u64 with = insn->code & BPF_X ? m->r[insn->src_reg] : (u64)(s64)insn->imm;

	switch (BPF_OP(insn->code)) {
	case BPF_MOV:
		*to = with;
		break;
	case BPF_AND:
		*to &= with;
		break;
	case BPF_OR:
		*to |= with;
		break;
	case BPF_XOR:
		*to ^= with;
		break;
	case BPF_LSH:
		*to <<= with;
		break;
	case BPF_ARSH:
		*to = (s64)*to >> with;
		break;
	default:
		fail_msg("operation %x", insn->code);
	}
	if (BPF_CLASS(insn->code) == BPF_ALU)
		*to = (u32)*to;
}

/* 1: a tail call; 0: the end. */
static int call_or_end(struct machine *m, const struct bpf_insn *insn)
{
	if (insn->imm == BPF_FUNC_tail_call) {
		assert_int_equal(m->r[BPF_REG_2], PROGRAMS);
		assert_int_equal(m->r[BPF_REG_3], 0);
		assert_int_equal(m->r[BPF_REG_1], (uintptr_t)&record);
		return 1;
	}
	m->r[0] = insn->imm == BPF_FUNC_get_current_pid_tgid ? (u64)1 << 32 | PID : CPU;
	return 0;
}

/* Whether the record passes. */
static bool run(void)
{
	struct machine m = { .r[BPF_REG_1] = (uintptr_t)&record };

	m.r[BPF_REG_10] = (uintptr_t)(m.stack + sizeof(m.stack));
	for (size_t pc = 0; pc < nr_insns; pc++) {
		const struct bpf_insn *insn = &insns[pc];
		u8 class = BPF_CLASS(insn->code);
		u8 *at;

		if (insn->code == (BPF_LD | BPF_DW | BPF_IMM)) {
			m.r[insn->dst_reg] = (u32)insn->imm | (u64)(u32)insns[++pc].imm << 32;
		} else if (class == BPF_LDX) {
			at = (u8 *)(uintptr_t)(m.r[insn->src_reg] + insn->off);
			m.r[insn->dst_reg] = load(at, BPF_SIZE(insn->code));
		} else if (class == BPF_STX) {
			at = (u8 *)(uintptr_t)(m.r[insn->dst_reg] + insn->off);
			memcpy(at, &m.r[insn->src_reg], sizeof(u64));
		} else if (class == BPF_ALU64 || class == BPF_ALU) {
			compute(&m, insn);
		} else if (insn->code == (BPF_JMP | BPF_EXIT)) {
			assert_int_equal(m.r[0], 1);
			return false;
		} else if (insn->code == (BPF_JMP | BPF_CALL)) {
			if (call_or_end(&m, insn))
				return true;
		} else if (compare(BPF_OP(insn->code), m.r[insn->dst_reg],
				   insn->code & BPF_X ? m.r[insn->src_reg] :
							(u64)(s64)insn->imm)) {
			pc += insn->off;
		}
	}
	fail_msg("no end");
	return false;
}

static const struct {
	const char *text;
	bool passes;
} filters[] = {
	{ "reason == 0x78", true },
	{ "reason==120", true },
	{ "reason == 0170", true },
	{ "reason != 120", false },
	{ "reason > 119 && reason < 121", true },
	{ "reason >= 121 || reason <= 119", false },
	{ "reason & 0x8", true },
	{ "reason & 0x7", false },
	{ "error == -22", true },
	{ "error < 0", true },
	{ "error > -23 && error <= -22", true },
	{ "error >= 0", false },
	{ "rip == 0xffffffff81000123", true },
	{ "rip > 0xffffffff81000122", true },
	{ "rip < 1", false },
	{ "small == -3", true },
	{ "small < -2", true },
	{ "small == 253", true },	/* cut to the field's size, as the kernel does it */
	{ "port == 0x3f8", true },
	{ "!(port == 0x3f8)", false },
	{ "!port == 0", true },
	{ "!(reason == 1 || port == 1)", true },
	{ "reason == 1 && port == 1 || error == -22", true },
	{ "reason == 1 && (port == 1 || error == -22)", false },
	{ "error == -22 || reason == 1 && port == 1", true },
	{ " ( ( reason == 120 ) ) ", true },
	{ "common_pid == 4711", true },
	{ "common_pid != 4711", false },
	{ "CPU == 3 && cpu == 3", true },
};

static void test_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		assert_int_equal(compile(filters[i].text), 0);
		if (run() != filters[i].passes)
			fail_msg("%s", filters[i].text);
	}
}

static void expect_error(const char *text, int err)
{
	assert_int_equal(compile(text), err);
	assert_non_null(why);
}

static void test_errors(void **state)
{
	static const char *const syntax[] = {
		"", "reason", "reason ==", "reason = 1", "== 1", "(reason == 1", "reason == 1)",
		"reason == 1 &&", "reason == 1 port == 2", "reason == 1x", "reason && 1", "!", "()",
		"reason == 99999999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(syntax); i++) {
		int err = compile(syntax[i]);

		if (err != -EBADMSG && err != -EOPNOTSUPP)
			fail_msg("%s: %d", syntax[i], err);
		assert_non_null(why);
	}
	expect_error("nosuch == 1", -ENOENT);
	expect_error("comm == \"a\"", -EOPNOTSUPP);
	expect_error("name ~ \"a*\"", -EOPNOTSUPP);
	expect_error("reason ~ \"a*\"", -EOPNOTSUPP);
	expect_error("reason == \"a\"", -EOPNOTSUPP);
	/* Where the verifier would not let us read. */
	expect_error("odd == 1", -EOPNOTSUPP);
}

/* However it is cut, and however deep or long it is. */
static void test_limits(void **state)
{
	static const char text[] = "!(reason == 1 && (port == 1 || error == -22)) || CPU < 3";
	char cut[sizeof(text)], *many;
	size_t len = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++) {
		memcpy(cut, text, i);
		cut[i] = '\0';
		compile(cut);
	}
	many = calloc(1, 1 << 16);
	assert_non_null(many);
	memset(many, '(', 1000);
	expect_error(many, -E2BIG);
	memset(many, '!', 1000);
	expect_error(many, -E2BIG);
	memset(many, 0, 1 << 16);
	while (len < 60000)
		len += sprintf(many + len, "reason == 1 || ");
	sprintf(many + len, "reason == 120");
	expect_error(many, -E2BIG);
	/* To the left it needs no more room: that is the limit of instructions. */
	many[15 * 50] = '\0';
	sprintf(many + 15 * 50, "reason == 120");
	assert_int_equal(compile(many), 0);
	assert_true(run());
	free(many);
}

/* The kernel takes what is compiled, whatever it compares. */
static void test_verifier(void **state)
{
	int programs = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", sizeof(u32), sizeof(u32),
				      1, NULL);

	(void)state;
	if (programs < 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		int program;

		assert_int_equal(trace_filter_compile(&format, filters[i].text, programs, insns,
						      &nr_insns, &why), 0);
		program = bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "filter", "GPL", insns, nr_insns,
					NULL);
		if (program < 0)
			fail_msg("%s: %d", filters[i].text, program);
		close(program);
	}
	close(programs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_verifier),
	};
	int err = trace_format_parse(some, &format);

	if (err)
		return 1;
	err = cmocka_run_group_tests(tests, NULL, NULL);
	trace_format_deinit(&format);
	return err;
}
