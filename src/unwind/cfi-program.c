/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DWARF call frame information of x86-64, i386 and arm64. Facts: DWARF 5, 6.4, for records and
 * instructions; the Linux Standard Base 5.0, 10.5 and 10.6, for what .eh_frame does differently;
 * the psABIs, x86-64's 3.6 and 4.2.4 and i386's 2.4 and 2.5.1, and "DWARF for the Arm 64-bit
 * Architecture" (AADWARF64) for registers.
 */
#include "unwind/cfi-program.h"

#include <dwarf.h>

#include "base/cursor.h"
#include "unwind/cfi-expression.h"

#define MAX_RECORD (1U << 20)	/* bytes of one FDE in a file with holes */
#define MAX_AUGMENTATION 16	/* bytes of the string */
#define MAX_REMEMBERED 8	/* nested DW_CFA_remember_state; compilers nest two */

/* AADWARF64 4.1 and 4.4: whether the return address is signed, which is seen in it. */
#define AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c
#define AARCH64_NEGATE_RA_STATE 0x2d

/* From SP to the registers in the frame of a signal: struct rt_sigframe, arch/arm64. */
#define AARCH64_SIGCONTEXT_REGS 312

struct record {
	u64 id_at, body, next;	/* offsets */
	u64 id;
	bool is_64;
};

/* A program being run. */
struct run {
	struct cursor c;
	const struct cfi_section *section;
	const struct cfi_cie *cie;
	const struct cfi_state *initial;	/* NULL while this is the CIE's own program */
	struct cfi_state state;
	struct cfi_state remembered[MAX_REMEMBERED];
	unsigned int nr_remembered;
	u64 address;		/* of .c's first byte */
	u64 at, end;		/* the code address reached, and where the function ends */
	u64 *budget;
	cfi_row_fn fn;
	void *ctx;
};

bool cfi_section_has(const struct cfi_section *section, u64 offset, u64 size)
{
	if (offset > section->size || size > section->size - offset)
		return false;
	return !section->image ||
	       file_image_has(section->image, section->data - section->image->data + offset, size);
}

u64 cfi_read_pointer(struct cursor *c, u8 encoding, u64 address, u64 data_base)
{
	u64 value, base = 0;

	switch (encoding & 0x70) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		base = address + cursor_offset(c);
		break;
	case DW_EH_PE_datarel:
		base = data_base;
		break;
	default:
		cursor_fail(c, -EOPNOTSUPP);
	}
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = cursor_u64(c);
		break;
	case DW_EH_PE_udata4:
		value = cursor_u32(c);
		break;
	case DW_EH_PE_sdata4:
		value = (s64)(s32)cursor_u32(c);
		break;
	case DW_EH_PE_udata2:
		value = cursor_u16(c);
		break;
	case DW_EH_PE_sdata2:
		value = (s64)(s16)cursor_u16(c);
		break;
	case DW_EH_PE_uleb128:
		value = cursor_uleb128(c);
		break;
	case DW_EH_PE_sleb128:
		value = cursor_sleb128(c);
		break;
	default:
		cursor_fail(c, -EOPNOTSUPP);
		return 0;
	}
	return cursor_error(c) ? 0 : base + value;
}

static int read_length(const struct cfi_section *section, u64 offset, struct record *rec,
		       u64 *ret_length)
{
	struct cursor c;
	u64 length;

	if (!cfi_section_has(section, offset, sizeof(u32)))
		return -ENODATA;
	cursor_init(&c, section->data + offset, section->size - offset);
	length = cursor_u32(&c);
	rec->is_64 = length == UINT32_MAX;
	if (rec->is_64) {
		if (!section->is_debug)		/* its identifiers have 4 bytes all the same */
			return -EOPNOTSUPP;
		if (!cfi_section_has(section, offset, sizeof(u32) + sizeof(u64)))
			return -ENODATA;
		length = cursor_u64(&c);
	} else if (length >= 0xfffffff0) {
		return -EBADMSG;
	}
	if (length > cursor_left(&c))
		return -ENODATA;
	rec->id_at = offset + cursor_offset(&c);
	rec->next = rec->id_at + length;
	*ret_length = length;
	return 0;
}

