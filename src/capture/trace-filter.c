/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From a filter to BPF. Each comparison leaves 0 or 1 in a slot of the stack, and each operator
 * makes one of what the last two slots have: a filter is a few comparisons, all are made.
 */
#include "capture/trace-filter.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/errors.h"
#include "base/file.h"
#include "capture/backend.h"

#define FILTER_FILE_MAX 65536
#define MAX_DEPTH 32	/* slots, and parentheses in each other */

enum compare {
	COMPARE_EQ,
	COMPARE_NE,
	COMPARE_LE,
	COMPARE_GE,
	COMPARE_LT,
	COMPARE_GT,
	COMPARE_AND,
	COMPARE_NR,
};

/* Longer ones first: <= is not <. */
static const char *const compare_names[COMPARE_NR] = {
	[COMPARE_EQ] = "==", [COMPARE_NE] = "!=", [COMPARE_LE] = "<=", [COMPARE_GE] = ">=",
	[COMPARE_LT] = "<",  [COMPARE_GT] = ">",  [COMPARE_AND] = "&",
};

static const u8 unsigned_jumps[COMPARE_NR] = {
	[COMPARE_EQ] = BPF_JEQ, [COMPARE_NE] = BPF_JNE, [COMPARE_LE] = BPF_JLE,
	[COMPARE_GE] = BPF_JGE, [COMPARE_LT] = BPF_JLT, [COMPARE_GT] = BPF_JGT,
	[COMPARE_AND] = BPF_JSET,
};

static const u8 signed_jumps[COMPARE_NR] = {
	[COMPARE_EQ] = BPF_JEQ,	 [COMPARE_NE] = BPF_JNE,  [COMPARE_LE] = BPF_JSLE,
	[COMPARE_GE] = BPF_JSGE, [COMPARE_LT] = BPF_JSLT, [COMPARE_GT] = BPF_JSGT,
	[COMPARE_AND] = BPF_JSET,
};

struct compiler {
	const struct trace_format *format;
	const char *at;
	struct bpf_insn *insns;
	size_t nr;
	unsigned int slots, depth;
	const char *why;
	int error;
};

static void fail(struct compiler *c, int err, const char *why)
{
	if (c->error)
		return;
	c->error = err;
	c->why = why;
}

static void emit(struct compiler *c, u8 code, u8 dst, u8 src, s16 off, s32 imm)
{
	if (c->nr >= TRACE_FILTER_MAX_INSNS) {
		fail(c, -E2BIG, "the filter is too long");
		return;
	}
	c->insns[c->nr++] = (struct bpf_insn){
		.code = code, .dst_reg = dst, .src_reg = src, .off = off, .imm = imm,
	};
}

static void emit_load_number(struct compiler *c, u8 reg, u64 value)
{
	emit(c, BPF_LD | BPF_DW | BPF_IMM, reg, 0, 0, (u32)value);
	emit(c, 0, 0, 0, 0, value >> 32);
}

static void skip_blanks(struct compiler *c)
{
	while (isspace((unsigned char)*c->at))
		c->at++;
}

static bool take(struct compiler *c, const char *word)
{
	skip_blanks(c);
	if (strncmp(c->at, word, strlen(word)))
		return false;
	c->at += strlen(word);
	return true;
}

static s16 slot_offset(unsigned int slot)
{
	return -8 * (s16)(slot + 1);
}

/* What @code makes of the last two is one. */
static void combine(struct compiler *c, u8 code)
{
	c->slots--;
	emit(c, BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_2, BPF_REG_10, slot_offset(c->slots - 1), 0);
	emit(c, BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_3, BPF_REG_10, slot_offset(c->slots), 0);
	emit(c, BPF_ALU64 | code | BPF_X, BPF_REG_2, BPF_REG_3, 0, 0);
	emit(c, BPF_STX | BPF_DW | BPF_MEM, BPF_REG_10, BPF_REG_2, slot_offset(c->slots - 1), 0);
}

static void negate(struct compiler *c)
{
	emit(c, BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_2, BPF_REG_10, slot_offset(c->slots - 1), 0);
	emit(c, BPF_ALU64 | BPF_XOR | BPF_K, BPF_REG_2, 0, 0, 1);
	emit(c, BPF_STX | BPF_DW | BPF_MEM, BPF_REG_10, BPF_REG_2, slot_offset(c->slots - 1), 0);
}

static u8 load_size(u16 size)
{
	switch (size) {
	case 1:
		return BPF_B;
	case 2:
		return BPF_H;
	case 4:
		return BPF_W;
	default:
		return BPF_DW;
	}
}

