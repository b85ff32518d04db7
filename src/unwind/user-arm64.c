/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user part of a chain on arm64: rows applied to registers and the copied stacks. Neither rows
 * nor stacks may be trusted. The walk ends because each step adds a frame, and early where they
 * make no sense, because the stack pointer must not go down. Only a signal handler's frame may lead
 * to another stack (sigaltstack()), and a stack that was left is not entered again.
 */
#include "unwind/user-arm64.h"

#include <string.h>

#include "arch/arm64-regs.h"
#include "unwind/walk-private.h"

#define USER_TOP (1ULL << 52)	/* addresses are below, with the largest of address spaces */
#define FIRST_PAGE 4096		/* never mapped */
#define ALL_KNOWN UINT32_MAX
#define PT_REGS_MAX 0x150	/* its largest size */

struct user_walk {
	const struct unwinder *unwinder;
	const struct sample *sample;
	const struct wire_stack *stack;	/* the copy of the stack that SP is on; NULL: none is */
	u32 left;		/* bit n: copy n was left */
	u64 gpr[VCPU_NR_GPRS];
	u32 known;		/* bit n: gpr[n] holds the frame's value */
	u64 pc;
	bool exact;		/* pc was interrupted: it is not a return address */
	u8 flags;		/* enum frame_flags of pc */
};

void user_arm64_load(const u64 *pt_regs, struct user_regs *ret)
{
	memcpy(ret->gpr, pt_regs, VCPU_NR_GPRS * sizeof(*pt_regs));
	ret->pc = pt_regs[ARM64_PT_PC];
	ret->known = ALL_KNOWN;
	ret->is_32 = false;
}

/* They end at the stack's end; what follows the registers has not always the same size. */
bool user_arm64_find_pt_regs(const struct sample *sample, struct user_regs *ret)
{
	const struct wire_sample *wire = sample->wire;
	u64 regs[ARM64_PT_NR];

	for (unsigned int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];

		for (u64 size = ARM64_PT_META; size <= PT_REGS_MAX; size += 8) {
			gva_t at = GVA(stack->gva + stack->size - size);

			if (stack->kind == WIRE_STACK_USER || at.addr % 16 ||
			    sample_read_stack(sample, at, regs, sizeof(regs)) ||
			    regs[ARM64_PT_PC] != wire->user_pc ||
			    regs[ARM64_PT_SP] != wire->user_sp ||
			    !arm64_is_user(regs[ARM64_PT_PSTATE]) ||
			    regs[ARM64_PT_PSTATE] & ARM64_PSTATE_32)
				continue;
			user_arm64_load(regs, ret);
			return true;
		}
	}
	return false;
}

static const struct wire_stack *find_stack(const struct user_walk *w, u64 sp)
{
	const struct wire_sample *wire = w->sample->wire;

	for (unsigned int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];

		if (stack->kind == WIRE_STACK_USER && sp - stack->gva <= stack->size)
			return stack;
	}
	return NULL;
}

static unsigned int stack_number(const struct user_walk *w)
{
	return w->stack - w->sample->wire->stacks;
}

static enum stop_reason read_stack(const struct user_walk *w, u64 addr, void *out, size_t size)
{
	const struct wire_stack *stack = w->stack;
	u64 skip = stack ? addr - stack->gva : 0;

	if (addr % sizeof(u64) || addr >= USER_TOP)
		return STOP_BAD_POINTER;
	if (!stack || addr < stack->gva || skip > stack->size || size > stack->size - skip ||
	    wire_stack_in_hole(stack, skip, size))
		return walk_missing_reason(w->stack, addr, size);
	memcpy(out, (const u8 *)w->sample->wire + stack->offset + skip, size);
	return STOP_NONE;
}

/* The value that @rule gives; CFI_SAME and CFI_UNDEFINED are the caller's business. */
static enum stop_reason apply_rule(const struct user_walk *w, const struct cfi_rule *rule, u64 cfa,
				   u64 *ret)
{
	u64 value;

	switch (cfi_rule_value(rule, w->gpr, w->known, cfa, &value)) {
	case CFI_VALUE_IS:
		*ret = value;
		return STOP_NONE;
	case CFI_VALUE_AT:
		return read_stack(w, value, ret, sizeof(*ret));
	default:
		return STOP_NO_RULE;
	}
}