/* Up to the identifier. Returns enum cfi_record or an error. */
static int read_record(const struct cfi_section *section, u64 offset, struct record *rec)
{
	u64 length, id_size;
	struct cursor c;
	int err;

	err = read_length(section, offset, rec, &length);
	if (err)
		return err;
	if (!length)
		return CFI_RECORD_END;
	id_size = rec->is_64 ? sizeof(u64) : sizeof(u32);
	if (length < id_size)
		return -EBADMSG;
	if (!cfi_section_has(section, rec->id_at, id_size))
		return -ENODATA;
	cursor_init(&c, section->data + rec->id_at, id_size);
	rec->id = rec->is_64 ? cursor_u64(&c) : cursor_u32(&c);
	rec->body = rec->id_at + id_size;
	if (!section->is_debug)
		return rec->id ? CFI_RECORD_FDE : CFI_RECORD_CIE;
	return rec->id == (rec->is_64 ? UINT64_MAX : UINT32_MAX) ? CFI_RECORD_CIE : CFI_RECORD_FDE;
}

int cfi_record_find(const struct cfi_section *section, u64 offset, u64 *ret_next, u64 *ret_cie)
{
	struct record rec;
	int kind = read_record(section, offset, &rec);

	if (kind < 0)
		return kind;
	if (kind == CFI_RECORD_FDE) {
		u64 cie = section->is_debug ? rec.id : rec.id_at - rec.id;

		if (cie >= section->size)
			return -EBADMSG;
		*ret_cie = cie;
	}
	*ret_next = rec.next;
	return kind;
}

/* How many registers have a number, the return address apart. */
static u64 nr_gprs(const struct run *run)
{
	return run->section->is_arm64 ? VCPU_NR_GPRS : CFI_REG_RA;
}

/* A register by the file's number; CFI_NR_REGS: one that nobody asks for. */
static u64 reg_number(const struct cfi_section *section, u64 reg)
{
	static const u8 of_i386[] = {
		X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI, CFI_REG_RA,
	};

	if (section->is_32)
		return reg < ARRAY_SIZE(of_i386) ? of_i386[reg] : CFI_NR_REGS;
	return MIN(reg, (u64)CFI_NR_REGS);
}

static u64 read_reg(struct run *run)
{
	return reg_number(run->section, cursor_uleb128(&run->c));
}

/* The rule for @reg, unless it is one that nobody asks for. */
static void set_reg(struct cfi_state *state, u64 reg, u8 kind, u8 base, s64 offset)
{
	struct cfi_rule *rule;

	if (reg >= CFI_NR_REGS)
		return;
	rule = &state->reg[reg];
	if (offset != (s32)offset) {
		kind = CFI_UNKNOWN;
		offset = 0;
	}
	rule->kind = kind;
	rule->reg = base;
	rule->offset = offset;
}

/* A CFA of @base + @offset. */
static void set_cfa(struct run *run, u64 base, s64 offset)
{
	struct cfi_state *state = &run->state;

	state->cfa_add = 0;
	if (base >= nr_gprs(run) || offset != (s32)offset) {
		cursor_fail(&run->c, -EOPNOTSUPP);
		return;
	}
	state->cfa.kind = CFI_REG_OFFSET;
	state->cfa.reg = base;
	state->cfa.offset = offset;
}

/* Changes one half of a CFA, which has to have both. */
static void change_cfa(struct run *run, u64 base, s64 offset)
{
	if (run->state.cfa.kind != CFI_REG_OFFSET)
		cursor_fail(&run->c, -EBADMSG);
	else
		set_cfa(run, base, offset);
}

static s64 factored(const struct run *run, u64 value)
{
	s64 product;

	if (__builtin_mul_overflow((s64)value, run->cie->data_align, &product))
		return INT64_MAX;	/* fits no rule */
	return product;
}