/* To register 2, as 64 bits with its sign. The context is in register 6. */
static void emit_field(struct compiler *c, const struct trace_field *field)
{
	u8 shift = 64 - 8 * field->size;

	emit(c, BPF_LDX | load_size(field->size) | BPF_MEM, BPF_REG_2, BPF_REG_6, field->offset, 0);
	if (!field->is_signed || !shift)
		return;
	emit(c, BPF_ALU64 | BPF_LSH | BPF_K, BPF_REG_2, 0, 0, shift);
	emit(c, BPF_ALU64 | BPF_ARSH | BPF_K, BPF_REG_2, 0, 0, shift);
}

static void emit_helper(struct compiler *c, int helper)
{
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
	/* Of what the helpers return, pid and CPU are the lower half. */
	emit(c, BPF_ALU | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_0, 0, 0);
}

/* What is no field of the record. False: it is none of these. */
static bool emit_special(struct compiler *c, const char *name)
{
	if (!strcmp(name, "common_pid"))
		emit_helper(c, BPF_FUNC_get_current_pid_tgid);
	else if (!strcmp(name, "CPU") || !strcmp(name, "cpu"))
		emit_helper(c, BPF_FUNC_get_smp_processor_id);
	else
		return false;
	return true;
}

/* Whether comparisons with it have a sign. */
static bool emit_operand(struct compiler *c, const char *name)
{
	const struct trace_field *field = trace_format_find(c->format, name);

	/* A field of that name goes before what is special. */
	if ((!field || !strcmp(name, "common_pid")) && emit_special(c, name))
		return false;
	if (!field)
		fail(c, -ENOENT, "the tracepoint has no such field");
	else if (field->kind != TRACE_FIELD_NUMBER || field->offset < TRACE_COMMON_SIZE ||
		 field->offset % field->size)
		fail(c, -EOPNOTSUPP, "a field that is text, or of all tracepoints, can be compared "
				     "with --capture ptrace only");
	else
		emit_field(c, field);
	return field && field->is_signed;
}

static bool parse_name(struct compiler *c, char *name, size_t size)
{
	size_t len = 0;

	skip_blanks(c);
	while (isalnum((unsigned char)c->at[len]) || c->at[len] == '_')
		len++;
	if (!len || len >= size)
		return false;
	memcpy(name, c->at, len);
	name[len] = '\0';
	c->at += len;
	return true;
}

/* In the number of bits that the field has, as the kernel cuts it; @is_signed: with its sign. */
static u64 fit(u64 value, u16 size, bool is_signed)
{
	u8 shift = 64 - 8 * size;

	if (!shift)
		return value;
	return is_signed ? (u64)((s64)(value << shift) >> shift) : value << shift >> shift;
}

static void parse_value(struct compiler *c, u64 *ret)
{
	char *end;

	skip_blanks(c);
	errno = 0;
	if (!isdigit((unsigned char)*c->at) && *c->at != '-') {
		fail(c, -EOPNOTSUPP, "what is compared with is no number: such a comparison needs "
				     "--capture ptrace");
		return;
	}
	*ret = *c->at == '-' ? (u64)strtoll(c->at, &end, 0) : strtoull(c->at, &end, 0);
	if (errno || end == c->at || isalnum((unsigned char)*end))
		fail(c, -EBADMSG, "a number in it makes no sense");
	c->at = end;
}

static enum compare parse_compare(struct compiler *c)
{
	for (unsigned int i = 0; i < COMPARE_NR; i++) {
		/* && is none of these. */
		if (i == COMPARE_AND && !strncmp(c->at, "&&", 2))
			break;
		if (take(c, compare_names[i]))
			return i;
	}
	if (*c->at == '~')
		fail(c, -EOPNOTSUPP, "text can be compared with --capture ptrace only");
	else
		fail(c, -EBADMSG, "behind a field comes ==, !=, <, <=, >, >= or &");
	return COMPARE_NR;
}

/* FIELD OPERATOR NUMBER. */
static void compile_comparison(struct compiler *c)
{
	const struct trace_field *field;
	enum compare compare;
	bool is_signed;
	char name[48];
	u64 value = 0;

	if (!parse_name(c, name, sizeof(name))) {
		fail(c, -EBADMSG, "a field's name is missing");
		return;
	}
	is_signed = emit_operand(c, name);
	skip_blanks(c);
	compare = c->error ? COMPARE_NR : parse_compare(c);
	if (!c->error)
		parse_value(c, &value);
	if (c->error)
		return;
	if (c->slots >= MAX_DEPTH) {
		fail(c, -E2BIG, "the filter is too long");
		return;
	}
	field = trace_format_find(c->format, name);
	emit_load_number(c, BPF_REG_3, fit(value, field ? field->size : 4, is_signed));
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, 1);
	emit(c, BPF_JMP | (is_signed ? signed_jumps : unsigned_jumps)[compare] | BPF_X, BPF_REG_2,
	     BPF_REG_3, 1, 0);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, 0);
	emit(c, BPF_STX | BPF_DW | BPF_MEM, BPF_REG_10, BPF_REG_4, slot_offset(c->slots), 0);
	c->slots++;
}

