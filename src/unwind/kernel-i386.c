/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel part of a chain on i386: there is no ORC, but kernels keep frame pointers
 * (CONFIG_UNWINDER_FRAME_POINTER), and what they leave at entries is as arch/x86/kernel/
 * unwind_frame.c has it:
 *
 *  - a saved EBP whose highest bit is clear is the address of a struct pt_regs without that bit
 *    (ENCODE_FRAME_POINTER, arch/x86/include/asm/frame.h): the code there was interrupted;
 *  - system calls do not mark theirs: the function that entry code has called has the user's EBP
 *    saved, and is the last one below the pt_regs at the end of the thread's stack;
 *  - in a thread of the kernel's the chain ends at a pt_regs in that very place that is not the
 *    user's; in an idle one with an EBP of 0.
 *
 * Nothing on the stack may be trusted. The walk ends because each step adds a frame, and early
 * where it makes no sense, because addresses must rise in a stack, and a stack that was left is not
 * entered again.
 */
#include "unwind/kernel-i386.h"

#include <string.h>

#include "arch/i386-frame.h"
#include "arch/x86-regs.h"
#include "unwind/walk-private.h"

#define WORD sizeof(u32)
#define NO_STACK (-1)

/* struct pt_regs, arch/x86/include/asm/ptrace.h. */
enum regs_slot {
	REGS_BX,
	REGS_CX,
	REGS_DX,
	REGS_SI,
	REGS_DI,
	REGS_BP,
	REGS_AX,
	REGS_IP = 12,
	REGS_CS,
	REGS_FLAGS,
	REGS_SP,
	REGS_SS,
	REGS_NR,
};

#define REGS_BYTES (REGS_NR * WORD)

/*
 * TOP_OF_KERNEL_STACK_PADDING: what is above a thread's first pt_regs, without and with VM86
 * (arch/x86/include/asm/thread_info.h).
 */
static const u8 paddings[] = { 8, 16 };

/* The last function's frame may be this far below them: GCC realigns some functions' stacks. */
#define LAST_FRAME_DISTANCE 64

struct walk {
	const struct unwinder *unwinder;
	const struct sample *sample;
	struct kernel_end *end;
	u64 pc;
	u64 sp, bp;		/* EBP as it is: not extended */
	bool exact;		/* pc was interrupted: it is not a return address */
	bool live;		/* registers are the vCPU's: no step was made yet */
	u8 flags;		/* enum frame_flags of pc */
	int stack;		/* index of the copied stack that sp is in */
	u32 left;		/* bit n: stack n was left */
	u64 top_regs;		/* the pt_regs at the end of the thread's stack; 0: not copied */
	enum stop_reason cut;	/* why the thread's stack was not copied to its end; else NONE */
};

static u64 extend(u64 addr)
{
	return (s64)(s32)addr;
}

static bool in_kernel_half(u64 addr)
{
	return addr >> 31 == (1ULL << 33) - 1;
}

/* The copied stack that holds @addr. */
static int stack_at(const struct sample *sample, u64 addr)
{
	const struct wire_sample *wire = sample->wire;

	for (int i = 0; i < wire->nr_stacks; i++)
		if (wire->stacks[i].kind != WIRE_STACK_USER &&
		    addr - wire->stacks[i].gva < wire->stacks[i].size)
			return i;
	return NO_STACK;
}

/* Why @addr is in no copy. */
static enum stop_reason missing_reason(const struct walk *w, u64 addr)
{
	const struct wire_sample *wire = w->sample->wire;
	enum stop_reason reason = STOP_NONE;

	for (int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];

		if (addr >= stack->gva && addr - stack->gva < WIRE_MAX_STACK_BYTES)
			reason = stack->stop;
	}
	if (reason == STOP_NONE || reason == STOP_COMPLETE || reason >= STOP_NR)
		return STOP_BAD_POINTER;
	return reason;
}