/* The next block of the program, and the cursor behind it. */
static bool take_block(struct run *run, struct cursor *ret)
{
	u64 size = cursor_uleb128(&run->c);
	const void *block = cursor_bytes(&run->c, size);

	if (!block)
		return false;
	cursor_init(ret, block, size);
	return true;
}

static bool read_expression(const struct run *run, struct cursor *c, struct cfi_expression *e)
{
	if (!cfi_expression_read(c, e))
		return false;
	e->base = reg_number(run->section, e->base);
	return e->base < CFI_REG_RA;
}

static void set_cfa_expression(struct run *run)
{
	struct cfi_state *state = &run->state;
	struct cfi_expression e;
	struct cursor c;

	if (!take_block(run, &c))
		return;
	state->cfa_add = 0;
	if (cfi_expression_is_plt(&c, run->section->is_32, &state->cfa)) {
		state->cfa_add = run->section->is_32 ? sizeof(u32) : sizeof(u64);
		return;
	}
	if (read_expression(run, &c, &e)) {
		state->cfa.kind = e.load ? CFI_AT_REG : CFI_REG_OFFSET;
		state->cfa.reg = e.base;
		state->cfa.offset = e.offset;
		state->cfa_add = e.add;
	} else {
		state->cfa.kind = CFI_UNKNOWN;
		state->cfa.reg = state->cfa.offset = 0;
	}
}

/* @value: the expression is the value, not where it is. */
static void set_reg_expression(struct run *run, bool value)
{
	u64 reg = read_reg(run);
	struct cfi_expression e;
	struct cursor c;

	if (!take_block(run, &c))
		return;
	if (!read_expression(run, &c, &e) || e.add || (e.load && !value))
		set_reg(&run->state, reg, CFI_UNKNOWN, 0, 0);
	else
		set_reg(&run->state, reg, value && !e.load ? CFI_REG_OFFSET : CFI_AT_REG, e.base,
			e.offset);
}

static void restore_reg(struct run *run, u64 reg)
{
	if (!run->initial)
		cursor_fail(&run->c, -EBADMSG);
	else if (reg < CFI_NR_REGS)
		run->state.reg[reg] = run->initial->reg[reg];
}

static void remember(struct run *run)
{
	if (run->nr_remembered == MAX_REMEMBERED)
		cursor_fail(&run->c, -EOPNOTSUPP);
	else
		run->remembered[run->nr_remembered++] = run->state;
}

static void recall(struct run *run)
{
	if (!run->nr_remembered)
		cursor_fail(&run->c, -EBADMSG);
	else
		run->state = run->remembered[--run->nr_remembered];
}

static void set_register_rule(struct run *run)
{
	u64 reg = read_reg(run), from = read_reg(run);

	if (from < nr_gprs(run))
		set_reg(&run->state, reg, CFI_REG_OFFSET, from, 0);
	else
		set_reg(&run->state, reg, CFI_UNKNOWN, 0, 0);
}

/* Where a register is in a struct sigcontext, in words. */
struct saved_place {
	u8 reg, place;
};

/*
 * A struct sigcontext, arch/x86/include/uapi/asm/sigcontext.h, to its ip. That of i386 begins with
 * the segments, and rules leave out its sp, for the CFA says it (arch/x86/entry/vdso/vdso32/
 * sigreturn.S).
 */
static const struct saved_place sigcontext_64[] = {
	{ X86_R8, 0 }, { X86_R9, 1 }, { X86_R10, 2 }, { X86_R11, 3 }, { X86_R12, 4 },
	{ X86_R13, 5 }, { X86_R14, 6 }, { X86_R15, 7 }, { X86_RDI, 8 }, { X86_RSI, 9 },
	{ X86_RBP, 10 }, { X86_RBX, 11 }, { X86_RDX, 12 }, { X86_RAX, 13 }, { X86_RCX, 14 },
	{ X86_RSP, 15 }, { CFI_REG_RA, 16 },
};

