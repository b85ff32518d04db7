/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel part of a chain on arm64, whose kernels keep frame records: x29 points at the pair of
 * the caller's x29 and the return address. Only an interrupted function may have none yet, or none
 * any more: for that, a rule is asked for. Entry code puts a record into the pt_regs that it stores
 * so that the chain leads through them, and one of zeros where user mode, or nothing, is behind.
 *
 * Nothing here may be trusted. The walk ends because each step adds a frame, and early where stacks
 * make no sense: within one copied stack records must rise, and a stack that was left is not
 * entered again.
 */
#include "unwind/kernel-arm64.h"

#include <string.h>

#include "arch/arm64-regs.h"
#include "unwind/user-arm64.h"
#include "unwind/walk-private.h"

#define NO_STACK (-1)

struct walk {
	const struct unwinder *unwinder;
	const struct sample *sample;
	struct kernel_end *end;
	u64 pc, fp, sp, lr;
	bool exact;	/* pc was interrupted, .sp and .lr are known: it is not a return address */
	u8 flags;	/* enum frame_flags of pc */
	int stack;	/* index of the copied stack that the last record was in */
	u64 last;	/* where it was */
	u32 left;	/* bit n: stack n was left */
};

static bool in_kernel_half(u64 addr)
{
	return addr >> 56 == 0xff;
}

static int stack_at(const struct sample *sample, u64 addr)
{
	const struct wire_sample *wire = sample->wire;

	for (int i = 0; i < wire->nr_stacks; i++)
		if (addr - wire->stacks[i].gva < wire->stacks[i].size)
			return i;
	return NO_STACK;
}

/* Why @addr is in no copy: what ended the one below it, if that was cut. */
static enum stop_reason missing_reason(const struct sample *sample, u64 addr)
{
	const struct wire_sample *wire = sample->wire;
	enum stop_reason reason = STOP_STACK_CUT;
	u64 nearest = WIRE_MAX_STACK_BYTES;

	for (int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];
		u64 past = addr - stack->gva - stack->size;

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
	if (addr % sizeof(u64) || !in_kernel_half(addr))
		return STOP_BAD_POINTER;
	if (sample_read_stack(w->sample, GVA(addr), out, size) == 0)
		return STOP_NONE;
	return missing_reason(w->sample, addr + size - 1);
}

/* On to the record at @at: up in its own stack, or in one where the walk has not been. */
static enum stop_reason move_to(struct walk *w, u64 at)
{
	int stack = stack_at(w->sample, at);

	if (stack == w->stack && stack != NO_STACK)
		return at <= w->last ? STOP_BAD_POINTER : STOP_NONE;
	if (stack != NO_STACK && w->left & 1U << stack)
		return STOP_BAD_POINTER;
	if (w->stack != NO_STACK)
		w->left |= 1U << w->stack;
	w->stack = stack;
	return STOP_NONE;
}

static enum stop_reason check_return(const struct walk *w, u64 ra, u8 *ret_flags)
{
	if (!in_kernel_half(ra))
		return STOP_BAD_RETURN;
	return walk_judge_kernel_return(w->unwinder, ra, walk_ask_call(w->unwinder, ra), ret_flags);
}

static u64 strip(const struct walk *w, u64 addr)
{
	return arm64_strip(addr, w->sample->wire->regs.arm64.tcr);
}

static void set_pc(struct walk *w, u64 pc, u8 flags)
{
	w->pc = pc;
	w->flags = flags;
	w->exact = flags & FRAME_F_INTERRUPTED;
}

/* User mode was left here, or the kernel was interrupted. */
static enum stop_reason enter_regs(struct walk *w, const u64 *regs)
{
	if (!arm64_is_user(regs[ARM64_PT_PSTATE])) {
		if (!in_kernel_half(regs[ARM64_PT_PC]))
			return STOP_BAD_RETURN;
		w->fp = regs[ARM64_PT_FP];
		w->sp = regs[ARM64_PT_SP];
		w->lr = regs[ARM64_PT_LR];
		set_pc(w, regs[ARM64_PT_PC], FRAME_F_INTERRUPTED);
		return STOP_NONE;
	}
	w->end->user_regs = true;
	user_arm64_load(regs, &w->end->user);
	w->end->user.is_32 = regs[ARM64_PT_PSTATE] & ARM64_PSTATE_32;
	return STOP_COMPLETE;
}

/*
 * A record of zeros. From 6.13 on a word says what pt_regs it is in. Before, it is only where the
 * chain ends: in the pt_regs of user mode, or in those that a kernel thread has never filled.
 */
static enum stop_reason enter_marked(struct walk *w, u64 at)
{
	u64 kind = ARM64_META_FINAL, regs[ARM64_PT_NR];
	bool meta = at % 16 == 8;

