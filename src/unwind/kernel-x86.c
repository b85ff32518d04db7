/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel part of a chain on x86-64: rows applied to registers and copied stacks.
 *
 * The kernel's own unwinder (arch/x86/kernel/unwind_orc.c) is the model for what a row means. What
 * is different: nothing here may be trusted, neither the tables nor the stacks, and the walk must
 * end whatever they hold. It does because each step adds a frame, of which there is a limit; and
 * it ends early where stacks make no sense, because within one copied stack the stack pointer must
 * rise, and a stack that was left is not entered again.
 */
#include "unwind/kernel-x86.h"

#include <string.h>

#include "arch/x86-regs.h"
#include "unwind/walk-private.h"

#define NR_GPRS USER_NR_GPRS
#define ALL_GPRS USER_ALL_GPRS
#define NO_STACK (-1)

struct walk {
	const struct unwinder *unwinder;
	const struct sample *sample;
	struct kernel_end *end;
	u64 gpr[NR_GPRS];
	u32 known;		/* bit n: gpr[n] holds the frame's value */
	u64 pc;
	bool exact;		/* pc was interrupted: it is not a return address */
	u8 flags;		/* enum frame_flags of pc */
	int stack;		/* index of the copied stack that RSP is in */
	u32 left;		/* bit n: stack n was left */
};

/* Canonical with 4 and with 5 levels of page tables, as far as that can be said of both. */
static bool in_kernel_half(u64 addr)
{
	return addr >> 56 == 0xff;
}

/* The copied stack that holds @addr, or else ends at it. */
static int stack_at(const struct sample *sample, u64 addr)
{
	const struct wire_sample *wire = sample->wire;
	int ends = NO_STACK;

	for (int i = 0; i < wire->nr_stacks; i++) {
		u64 skip = addr - wire->stacks[i].gva;

		if (skip < wire->stacks[i].size)
			return i;
		if (skip == wire->stacks[i].size && ends == NO_STACK)
			ends = i;
	}
	return ends;
}

/* Why @addr is in no copy: what ended the one below it, if that was cut. */
static enum stop_reason missing_reason(const struct sample *sample, u64 addr)
{
	const struct wire_sample *wire = sample->wire;
	enum stop_reason reason = STOP_STACK_CUT;
	u64 nearest = WIRE_MAX_STACK_BYTES;

	if (!in_kernel_half(addr))
		return STOP_BAD_POINTER;
	for (int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];
		u64 skip = addr - stack->gva;
		u64 past = skip > stack->size ? skip - stack->size : 0;

		if (addr < stack->gva || past >= nearest)
			continue;
		nearest = past;
		reason = stack->stop;
	}
	if (reason == STOP_NONE || reason == STOP_COMPLETE)
		return STOP_BAD_POINTER;
	return reason < STOP_NR ? reason : STOP_STACK_CUT;
}

static enum stop_reason read_stack(const struct walk *w, u64 addr, void *out, size_t size)
{
	if (addr % sizeof(u64))
		return STOP_BAD_POINTER;
	if (sample_read_stack(w->sample, GVA(addr), out, size) == 0)
		return STOP_NONE;
	return missing_reason(w->sample, addr + size - 1);
}