static enum stop_reason read_words(const struct walk *w, u64 addr, u32 *out, unsigned int nr)
{
	if (addr % WORD || !in_kernel_half(addr))
		return STOP_BAD_POINTER;
	if (sample_read_stack(w->sample, GVA(addr), out, nr * WORD) == 0)
		return STOP_NONE;
	return missing_reason(w, addr);
}

/* The stack pointer goes to @sp: up in its own stack, or to one where the walk has not been. */
static enum stop_reason move_sp(struct walk *w, u64 sp)
{
	int stack = stack_at(w->sample, sp - 1);

	if (sp % WORD || !in_kernel_half(sp))
		return STOP_BAD_POINTER;
	if (stack == w->stack && sp <= w->sp)
		return STOP_BAD_POINTER;
	if (stack != w->stack && w->stack != NO_STACK)
		w->left |= 1U << w->stack;
	if (stack != NO_STACK && w->left & 1U << stack)
		return STOP_BAD_POINTER;
	w->stack = stack;
	w->sp = sp;
	return STOP_NONE;
}

static void set_pc(struct walk *w, u64 pc, u8 flags)
{
	w->pc = pc;
	w->flags = flags;
	w->exact = flags & FRAME_F_INTERRUPTED;
}

static enum stop_reason check_return(const struct walk *w, u64 ra, u8 *ret_flags)
{
	if (!in_kernel_half(ra))
		return STOP_BAD_RETURN;
	return walk_judge_kernel_return(w->unwinder, ra, walk_ask_call(w->unwinder, ra), ret_flags);
}

static bool is_user(const u32 *regs)
{
	return (regs[REGS_CS] & 3) == 3;
}

static void take_user(struct walk *w, const u32 *regs)
{
	struct user_regs *user = &w->end->user;

	w->end->user_regs = true;
	user->is_32 = true;
	user->pc = x86_linear_pc(&w->sample->wire->regs, regs[REGS_CS], regs[REGS_IP]);
	user->known = USER_ALL_GPRS;
	memset(user->gpr, 0, sizeof(user->gpr));
	user->gpr[X86_RAX] = regs[REGS_AX];
	user->gpr[X86_RBX] = regs[REGS_BX];
	user->gpr[X86_RCX] = regs[REGS_CX];
	user->gpr[X86_RDX] = regs[REGS_DX];
	user->gpr[X86_RSI] = regs[REGS_SI];
	user->gpr[X86_RDI] = regs[REGS_DI];
	user->gpr[X86_RBP] = regs[REGS_BP];
	user->gpr[X86_RSP] = regs[REGS_SP];
}

/*
 * What was interrupted, by the pt_regs at @at. Since 5.2 (3c88c692c287 "x86/stackframe/32: Provide
 * consistent pt_regs") its sp is always there; before, that of kernel code is where it would be.
 */
static enum stop_reason step_regs(struct walk *w, u64 at)
{
	u32 regs[REGS_NR];
	enum stop_reason stop = read_words(w, at, regs, REGS_NR);
	u64 sp = extend(regs[REGS_SP]);

	if (stop != STOP_NONE)
		return stop;
	if (is_user(regs)) {
		take_user(w, regs);
		return STOP_COMPLETE;
	}
	if (at == w->top_regs)
		return STOP_COMPLETE;
	if (regs[REGS_CS] & 3 || !in_kernel_half(extend(regs[REGS_IP])))
		return STOP_BAD_RETURN;
	if (sp <= at || stack_at(w->sample, sp) == NO_STACK)
		sp = at + REGS_SP * WORD;
	stop = move_sp(w, sp);
	if (stop != STOP_NONE)
		return stop;
	w->bp = regs[REGS_BP];
	set_pc(w, extend(regs[REGS_IP]), FRAME_F_INTERRUPTED);
	return STOP_NONE;
}

/* To the caller at @ra, whose frame begins at @sp. */
static enum stop_reason enter_caller(struct walk *w, u64 sp, u32 bp, u32 ra)
{
	u8 flags;
	enum stop_reason stop = check_return(w, extend(ra), &flags);