static const struct saved_place sigcontext_32[] = {
	{ X86_RDI, 4 }, { X86_RSI, 5 }, { X86_RBP, 6 }, { X86_RBX, 8 }, { X86_RDX, 9 },
	{ X86_RCX, 10 }, { X86_RAX, 11 }, { CFI_REG_RA, 14 },
};

static bool is_sigcontext(const struct cfi_state *state, bool is_32, struct cfi_rule *ret)
{
	const struct saved_place *places = is_32 ? sigcontext_32 : sigcontext_64;
	size_t nr = is_32 ? ARRAY_SIZE(sigcontext_32) : ARRAY_SIZE(sigcontext_64);
	s64 word = is_32 ? sizeof(u32) : sizeof(u64);
	s64 start = state->reg[places[0].reg].offset - places[0].place * word;

	for (size_t i = 0; i < nr; i++) {
		const struct cfi_rule *rule = &state->reg[places[i].reg];

		if (rule->kind != CFI_AT_REG || rule->reg != X86_RSP ||
		    rule->offset != start + places[i].place * word)
			return false;
	}
	ret->kind = CFI_REG_OFFSET;
	ret->reg = X86_RSP;
	ret->offset = start;
	return true;
}

static void copy_rule(const struct cfi_rule *rule, struct cfi_rule *ret)
{
	ret->kind = rule->kind == CFI_UNKNOWN ? CFI_UNDEFINED : rule->kind;
	ret->reg = rule->reg;
	ret->offset = rule->offset;
}

static void fill_call_row(const struct cfi_state *state, bool is_32, struct cfi_row *row)
{
	const u8 *saved = is_32 ? cfi_saved_32 : cfi_saved_64;

	row->kind = CFI_ROW_CALL;
	row->cfa.kind = state->cfa.kind;
	row->cfa.reg = state->cfa.reg;
	row->cfa.offset = state->cfa.offset;
	row->cfa_add = state->cfa_add;
	copy_rule(&state->reg[CFI_REG_RA], &row->ra);
	copy_rule(&state->reg[X86_RBP], &row->bp);
	for (unsigned int i = 0; i < CFI_SAVED_NR && saved[i] != CFI_SAVED_NONE; i++)
		copy_rule(&state->reg[saved[i]], &row->saved[i]);
}

/*
 * The code that a signal's handler returns to says that a frame record lies at its x29, and says
 * so, too, of nothing else: that is the kernel's, in the frame with all of the registers
 * (arch/arm64/kernel/vdso/sigreturn.S, setup_sigframe()).
 */
static bool is_sigreturn(const struct cfi_state *state)
{
	const struct cfi_rule *fp = &state->reg[ARM64_FP], *lr = &state->reg[ARM64_LR];

	return state->cfa.kind == CFI_REG_OFFSET && state->cfa.reg == ARM64_FP &&
	       !state->cfa.offset && fp->kind == CFI_AT_CFA && !fp->offset &&
	       lr->kind == CFI_AT_CFA && lr->offset == 8;
}

struct cfi_row cfi_row_of_sigreturn(void)
{
	struct cfi_row row;

	/* Rows are compared as bytes. */
	memset(&row, 0, sizeof(row));
	row.kind = CFI_ROW_SIGCONTEXT;
	row.interrupted = true;
	row.regs.kind = CFI_REG_OFFSET;
	row.regs.reg = ARM64_SP;
	row.regs.offset = AARCH64_SIGCONTEXT_REGS;
	return row;
}