static enum stop_reason find_cfa(const struct user_walk *w, const struct cfi_row *row, u64 *ret)
{
	enum stop_reason stop;

	if (row->cfa.kind != CFI_REG_OFFSET && row->cfa.kind != CFI_AT_REG)
		return STOP_NO_RULE;
	stop = apply_rule(w, &row->cfa, 0, ret);
	if (stop == STOP_NONE)
		*ret += (s64)row->cfa_add;
	return stop;
}

static int find_row(const struct user_walk *w, u64 pc, struct cfi_row *row)
{
	return w->unwinder->ops->find_user_row(w->unwinder->ctx, GVA(pc), row);
}

static bool is_user_text(u64 addr)
{
	return addr >= FIRST_PAGE && addr < USER_TOP;
}

static enum stop_reason check_return(const struct user_walk *w, u64 ra, u8 *ret_flags)
{
	return is_user_text(ra) ? walk_check_user_return(w->unwinder, ra, ret_flags) :
	       STOP_BAD_RETURN;
}

static void set_pc(struct user_walk *w, u64 pc, u8 flags)
{
	w->pc = pc;
	w->flags = flags;
	w->exact = flags & FRAME_F_INTERRUPTED;
}

/* A function that has not moved SP has its caller's; any other has moved it down. */
static enum stop_reason check_sp(const struct user_walk *w, u64 sp)
{
	if (sp < FIRST_PAGE || sp >= USER_TOP || sp % sizeof(u64) || sp < w->gpr[ARM64_SP])
		return STOP_BAD_POINTER;
	return sp == w->gpr[ARM64_SP] && !w->exact ? STOP_BAD_POINTER : STOP_NONE;
}

/* The return address, without its authentication code. */
static enum stop_reason find_return(const struct user_walk *w, const struct cfi_rule *rule,
				    u64 cfa, u64 *ret)
{
	enum stop_reason stop = STOP_NONE;
	u64 ra = w->gpr[ARM64_LR];

	if (rule->kind != CFI_SAME)
		stop = apply_rule(w, rule, cfa, &ra);
	else if (!(w->known & 1U << ARM64_LR))
		stop = STOP_NO_RULE;
	if (stop == STOP_NONE)
		*ret = arm64_strip(ra, w->sample->wire->regs.arm64.tcr);
	return stop;
}

static enum stop_reason step_call(struct user_walk *w, const struct cfi_row *row)
{
	u64 cfa, ra, fp = w->gpr[ARM64_FP];
	u32 known = 1U << ARM64_SP | (w->known & 1U << ARM64_FP);
	enum stop_reason stop;
	u8 flags = FRAME_F_INTERRUPTED;

	stop = find_cfa(w, row, &cfa);
	if (stop == STOP_NONE)
		stop = check_sp(w, cfa);
	if (stop == STOP_NONE)
		stop = find_return(w, &row->ra, cfa, &ra);
	if (stop != STOP_NONE)
		return stop;
	if (row->bp.kind != CFI_SAME)
		known = apply_rule(w, &row->bp, cfa, &fp) == STOP_NONE ?
			known | 1U << ARM64_FP : 1U << ARM64_SP;
	if (!ra && known & 1U << ARM64_FP && !fp)
		return STOP_COMPLETE;
	stop = check_return(w, ra, &flags);
	if (stop != STOP_NONE)
		return stop;
	w->gpr[ARM64_SP] = cfa;
	w->gpr[ARM64_FP] = fp;
	w->known = known;
	set_pc(w, ra, flags);
	return STOP_NONE;
}

/* A handler's frame leads to @sp, where the signal came: on the same stack or on another. */
static enum stop_reason return_to_sp(struct user_walk *w, u64 sp)
{
	const struct wire_stack *stack = find_stack(w, sp);

	if (sp < FIRST_PAGE || sp >= USER_TOP)
		return STOP_BAD_POINTER;
	if (stack == w->stack)
		return sp > w->gpr[ARM64_SP] || !stack ? STOP_NONE : STOP_BAD_POINTER;
	if (w->stack)
		w->left |= 1U << stack_number(w);
	w->stack = stack;
	return stack && w->left & 1U << stack_number(w) ? STOP_BAD_POINTER : STOP_NONE;
}