	if (stop == STOP_NONE)
		stop = move_sp(w, sp);
	if (stop != STOP_NONE)
		return stop;
	w->bp = bp;
	set_pc(w, extend(ra), flags);
	return STOP_NONE;
}

/*
 * Whether the function that entry code called is the one whose frame has just been left: there is
 * no other frame between it and the registers.
 */
static bool is_last_frame(const struct walk *w)
{
	u64 bp = extend(w->bp);

	if (!w->top_regs || w->sp > w->top_regs || w->top_regs - w->sp > LAST_FRAME_DISTANCE)
		return false;
	return bp < w->sp || bp >= w->top_regs;
}

static enum stop_reason step_frame_pointer(struct walk *w)
{
	u64 at = extend(w->bp | 1ULL << 31);
	enum stop_reason stop;
	u32 frame[2];

	if (!w->exact && is_last_frame(w))
		return step_regs(w, w->top_regs);
	if (!w->bp)	/* a user's EBP may be 0, too: then there are registers, copied or not */
		return w->cut == STOP_NONE ? STOP_COMPLETE : w->cut;
	if (at != extend(w->bp))
		return stack_at(w->sample, at) == NO_STACK ? STOP_BAD_POINTER : step_regs(w, at);
	stop = read_words(w, at, frame, 2);
	if (stop == STOP_NONE && at < w->sp && stack_at(w->sample, at) == w->stack)
		stop = STOP_BAD_POINTER;
	if (stop != STOP_NONE)
		return stop;
	return enter_caller(w, at + sizeof(frame), frame[0], frame[1]);
}

/* By the stack pointer: where a function has not made its frame yet, or has none any more. */
static enum stop_reason step_row(struct walk *w, const struct cfi_row *row)
{
	u32 ra, bp = w->bp;
	u64 cfa = w->sp + (s64)row->cfa.offset;
	enum stop_reason stop = read_words(w, cfa - WORD, &ra, 1);

	if (stop == STOP_NONE && row->bp.kind == CFI_AT_CFA)
		stop = read_words(w, cfa + (s64)row->bp.offset, &bp, 1);
	return stop == STOP_NONE ? enter_caller(w, cfa, bp, ra) : stop;
}

/*
 * Entry code at work on the pt_regs at @base, of which it has stored those that are at the stack
 * pointer and above, or not yet loaded them again: the others are in their registers. What it uses
 * itself by then it has stored. When the user's pc is not among them capture has to know it.
 */
static enum stop_reason leave_entry(struct walk *w, u64 base)
{
	const u64 *gpr = w->sample->wire->regs.gpr;
	u32 regs[REGS_NR] = {
		[REGS_BX] = gpr[X86_RBX], [REGS_CX] = gpr[X86_RCX], [REGS_DX] = gpr[X86_RDX],
		[REGS_SI] = gpr[X86_RSI], [REGS_DI] = gpr[X86_RDI], [REGS_BP] = gpr[X86_RBP],
		[REGS_AX] = gpr[X86_RAX],
	};
	unsigned int first = w->sp > base ? (w->sp - base) / WORD : 0;
	enum stop_reason stop;

	if (first > REGS_IP)
		return STOP_COMPLETE;
	stop = read_words(w, base + first * WORD, regs + first, REGS_NR - first);
	if (stop == STOP_NONE && is_user(regs) && (regs[REGS_SS] & 3) == 3)
		take_user(w, regs);
	return STOP_COMPLETE;
}

/*
 * In the kernel an interrupt goes on on the stack that it finds, and pushes three words, and a
 * fault an error code below them.
 */
static enum stop_reason step_interrupted(struct walk *w)
{
	u32 words[REGS_SP - REGS_IP + 1];