/* x29 and x30 are all that callers' frames take: CFAs count from x29 or SP. */
static void make_arm64_row(const struct run *run, struct cfi_row *row)
{
	const struct cfi_state *state = &run->state;
	u8 ra = state->reg[ARM64_LR].kind, cfa = state->cfa.kind;

	row->interrupted = run->cie->is_signal;
	if (ra == CFI_UNDEFINED) {
		row->kind = CFI_ROW_END;
	} else if (is_sigreturn(state)) {
		*row = cfi_row_of_sigreturn();
	} else if (ra == CFI_UNKNOWN || cfa == CFI_UNDEFINED || cfa == CFI_UNKNOWN) {
		row->kind = CFI_ROW_UNDEFINED;
	} else {
		row->kind = CFI_ROW_CALL;
		row->cfa.kind = state->cfa.kind;
		row->cfa.reg = state->cfa.reg;
		row->cfa.offset = state->cfa.offset;
		row->cfa_add = state->cfa_add;
		copy_rule(&state->reg[ARM64_LR], &row->ra);
		copy_rule(&state->reg[ARM64_FP], &row->bp);
	}
}

/* Rows are compared as bytes: padding has to be zero. */
static void make_row(const struct run *run, struct cfi_row *row)
{
	const struct cfi_state *state = &run->state;
	u8 ra = state->reg[CFI_REG_RA].kind, cfa = state->cfa.kind;

	memset(row, 0, sizeof(*row));
	if (run->section->is_arm64) {
		make_arm64_row(run, row);
		return;
	}
	row->interrupted = run->cie->is_signal;
	if (ra == CFI_UNDEFINED)
		row->kind = CFI_ROW_END;
	else if (run->cie->is_signal && is_sigcontext(state, run->section->is_32, &row->regs))
		row->kind = CFI_ROW_SIGCONTEXT;
	else if (ra == CFI_SAME || ra == CFI_UNKNOWN || cfa == CFI_UNDEFINED || cfa == CFI_UNKNOWN)
		row->kind = CFI_ROW_UNDEFINED;
	else
		fill_call_row(state, run->section->is_32, row);
}

static int hand_out(struct run *run)
{
	struct cfi_row row;

	make_row(run, &row);
	return run->fn(run->ctx, run->at, &row);
}

/* 1: behind the end of the function. In a CIE there is no code to advance in. */
static int advance_to(struct run *run, u64 at)
{
	int err;

	if (!run->initial || at < run->at)
		return cursor_fail(&run->c, -EBADMSG);
	if (at == run->at)
		return 0;
	err = hand_out(run);
	run->at = at;
	return err ? err : at >= run->end;
}

static int advance(struct run *run, u64 delta)
{
	u64 to;

	if (__builtin_mul_overflow(delta, run->cie->code_align, &delta) ||
	    __builtin_add_overflow(run->at, delta, &to))
		return cursor_fail(&run->c, -EBADMSG);
	return advance_to(run, to);
}

/* Instructions on the location. 1: done; -ENOENT: it is none of them. */
static int step_location(struct run *run, u8 op)
{
	struct cursor *c = &run->c;

	if ((op & 0xc0) == DW_CFA_advance_loc)
		return advance(run, op & 0x3f);
	switch (op) {
	case DW_CFA_set_loc:
		return advance_to(run, cfi_read_pointer(c, run->cie->encoding, run->address, 0));
	case DW_CFA_advance_loc1:
		return advance(run, cursor_u8(c));
	case DW_CFA_advance_loc2:
		return advance(run, cursor_u16(c));
	case DW_CFA_advance_loc4:
		return advance(run, cursor_u32(c));
	default:
		return -ENOENT;
	}
}

/* Instructions on the CFA. Whether it was one. */
static bool step_cfa(struct run *run, u8 op)
{
	struct cursor *c = &run->c;
	u64 reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = read_reg(run);
		set_cfa(run, reg, cursor_uleb128(c));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = read_reg(run);
		set_cfa(run, reg, factored(run, cursor_sleb128(c)));
		return true;
	case DW_CFA_def_cfa_register:
		change_cfa(run, read_reg(run), run->state.cfa.offset);
		return true;
	case DW_CFA_def_cfa_offset:
		change_cfa(run, run->state.cfa.reg, cursor_uleb128(c));
		return true;
	case DW_CFA_def_cfa_offset_sf:
		change_cfa(run, run->state.cfa.reg, factored(run, cursor_sleb128(c)));
		return true;
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(run);
		return true;
	default:
		return false;
	}
}