/* The value that @rule gives; CFI_SAME and CFI_UNDEFINED are the caller's business. */
static enum stop_reason apply_rule(const struct walk *w, const struct cfi_rule *rule, u64 cfa,
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

static enum stop_reason find_cfa(const struct walk *w, const struct cfi_row *row, u64 *ret_cfa)
{
	enum stop_reason stop;
	u64 cfa;

	if (row->cfa.kind != CFI_REG_OFFSET && row->cfa.kind != CFI_AT_REG)
		return STOP_NO_RULE;
	stop = apply_rule(w, &row->cfa, 0, &cfa);
	if (stop != STOP_NONE)
		return stop;
	if (row->cfa.kind == CFI_AT_REG)
		cfa += (s64)row->cfa_add;
	*ret_cfa = cfa;
	return STOP_NONE;
}

/*
 * The stack pointer goes to @sp: up in its own stack, or to one where the walk has not been. A
 * frame whose CFA is a plain offset from RSP cannot have switched stacks.
 */
static enum stop_reason move_sp(struct walk *w, u64 sp, bool may_switch)
{
	int stack = stack_at(w->sample, sp);

	if (sp % sizeof(u64) || !in_kernel_half(sp))
		return STOP_BAD_POINTER;
	if (sp <= w->gpr[X86_RSP] && (stack == w->stack || !may_switch))
		return STOP_BAD_POINTER;
	if (stack != w->stack && w->stack != NO_STACK)
		w->left |= 1U << w->stack;
	if (stack != NO_STACK && w->left & 1U << stack)
		return STOP_BAD_POINTER;
	w->stack = stack;
	w->gpr[X86_RSP] = sp;
	return STOP_NONE;
}

static bool is_kernel_text(const struct walk *w, u64 addr)
{
	return in_kernel_half(addr) && walk_is_kernel_text(w->unwinder, addr);
}

static bool is_outermost(const struct walk *w, u64 pc)
{
	struct cfi_row row;

	return w->unwinder->ops->find_row(w->unwinder->ctx, GVA(pc), &row) == 0 &&
	       row.kind == CFI_ROW_END;
}

/*
 * Return addresses that no call left: outermost frames that were made by hand. A new task returns
 * to ret_from_fork's first byte (copy_thread()); secondary_startup_64 enters C by a far return with
 * the address after it pushed (up to 6.8). The rule there says that nothing follows, so that a
 * mistake costs one wrong frame at most.
 */
static bool accept_outermost(const struct walk *w, u64 ra, u8 *ret_flags)
{
	if (is_outermost(w, ra - 1)) {
		*ret_flags = FRAME_F_RETURN;
		return true;
	}
	*ret_flags = FRAME_F_INTERRUPTED;
	return is_outermost(w, ra);
}

static enum stop_reason check_return(const struct walk *w, u64 ra, u8 *ret_flags)
{
	int asked;

	if (!in_kernel_half(ra))
		return STOP_BAD_RETURN;
	asked = walk_ask_call(w->unwinder, ra);
	if (asked == -EBADMSG)
		return accept_outermost(w, ra, ret_flags) ? STOP_NONE : STOP_BAD_RETURN;
	return walk_judge_kernel_return(w->unwinder, ra, asked, ret_flags);
}

static void set_pc(struct walk *w, u64 pc, u8 flags)
{
	w->pc = pc;
	w->flags = flags;
	w->exact = flags & FRAME_F_INTERRUPTED;
}

/* The caller of an ordinary function; only what ORC keeps of its registers is known. */
static enum stop_reason step_call(struct walk *w, const struct cfi_row *row, u64 cfa, u64 bp)
{
	bool may_switch = row->cfa.kind != CFI_REG_OFFSET || row->cfa.reg != X86_RSP;
	u8 flags = FRAME_F_INTERRUPTED;
	enum stop_reason stop;
	u64 ra;

	stop = apply_rule(w, &row->ra, cfa, &ra);
	if (stop == STOP_NONE && !row->interrupted)
		stop = check_return(w, ra, &flags);
	else if (stop == STOP_NONE && !is_kernel_text(w, ra))
		stop = STOP_BAD_RETURN;
	if (stop == STOP_NONE)
		stop = move_sp(w, cfa, may_switch);
	if (stop != STOP_NONE)
		return stop;
	w->gpr[X86_RBP] = bp;
	w->known = 1U << X86_RSP | 1U << X86_RBP;
	set_pc(w, ra, flags);
	return STOP_NONE;
}

/* What the processor pushed: user mode, where the kernel part is complete, or the kernel's own. */
static enum stop_reason enter_interrupted(struct walk *w, const struct cfi_row *row,
					  const u64 *iret)
{
	u64 pc = iret[0], cs = iret[X86_PT_CS - X86_PT_RIP], sp = iret[X86_PT_RSP - X86_PT_RIP];
	enum stop_reason stop;

	if (x86_cs_cpl(cs) == 3) {
		w->end->user_regs = true;
		w->end->user.is_32 = x86_cs_is_32(cs);
		w->end->user.pc = x86_linear_pc(&w->sample->wire->regs, cs, pc);
		memcpy(w->end->user.gpr, w->gpr, sizeof(w->gpr));
		w->end->user.gpr[X86_RSP] = sp;
		w->end->user.known = w->known | 1U << X86_RSP;
		return STOP_COMPLETE;
	}
	if (x86_cs_cpl(cs) != 0)
		return STOP_BAD_POINTER;
	if (!in_kernel_half(pc))
		return STOP_BAD_RETURN;
	stop = move_sp(w, sp, true);
	if (stop != STOP_NONE)
		return stop;
	/* A trap's address is after its instruction, as a return address is. */
	set_pc(w, pc, row->interrupted ? FRAME_F_INTERRUPTED : FRAME_F_RETURN);
	return STOP_NONE;
}

static enum stop_reason step_regs(struct walk *w, const struct cfi_row *row, u64 cfa, u64 bp)
{
	u64 regs[X86_PT_NR];
	enum stop_reason stop;

	stop = read_stack(w, cfa, regs, sizeof(regs));
	if (stop == STOP_NONE)
		stop = enter_interrupted(w, row, regs + X86_PT_RIP);
	if (w->end->user_regs) {
		user_x86_load_gprs(regs, w->end->user.gpr);
		w->end->user.known = ALL_GPRS;
	}
	if (stop != STOP_NONE)
		return stop;
	user_x86_load_gprs(regs, w->gpr);
	w->known = ALL_GPRS;
	if (row->bp.kind != CFI_SAME)
		w->gpr[X86_RBP] = bp;
	return STOP_NONE;
}

/* Only what the processor pushed is there; all other registers are still as they were. */
static enum stop_reason step_regs_partial(struct walk *w, const struct cfi_row *row, u64 cfa,
					  u64 bp)
{
	u64 iret[X86_PT_NR - X86_PT_RIP];
	enum stop_reason stop;

	stop = read_stack(w, cfa, iret, sizeof(iret));
	if (stop == STOP_NONE)
		stop = enter_interrupted(w, row, iret);
	if (stop != STOP_NONE)
		return stop;
	w->gpr[X86_RBP] = bp;
	return STOP_NONE;
}

static enum stop_reason step_row(struct walk *w, const struct cfi_row *row)
{
	enum stop_reason stop;
	u64 cfa, bp = w->gpr[X86_RBP];

	stop = find_cfa(w, row, &cfa);
	if (stop == STOP_NONE && row->bp.kind != CFI_SAME && row->bp.kind != CFI_UNDEFINED)
		stop = apply_rule(w, &row->bp, cfa, &bp);
	if (stop != STOP_NONE)
		return stop;
	switch (row->kind) {
	case CFI_ROW_CALL:
		return step_call(w, row, cfa, bp);
	case CFI_ROW_REGS:
		return step_regs(w, row, cfa, bp);
	default:
		return step_regs_partial(w, row, cfa, bp);
	}
}

/*
 * Code without rules: if RBP points at a saved RBP with a return address above it in this very
 * stack, and a call is seen before that address, then take it. What the kernel's JIT makes, BPF
 * programs and their trampolines, keeps frame pointers.
 */
static enum stop_reason step_frame_pointer(struct walk *w)
{
	u64 bp = w->gpr[X86_RBP], frame[2];
	enum stop_reason stop;
	u8 flags;

	if (w->stack == NO_STACK || bp < w->gpr[X86_RSP] || stack_at(w->sample, bp) != w->stack ||
	    read_stack(w, bp, frame, sizeof(frame)) != STOP_NONE)
		return STOP_NO_RULE;
	if (check_return(w, frame[1], &flags) != STOP_NONE || flags & FRAME_F_UNVERIFIED)
		return STOP_NO_RULE;
	stop = move_sp(w, bp + sizeof(frame), false);
	if (stop != STOP_NONE)
		return stop;
	w->gpr[X86_RBP] = frame[0];
	w->known = 1U << X86_RSP | 1U << X86_RBP;
	set_pc(w, frame[1], flags);
	return STOP_NONE;
}

static enum stop_reason step_by_row(struct walk *w, const struct cfi_row *row)
{
	switch (row->kind) {
	case CFI_ROW_END:
		return STOP_COMPLETE;
	case CFI_ROW_CALL:
	case CFI_ROW_REGS:
	case CFI_ROW_REGS_PARTIAL:
		return step_row(w, row);
	default:
		return STOP_NO_RULE;
	}
}

/* Whether @ra follows a call for certain, in a function that has a caller. */
static bool is_call_site(const struct walk *w, u64 ra)
{
	const struct unwind_ops *ops = w->unwinder->ops;
	struct cfi_row row;

	return is_kernel_text(w, ra) && ops->check_call &&
	       ops->check_call(w->unwinder->ctx, GVA(ra), false) == 0 &&
	       ops->find_row(w->unwinder->ctx, GVA(ra - 1), &row) == 0 &&
	       row.kind != CFI_ROW_END && row.kind != CFI_ROW_UNDEFINED;
}

/*
 * Interrupted in a retpoline? Indirect calls go through it (arch/x86/lib/retpoline.S): it calls its
 * own middle, puts the target over that return address and "returns" to it. Rules there are no
 * use: the outermost frame (until 6.3), undefined (since 6.4, fb799447ae29), and in the end an
 * ordinary function that the target would have called. But the stack says it: the caller's return
 * address is on top, or below the retpoline's own one, or below the target.
 */
static bool step_retpoline(struct walk *w)
{
	u64 sp = w->gpr[X86_RSP], top[2];

	for (unsigned int i = 0; i < ARRAY_SIZE(top); i++, sp += sizeof(u64)) {
		if (read_stack(w, sp, &top[i], sizeof(top[i])) != STOP_NONE)
			return false;
		if (!is_call_site(w, top[i]))
			continue;
		if (move_sp(w, sp + sizeof(u64), false) != STOP_NONE)
			return false;
		w->known = 1U << X86_RSP | 1U << X86_RBP;
		set_pc(w, top[i], FRAME_F_RETURN);
		return true;
	}
	return false;
}

/*
 * Return addresses on top of the stack that the interrupted code left by calling itself, a few
 * bytes before. Context switches fill the return predictor so, two at a time (__FILL_RETURN_BUFFER,
 * arch/x86/include/asm/nospec-branch.h), and rules know nothing of the second time round.
 */
static unsigned int count_own_calls(const struct walk *w)
{
	const struct unwind_ops *ops = w->unwinder->ops;
	unsigned int nr = 0;
	u64 ra;

	while (nr < 2 && ops->check_call &&
	       read_stack(w, w->gpr[X86_RSP] + nr * sizeof(ra), &ra, sizeof(ra)) == STOP_NONE &&
	       w->pc - ra < 16 && ops->check_call(w->unwinder->ctx, GVA(ra), false) == 0)
		nr++;
	return nr;
}

/* Once more with the stack as it was before such calls. */
static bool step_own_calls(struct walk *w, const struct cfi_row *row)
{
	u64 sp = w->gpr[X86_RSP];

	w->gpr[X86_RSP] += count_own_calls(w) * sizeof(u64);
	if (w->gpr[X86_RSP] != sp && step_by_row(w, row) == STOP_NONE)
		return true;
	w->gpr[X86_RSP] = sp;
	return false;
}

static bool is_call_by_rsp(const struct cfi_row *row)
{
	return row->kind == CFI_ROW_CALL && row->cfa.kind == CFI_REG_OFFSET &&
	       row->cfa.reg == X86_RSP;
}

static bool may_be_retpoline(const struct cfi_row *row)
{
	return row->kind == CFI_ROW_END || row->kind == CFI_ROW_UNDEFINED ||
	       (is_call_by_rsp(row) && row->cfa.offset == sizeof(u64));
}

/* Code that plays with return addresses, where @row did not help. */
static bool step_trick(struct walk *w, const struct cfi_row *row)
{
	if (is_call_by_rsp(row) && step_own_calls(w, row))
		return true;
	return may_be_retpoline(row) && step_retpoline(w);
}

/* The segments that Linux runs with; SS may be null in the kernel. */
static bool are_segments(u16 cs, u16 ss)
{
	if (cs == X86_KERNEL_CS)
		return ss == X86_KERNEL_DS || !ss;
	if (x86_cs_cpl(cs) == 3 && cs & X86_SELECTOR_LDT)
		return x86_cs_cpl(ss) == 3;
	return (cs == X86_USER_CS || cs == X86_USER32_CS) && ss == X86_USER_DS;
}

#define ENTRY_SWITCH 3	/* bytes of `mov %rax,%rsp` */

/* The rule for all registers that are pushed, at the pc or behind the switch of stacks there. */
static bool find_row_of_all(const struct walk *w, struct cfi_row *ret)
{
	for (unsigned int skip = 0; skip <= ENTRY_SWITCH; skip += ENTRY_SWITCH) {
		if (w->unwinder->ops->find_row(w->unwinder->ctx, GVA(w->pc + skip), ret) == 0 &&
		    ret->kind == CFI_ROW_REGS)
			return true;
	}
	return false;
}

/* Whether the processor's part of pt_regs is where @row says. */
static bool has_frame(const struct walk *w, const struct cfi_row *row)
{
	unsigned int first = row->kind == CFI_ROW_REGS ? X86_PT_RIP : 0;
	u64 cfa, iret[X86_PT_NR - X86_PT_RIP];

	return find_cfa(w, row, &cfa) == STOP_NONE &&
	       read_stack(w, cfa + first * sizeof(u64), iret, sizeof(iret)) == STOP_NONE &&
	       are_segments(iret[X86_PT_CS - X86_PT_RIP], iret[X86_PT_SS - X86_PT_RIP]);
}

/*
 * Entry code that has only the processor's part of pt_regs, @row, calls what pushes the rest, and
 * has all of it when that returns (error_entry(), arch/x86/entry/entry_64.S, and sync_regs(), to
 * which it jumps). In there they mostly are pushed: then the row behind the call is the true one.
 * So it is at the very instruction that the call returns to, which only now takes the stack that
 * the thread is to have.
 */
static enum stop_reason step_entry(struct walk *w, const struct cfi_row *row)
{
	struct cfi_row all;

	if ((!w->exact || !has_frame(w, row)) && find_row_of_all(w, &all) && has_frame(w, &all))
		return step_by_row(w, &all);
	return step_by_row(w, row);
}

/* To the caller's frame: STOP_NONE, or why there is none. */
static enum stop_reason step(struct walk *w)
{
	u64 pc = w->exact ? w->pc : w->pc - 1;
	enum stop_reason stop;
	struct cfi_row row;
	int err;

	err = w->unwinder->ops->find_row(w->unwinder->ctx, GVA(pc), &row);
	if (err == -ENOENT)
		return step_frame_pointer(w);
	if (err)
		return err == -EOPNOTSUPP ? STOP_UNSUPPORTED : STOP_NO_RULE;
	/* Only the first and the last instructions in the kernel have no stack of its own. */
	if (row.kind != CFI_ROW_CALL && !in_kernel_half(w->gpr[X86_RSP]))
		return STOP_COMPLETE;
	if (row.kind == CFI_ROW_REGS_PARTIAL)
		return step_entry(w, &row);
	stop = step_by_row(w, &row);
	if (stop == STOP_NONE || !w->exact)
		return stop;
	if (row.kind == CFI_ROW_CALL && stop != STOP_BAD_RETURN)
		return stop;
	return step_trick(w, &row) ? STOP_NONE : stop;
}

static void walk_init(struct walk *w, const struct unwinder *unwinder, const struct sample *sample,
		      struct kernel_end *end)
{
	const struct vcpu_regs *regs = &sample->wire->regs;

	memset(w, 0, sizeof(*w));
	w->unwinder = unwinder;
	w->sample = sample;
	w->end = end;
	memcpy(w->gpr, regs->gpr, sizeof(w->gpr));
	w->known = ALL_GPRS;
	w->stack = stack_at(sample, w->gpr[X86_RSP]);
	set_pc(w, regs->pc, FRAME_F_INTERRUPTED);
}

enum stop_reason unwind_kernel_x86(const struct unwinder *unwinder, const struct sample *sample,
				   unsigned int max, struct chain *chain,
				   struct kernel_end *ret_end)
{
	struct kernel_end end = { 0 };
	enum stop_reason stop = STOP_NONE;
	struct walk w;

	walk_init(&w, unwinder, sample, &end);
	for (unsigned int i = 0; stop == STOP_NONE; i++) {
		if (i == max) {
			stop = STOP_DEPTH;
			break;
		}
		chain->frames[chain->nr++] = (struct frame){ w.pc, FRAME_KERNEL, w.flags };
		stop = step(&w);
	}
	end.at_entry = stop == STOP_COMPLETE && !end.user_regs && chain->nr == 1;
	*ret_end = end;
	return stop;
}