	if (meta && read_stack(w, at + 16, &kind, sizeof(kind)) != STOP_NONE)
		return STOP_BAD_POINTER;
	if (read_stack(w, at - (meta ? ARM64_PT_META : ARM64_PT_RECORD), regs, sizeof(regs)) !=
	    STOP_NONE)
		return kind == ARM64_META_FINAL ? STOP_COMPLETE : STOP_BAD_POINTER;
	if (kind == ARM64_META_PT_REGS)
		return enter_regs(w, regs);
	/* A program that runs has a pc; a kernel thread's registers are zeros, or the kernel's. */
	if (kind != ARM64_META_FINAL)
		return STOP_BAD_POINTER;
	return arm64_is_user(regs[ARM64_PT_PSTATE]) && regs[ARM64_PT_PC] ? enter_regs(w, regs) :
									    STOP_COMPLETE;
}

/*
 * Whether the record is the one of the kernel's pt_regs up to 6.12: then it repeats x29 and the pc
 * that are there.
 */
static bool is_in_regs(const struct walk *w, u64 at, const u64 *record, u64 *regs)
{
	return at % 16 == 0 &&
	       read_stack(w, at - ARM64_PT_RECORD, regs, ARM64_PT_NR * sizeof(*regs)) ==
		       STOP_NONE &&
	       regs[ARM64_PT_FP] == record[0] && regs[ARM64_PT_PC] == record[1] &&
	       in_kernel_half(regs[ARM64_PT_SP]) && !arm64_is_user(regs[ARM64_PT_PSTATE]);
}

/* The record at @at: that of the caller, or of what was interrupted. */
static enum stop_reason step_record(struct walk *w, u64 at)
{
	u64 record[2], regs[ARM64_PT_NR];
	enum stop_reason stop = read_stack(w, at, record, sizeof(record));
	u8 flags;

	if (stop == STOP_NONE)
		stop = move_to(w, at);
	if (stop != STOP_NONE)
		return stop;
	w->last = at;
	if (!record[0] && !record[1])
		return enter_marked(w, at);
	if (is_in_regs(w, at, record, regs))
		return enter_regs(w, regs);
	record[1] = strip(w, record[1]);
	stop = check_return(w, record[1], &flags);
	if (stop != STOP_NONE)
		return stop;
	w->fp = record[0];
	set_pc(w, record[1], flags);
	return STOP_NONE;
}

/* The interrupted function has no record: its caller's address is in x30. */
static bool step_lr(struct walk *w)
{
	u64 ra = strip(w, w->lr);
	u8 flags;

	if (check_return(w, ra, &flags) != STOP_NONE || flags != FRAME_F_RETURN)
		return false;
	set_pc(w, ra, flags);
	return true;
}

static enum stop_reason step_interrupted(struct walk *w)
{
	struct cfi_row row;
	int err = w->unwinder->ops->find_row(w->unwinder->ctx, GVA(w->pc), &row);

	if (err == 0 && row.ra.kind == CFI_SAME && step_lr(w))
		return STOP_NONE;
	if (err == 0 && row.ra.kind == CFI_AT_CFA &&
	    step_record(w, w->sp + (s64)row.cfa.offset) == STOP_NONE)
		return STOP_NONE;
	return step_record(w, w->fp);
}

/*
 * Whether the first frame is code of the entry from user mode or of the way back, which nobody has
 * called. That begins and ends with the user's x29, and with the user's SP_EL0: while the way back
 * leaves the kernel's mapping x29 is something else (tramp_exit, arch/arm64/kernel/entry.S).
 */
static bool in_entry(const struct walk *w)
{
	return !in_kernel_half(w->fp) ||
	       !in_kernel_half(w->sample->wire->regs.arm64.sp_el0);
}

/* To the caller's frame: STOP_NONE, or why there is none. */
static enum stop_reason step(struct walk *w, bool first)
{
	if (first && in_entry(w))
		return STOP_COMPLETE;
	return w->exact ? step_interrupted(w) : step_record(w, w->fp);
}

enum stop_reason unwind_kernel_arm64(const struct unwinder *unwinder, const struct sample *sample,
				     unsigned int max, struct chain *chain,
				     struct kernel_end *ret_end)
{
	const struct vcpu_regs *regs = &sample->wire->regs;
	struct kernel_end end = { 0 };
	struct walk w = {
		.unwinder = unwinder, .sample = sample, .end = &end, .stack = NO_STACK,
		.fp = regs->gpr[ARM64_FP], .sp = regs->gpr[ARM64_SP], .lr = regs->gpr[ARM64_LR],
	};
	enum stop_reason stop = STOP_NONE;

	set_pc(&w, regs->pc, FRAME_F_INTERRUPTED);
	for (unsigned int i = 0; stop == STOP_NONE; i++) {
		if (i == max) {
			stop = STOP_DEPTH;
			break;
		}
		chain->frames[chain->nr++] = (struct frame){ w.pc, FRAME_KERNEL, w.flags };
		stop = step(&w, i == 0);
	}
	end.at_entry = stop == STOP_COMPLETE && !end.user_regs && chain->nr == 1;
	*ret_end = end;
	return stop;
}