/* What a signal interrupted: x0 to x30, sp, pc of struct sigcontext. */
static enum stop_reason step_sigcontext(struct user_walk *w, const struct cfi_row *row)
{
	u64 at, words[ARM64_PT_PC + 1];
	enum stop_reason stop;

	stop = row->regs.kind == CFI_REG_OFFSET ? apply_rule(w, &row->regs, 0, &at) : STOP_NO_RULE;
	if (stop == STOP_NONE)
		stop = read_stack(w, at, words, sizeof(words));
	if (stop == STOP_NONE && !is_user_text(words[ARM64_PT_PC]))
		stop = STOP_BAD_RETURN;
	if (stop == STOP_NONE)
		stop = return_to_sp(w, words[ARM64_PT_SP]);
	if (stop != STOP_NONE)
		return stop;
	memcpy(w->gpr, words, sizeof(w->gpr));
	w->known = ALL_KNOWN;
	set_pc(w, words[ARM64_PT_PC], FRAME_F_INTERRUPTED);
	return STOP_NONE;
}

/*
 * Code without rules, such as what JIT compilers make: if x29 points at a frame record with a
 * return address after a call, then take it. An x29 of 0 in code that has called marks the
 * outermost frame.
 */
static enum stop_reason step_record(struct user_walk *w)
{
	u64 fp = w->gpr[ARM64_FP], record[2];
	u8 flags;

	if (!(w->known & 1U << ARM64_FP))
		return STOP_NO_RULE;
	if (!fp && !w->exact)
		return STOP_COMPLETE;
	if (fp < w->gpr[ARM64_SP] || read_stack(w, fp, record, sizeof(record)) != STOP_NONE)
		return STOP_NO_RULE;
	record[1] = arm64_strip(record[1], w->sample->wire->regs.arm64.tcr);
	if (check_return(w, record[1], &flags) != STOP_NONE || flags != FRAME_F_RETURN)
		return STOP_NO_RULE;
	w->gpr[ARM64_SP] = fp + sizeof(record);
	w->gpr[ARM64_FP] = record[0];
	w->known = 1U << ARM64_SP | 1U << ARM64_FP;
	set_pc(w, record[1], flags);
	return STOP_NONE;
}

static enum stop_reason no_row_reason(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return STOP_UNSUPPORTED;
	case -EAGAIN:
		return STOP_NOT_LOADED;
	case -ENODATA:
		return STOP_RULE_UNKNOWN;
	default:
		return STOP_NO_RULE;
	}
}

/* A program that has yet to run its first instruction: execve() leaves it SP and pc alone. */
static bool is_unborn(const struct user_walk *w)
{
	if (!w->exact || w->known != ALL_KNOWN || w->sample->wire->regs.user)
		return false;
	for (unsigned int i = 0; i < VCPU_NR_GPRS; i++)
		if (w->gpr[i] && i != ARM64_SP)
			return false;
	return true;
}

/* To the caller's frame: STOP_NONE, or why there is none. */
static enum stop_reason step(struct user_walk *w)
{
	struct cfi_row row;
	int err;

	if (is_unborn(w))
		return STOP_COMPLETE;
	err = find_row(w, w->exact ? w->pc : w->pc - 1, &row);
	if (err == -ENOENT)
		return step_record(w);
	if (err)
		return no_row_reason(err);
	switch (row.kind) {
	case CFI_ROW_END:
		return STOP_COMPLETE;
	case CFI_ROW_CALL:
		return step_call(w, &row);
	case CFI_ROW_SIGCONTEXT:
		return step_sigcontext(w, &row);
	default:
		return STOP_NO_RULE;
	}
}

enum stop_reason unwind_user_arm64(const struct unwinder *unwinder, const struct sample *sample,
				   const struct user_regs *regs, unsigned int max,
				   struct chain *chain)
{
	struct user_walk w = { .unwinder = unwinder, .sample = sample, .known = regs->known };
	enum stop_reason stop = STOP_NONE;

	memcpy(w.gpr, regs->gpr, sizeof(w.gpr));
	w.stack = find_stack(&w, w.gpr[ARM64_SP]);
	set_pc(&w, regs->pc, FRAME_F_INTERRUPTED);
	while (stop == STOP_NONE) {
		if (chain->nr == max)
			return STOP_DEPTH;
		chain->frames[chain->nr++] = (struct frame){ w.pc, FRAME_USER, w.flags };
		stop = step(&w);
	}
	return stop;
}