	if (read_words(w, w->sp, words, ARRAY_SIZE(words)) != STOP_NONE)
		return STOP_BAD_POINTER;
	for (unsigned int code = 0; code <= 1; code++) {
		struct i386_frame frame = { words[code], words[code + 1], words[code + 2], 0, 0 };
		u64 sp = w->sp + code * WORD + offsetof(struct i386_frame, sp);
		u64 pc = extend(frame.ip);

		if (!i386_frame_is_kernel(&frame) || !in_kernel_half(pc) ||
		    !walk_is_kernel_text(w->unwinder, pc) || move_sp(w, sp) != STOP_NONE)
			continue;
		set_pc(w, pc, FRAME_F_INTERRUPTED);
		return STOP_NONE;
	}
	return STOP_BAD_POINTER;
}

/*
 * Entry code: no function has the stack pointer among the user's registers, or on the stack where
 * interrupts from user mode arrive. STOP_NONE, STOP_COMPLETE, or that it is none.
 */
static enum stop_reason step_entry(struct walk *w)
{
	u64 end = (w->sp | (I386_ENTRY_STACK_BYTES - 1)) + 1;

	if (w->sp >= I386_ENTRY_AREA)
		return leave_entry(w, end - REGS_BYTES);
	if (w->top_regs && w->sp >= w->top_regs && w->sp - w->top_regs <= REGS_BYTES)
		return leave_entry(w, w->top_regs);
	return step_interrupted(w);
}

static enum stop_reason step(struct walk *w)
{
	enum stop_reason stop;
	struct cfi_row row;

	if (w->live) {
		w->live = false;
		stop = step_entry(w);
		if (stop == STOP_NONE || stop == STOP_COMPLETE)
			return stop;
	}
	if (w->exact && w->unwinder->ops->find_row(w->unwinder->ctx, GVA(w->pc), &row) == 0 &&
	    row.kind == CFI_ROW_CALL && row.cfa.kind == CFI_REG_OFFSET &&
	    row.cfa.reg == X86_RSP && step_row(w, &row) == STOP_NONE)
		return STOP_NONE;
	return step_frame_pointer(w);
}

/* Of the paddings that kernels have the one at which there is a pt_regs. */
static void find_top_regs(struct walk *w)
{
	const struct wire_sample *wire = w->sample->wire;

	for (int i = 0; i < wire->nr_stacks; i++) {
		const struct wire_stack *stack = &wire->stacks[i];
		u64 end = stack->gva + stack->size;

		if (stack->kind == WIRE_STACK_USER || !(wire->flags & WIRE_F_TASK) ||
		    stack->gva - wire->task.stack >= WIRE_MAX_STACK_BYTES)
			continue;
		if (stack->stop != STOP_COMPLETE) {
			w->cut = stack->stop < STOP_NR ? stack->stop : STOP_STACK_CUT;
			continue;
		}
		for (size_t k = 0; k < ARRAY_SIZE(paddings) && !w->top_regs; k++) {
			u64 at = end - paddings[k] - REGS_BYTES;
			u32 regs[REGS_NR];

			if (read_words(w, at, regs, REGS_NR) == STOP_NONE && is_user(regs) &&
			    (regs[REGS_SS] & 3) == 3)
				w->top_regs = at;
		}
		if (!w->top_regs)
			w->top_regs = end - paddings[0] - REGS_BYTES;
	}
}

enum stop_reason unwind_kernel_i386(const struct unwinder *unwinder, const struct sample *sample,
				    unsigned int max, struct chain *chain,
				    struct kernel_end *ret_end)
{
	const struct vcpu_regs *regs = &sample->wire->regs;
	struct kernel_end end = { 0 };
	struct walk w = {
		.unwinder = unwinder,
		.sample = sample,
		.end = &end,
		.sp = regs->gpr[X86_RSP],
		.bp = (u32)regs->gpr[X86_RBP],
		.stack = stack_at(sample, regs->gpr[X86_RSP]),
		.live = true,
	};
	enum stop_reason stop = STOP_NONE;

	find_top_regs(&w);
	set_pc(&w, regs->pc, FRAME_F_INTERRUPTED);
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