/* Instructions with a register and what it is offset by. Whether it was one. */
static bool step_offset(struct run *run, u8 op)
{
	struct cursor *c = &run->c;
	u8 kind = CFI_AT_CFA;
	u64 reg;

	if ((op & 0xc0) == DW_CFA_offset) {
		set_reg(&run->state, reg_number(run->section, op & 0x3f), kind, 0,
			factored(run, cursor_uleb128(c)));
		return true;
	}
	switch (op) {
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		kind = CFI_CFA_OFFSET;
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_GNU_negative_offset_extended:
		break;
	default:
		return false;
	}
	reg = read_reg(run);
	if (op == DW_CFA_offset_extended_sf || op == DW_CFA_val_offset_sf)
		set_reg(&run->state, reg, kind, 0, factored(run, cursor_sleb128(c)));
	else if (op == DW_CFA_GNU_negative_offset_extended)
		set_reg(&run->state, reg, kind, 0, factored(run, -cursor_uleb128(c)));
	else
		set_reg(&run->state, reg, kind, 0, factored(run, cursor_uleb128(c)));
	return true;
}

static void step_other(struct run *run, u8 op)
{
	struct cursor *c = &run->c;

	if ((op & 0xc0) == DW_CFA_restore) {
		restore_reg(run, reg_number(run->section, op & 0x3f));
		return;
	}
	switch (op) {
	case DW_CFA_nop:
		break;
	case DW_CFA_restore_extended:
		restore_reg(run, read_reg(run));
		break;
	case DW_CFA_undefined:
		set_reg(&run->state, read_reg(run), CFI_UNDEFINED, 0, 0);
		break;
	case DW_CFA_same_value:
		set_reg(&run->state, read_reg(run), CFI_SAME, 0, 0);
		break;
	case DW_CFA_register:
		set_register_rule(run);
		break;
	case DW_CFA_remember_state:
		remember(run);
		break;
	case DW_CFA_restore_state:
		recall(run);
		break;
	case DW_CFA_expression:
	case DW_CFA_val_expression:
		set_reg_expression(run, op == DW_CFA_val_expression);
		break;
	case DW_CFA_GNU_args_size:
		cursor_uleb128(c);
		break;
	case AARCH64_NEGATE_RA_STATE:
	case AARCH64_NEGATE_RA_STATE_WITH_PC:
		if (!run->section->is_arm64)
			cursor_fail(c, -EOPNOTSUPP);
		break;
	default:
		cursor_fail(c, -EOPNOTSUPP);
	}
}

/* 0, 1 behind the function's end, or an error. */
static int step_instruction(struct run *run)
{
	u8 op = cursor_u8(&run->c);
	int err;

	if (!*run->budget)
		return -E2BIG;
	--*run->budget;
	err = step_location(run, op);
	if (err == -ENOENT) {
		if (!step_cfa(run, op) && !step_offset(run, op))
			step_other(run, op);
		err = 0;
	}
	return err ? err : cursor_error(&run->c);
}

static int run_all(struct run *run)
{
	int err = 0;

	while (!err && cursor_left(&run->c))
		err = step_instruction(run);
	return err;
}

/* What is so where nothing is said: callee-saved registers are as they are, others lost. */
static void state_init_arm64(struct cfi_state *state)
{
	memset(state, 0, sizeof(*state));
	state->cfa.kind = CFI_UNDEFINED;
	for (unsigned int i = 0; i < CFI_NR_REGS; i++)
		state->reg[i].kind = i >= 19 && i <= ARM64_LR ? CFI_SAME : CFI_UNDEFINED;
}