static void compile_or(struct compiler *c);

static void compile_unary(struct compiler *c)
{
	if (c->error)
		return;
	if (++c->depth > MAX_DEPTH) {
		fail(c, -E2BIG, "the filter is too deep");
	} else if (take(c, "!")) {
		compile_unary(c);
		if (!c->error)
			negate(c);
	} else if (take(c, "(")) {
		compile_or(c);
		if (!c->error && !take(c, ")"))
			fail(c, -EBADMSG, "a parenthesis is missing");
	} else {
		compile_comparison(c);
	}
	c->depth--;
}

static void compile_and(struct compiler *c)
{
	compile_unary(c);
	while (!c->error && take(c, "&&")) {
		compile_unary(c);
		if (!c->error)
			combine(c, BPF_AND);
	}
}

static void compile_or(struct compiler *c)
{
	compile_and(c);
	while (!c->error && take(c, "||")) {
		compile_and(c);
		if (!c->error)
			combine(c, BPF_OR);
	}
}

/* What the only slot that is left has decides. */
static void emit_end(struct compiler *c, int programs)
{
	emit(c, BPF_LDX | BPF_DW | BPF_MEM, BPF_REG_2, BPF_REG_10, slot_offset(0), 0);
	emit(c, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 5, 0);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_1, BPF_REG_6, 0, 0);
	emit(c, BPF_LD | BPF_DW | BPF_IMM, BPF_REG_2, BPF_PSEUDO_MAP_FD, 0, programs);
	emit(c, 0, 0, 0, 0, 0);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, 0);
	emit(c, BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_tail_call);
	emit(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1);
	emit(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

int trace_filter_compile(const struct trace_format *format, const char *text, int programs,
			 struct bpf_insn *ret, size_t *ret_nr, const char **ret_why)
{
	struct compiler c = { .format = format, .at = text, .insns = ret };

	emit(&c, BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_6, BPF_REG_1, 0, 0);
	compile_or(&c);
	skip_blanks(&c);
	if (*c.at)
		fail(&c, -EBADMSG, "something is left behind the filter");
	emit_end(&c, programs);
	*ret_why = c.why;
	if (!c.error)
		*ret_nr = c.nr;
	return c.error;
}

/* Of an event of our own thread, which is never enabled. */
static int try_filter(u64 id, const char *text)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id, .disabled = 1,
	};
	_cleanup_close_ int fd = capture_open_event(&attr, 0);

	if (fd < 0)
		return fd;
	return ioctl(fd, PERF_EVENT_IOC_SET_FILTER, text) ? -errno : 0;
}

/* Writes @text to the filter file @path, which fails, and reads there what is wrong with it. */
static char *ask_file(const char *path, const char *text)
{
	_cleanup_free_ char *said = NULL;
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	const char *line;

	if (fd < 0 || write(fd, text, strlen(text)) >= 0 ||
	    file_read(AT_FDCWD, path, FILTER_FILE_MAX, &said, NULL))
		return NULL;
	line = strstr(said, "parse_error: ");
	if (!line)
		return NULL;
	line += strlen("parse_error: ");
	return strndup(line, strcspn(line, "\n"));
}

/*
 * perf_event_open()'s filter has nothing but an errno; ftrace's says more. It is asked in an
 * instance of our own, which nobody traces with, and which is gone afterwards.
 */
static char *ask_ftrace(const char *tracefs, const char *name, const char *text)
{
	char instance[PATH_MAX], path[2 * PATH_MAX];
	char *said, *colon;

	snprintf(instance, sizeof(instance), "%s/instances/kvmprof-%d", tracefs, getpid());
	if (mkdir(instance, 0700))
		return NULL;
	snprintf(path, sizeof(path), "%s/events/%s/filter", instance, name);
	colon = strrchr(path, ':');
	if (colon)
		*colon = '/';
	said = ask_file(path, text);
	rmdir(instance);
	return said;
}

int trace_filter_check(const char *tracefs, const char *name, u64 id, const char *text,
		       char **ret_said)
{
	int err = try_filter(id, text);

	*ret_said = err == -EINVAL ? ask_ftrace(tracefs, name, text) : NULL;
	return err;
}