static void state_init(struct cfi_state *state, bool is_32)
{
	const u8 *saved = is_32 ? cfi_saved_32 : cfi_saved_64;

	memset(state, 0, sizeof(*state));
	state->cfa.kind = CFI_UNDEFINED;
	for (unsigned int i = 0; i < CFI_NR_REGS; i++)
		state->reg[i].kind = CFI_UNDEFINED;
	state->reg[X86_RBP].kind = CFI_SAME;
	for (unsigned int i = 0; i < CFI_SAVED_NR && saved[i] != CFI_SAVED_NONE; i++)
		state->reg[saved[i]].kind = CFI_SAME;
	/* To say that there is no caller takes an instruction. */
	state->reg[CFI_REG_RA].kind = CFI_UNKNOWN;
}

/* One letter's part of the augmentation data. */
static void read_augmentation(struct cursor *c, const struct cfi_section *section, char letter,
			      u64 address, struct cfi_cie *cie)
{
	u8 encoding;

	switch (letter) {
	case 'R':
		cie->encoding = cfi_section_encoding(section, cursor_u8(c));
		break;
	case 'P':
		encoding = cfi_section_encoding(section, cursor_u8(c));
		cfi_read_pointer(c, encoding & 0x7f, address, 0);
		break;
	case 'L':
		cursor_u8(c);
		break;
	case 'S':
		cie->is_signal = true;
		break;
	case 'B':	/* arm64: return addresses are signed with the other key */
	case 'G':	/* arm64: stacks are tagged */
		break;
	default:
		cursor_fail(c, -EOPNOTSUPP);
	}
}

static int read_augmentations(struct cursor *c, const struct cfi_section *section,
			      const char *letters, u64 address, struct cfi_cie *cie)
{
	u64 size;
	const u8 *data;
	struct cursor sub;

	if (!*letters)
		return 0;
	if (*letters++ != 'z')
		return -EOPNOTSUPP;
	cie->augmented = true;
	size = cursor_uleb128(c);
	address += cursor_offset(c);
	data = cursor_bytes(c, size);
	if (!data)
		return cursor_error(c);
	cursor_init(&sub, data, size);
	for (; *letters; letters++)
		read_augmentation(&sub, section, *letters, address, cie);
	return cursor_error(&sub);
}

/* All before the program. */
static int read_cie_head(struct cursor *c, const struct cfi_section *section, u64 address,
			 struct cfi_cie *cie)
{
	size_t word = section->is_32 ? sizeof(u32) : sizeof(u64);
	const char *letters;
	u8 version;
	u64 ra;

	version = cursor_u8(c);
	letters = cursor_string(c, MAX_AUGMENTATION, NULL);
	if (!letters)
		return cursor_error(c) == -E2BIG ? -EOPNOTSUPP : cursor_error(c);
	if (version != 1 && version != 3 && version != 4)
		return -EOPNOTSUPP;
	/* Sizes of addresses and of segment selectors. */
	if (version == 4 && (cursor_u8(c) != word || cursor_u8(c)))
		return -EOPNOTSUPP;
	cie->encoding = cfi_section_encoding(section, DW_EH_PE_absptr);
	cie->code_align = cursor_uleb128(c);
	cie->data_align = cursor_sleb128(c);
	ra = version == 1 ? cursor_u8(c) : cursor_uleb128(c);
	if (cursor_error(c))
		return cursor_error(c);
	if (reg_number(section, ra) != (section->is_arm64 ? ARM64_LR : CFI_REG_RA))
		return -EOPNOTSUPP;
	return read_augmentations(c, section, letters, address, cie);
}

static void run_init(struct run *run, const struct cfi_section *section, u64 offset, u64 size,
		     const struct cfi_cie *cie, u64 *budget)
{
	cursor_init(&run->c, section->data + offset, size);
	run->section = section;
	run->cie = cie;
	run->address = section->address + offset;
	run->budget = budget;
	run->nr_remembered = 0;
	run->initial = NULL;
	run->at = run->end = 0;
}

/* Data that ends early inside a whole record is bad data. */
static int inside_record(int err)
{
	return err == -ENODATA ? -EBADMSG : err;
}

int cfi_cie_read(const struct cfi_section *section, u64 offset, u64 *budget, struct cfi_cie *ret)
{
	struct cfi_cie cie = { 0 };
	struct record rec;
	struct cursor c;
	struct run run;
	int err = read_record(section, offset, &rec);

	if (err < 0)
		return err;
	if (err != CFI_RECORD_CIE)
		return -EBADMSG;
	if (!cfi_section_has(section, rec.body, rec.next - rec.body))
		return -ENODATA;
	cursor_init(&c, section->data + rec.body, rec.next - rec.body);
	err = inside_record(read_cie_head(&c, section, section->address + rec.body, &cie));
	if (err)
		return err;
	run_init(&run, section, rec.body + cursor_offset(&c), cursor_left(&c), &cie, budget);
	if (section->is_arm64)
		state_init_arm64(&run.state);
	else
		state_init(&run.state, section->is_32);
	err = run_all(&run);
	if (err)
		return inside_record(err);
	cie.initial = run.state;
	*ret = cie;
	return 0;
}

/* Start and size: known even where a hole begins behind them. */
static int read_range(const struct cfi_section *section, const struct record *rec,
		      const struct cfi_cie *cie, struct cursor *c, struct cfi_fde *fde)
{
	u8 encoding = section->is_debug ? cfi_section_encoding(section, DW_EH_PE_absptr) :
					  cie->encoding;
	u64 size, left = rec->next - rec->body;

	/* Two of the longest encoding. */
	if (!cfi_section_has(section, rec->body, MIN(left, 20)))
		return -ENODATA;
	if (encoding & DW_EH_PE_indirect)
		return -EOPNOTSUPP;
	cursor_init(c, section->data + rec->body, left);
	fde->start = cfi_read_pointer(c, encoding, section->address + rec->body, 0);
	size = cfi_read_pointer(c, encoding & 0x0f, 0, 0);
	if (cursor_error(c))
		return inside_record(cursor_error(c));
	if (!size || fde->start + size < fde->start)
		return -EBADMSG;
	fde->size = size;
	return 0;
}

int cfi_fde_read(const struct cfi_section *section, u64 offset, const struct cfi_cie *cie,
		 struct cfi_fde *ret)
{
	struct cfi_fde fde = { 0 };
	struct record rec;
	struct cursor c;
	int err = read_record(section, offset, &rec);

	if (err < 0)
		return err;
	if (err != CFI_RECORD_FDE)
		return -EBADMSG;
	err = read_range(section, &rec, cie, &c, &fde);
	if (err)
		return err;
	*ret = fde;
	/* To look for holes takes time, too. */
	if (section->image && rec.next - rec.body > MAX_RECORD)
		return -EBADMSG;
	if (!cfi_section_has(section, rec.body, rec.next - rec.body))
		return -ENODATA;
	if (cie->augmented)
		cursor_skip(&c, cursor_uleb128(&c));
	if (cursor_error(&c))
		return inside_record(cursor_error(&c));
	ret->program = rec.body + cursor_offset(&c);
	ret->program_size = cursor_left(&c);
	return 0;
}

/* The rest of the function has no rule. */
static int hand_out_undefined(struct run *run)
{
	struct cfi_row row = { .kind = CFI_ROW_UNDEFINED };

	return run->fn(run->ctx, run->at, &row);
}

int cfi_fde_run(const struct cfi_section *section, const struct cfi_fde *fde,
		const struct cfi_cie *cie, u64 *budget, cfi_row_fn fn, void *ctx)
{
	struct run run;
	int err, last;

	run_init(&run, section, fde->program, fde->program_size, cie, budget);
	run.state = cie->initial;
	run.initial = &cie->initial;
	run.at = fde->start;
	run.end = fde->start + fde->size;
	run.fn = fn;
	run.ctx = ctx;
	err = run_all(&run);
	if (err == 1)
		return 0;
	if (err == 0)
		return hand_out(&run);
	if (!cursor_error(&run.c))	/* a limit, or the caller's own */
		return err;
	last = hand_out_undefined(&run);
	return last ? last : inside_record(err);
}
