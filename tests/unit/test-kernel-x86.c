/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel stacks as processors and entry code leave them, walked: calls, interrupts, stack
 * switches, NMIs; then the same ones cut, bent and tied into loops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-kernel.h"
#include "build-sample.h"

#define THREAD_TOP 0xffffc90000014000ULL
#define IRQ_TOP 0xffffc90000204000ULL
#define NMI_TOP 0xfffffe000000c000ULL
#define ENTRY_TOP 0xfffffe0000002000ULL

/* Everything one test needs. */
struct world {
	struct build_kernel kernel;
	struct build_stack thread, other;
	struct build_sample sample;
	struct chain chain;
	unsigned int max_depth;
};

static void world_init(struct world *w, u64 other_top)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(build_kernel_init(&w->kernel, ORC_FORMAT_TYPES), 0);
	build_stack_init(&w->thread, THREAD_TOP);
	build_stack_init(&w->other, other_top);
}

static void world_deinit(struct world *w)
{
	build_sample_deinit(&w->sample);
	build_kernel_deinit(&w->kernel);
}

static void unwind(struct world *w)
{
	struct unwinder unwinder = { &build_kernel_ops, &w->kernel, w->max_depth };
	struct sample sample;

	assert_int_equal(build_sample_finish(&w->sample, &sample), 0);
	unwind_sample(&unwinder, &sample, &w->chain);
}

/* Sampled at @pc on the thread's stack. */
static void sample_thread(struct world *w, u64 pc)
{
	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, pc, w->thread.sp);
	build_sample_stack(&w->sample, WIRE_STACK_AT_SP, &w->thread, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
}

/* Sampled at @pc on the other stack. */
static void sample_other(struct world *w, u64 pc)
{
	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, pc, w->other.sp);
	build_sample_stack(&w->sample, WIRE_STACK_AT_SP, &w->other, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	build_sample_stack(&w->sample, WIRE_STACK_THREAD, &w->thread, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
}

static void assert_frames(const struct world *w, const u64 *ips, const u8 *flags, u32 nr)
{
	for (u32 i = 0; i < MIN(nr, w->chain.nr); i++) {
		if (w->chain.frames[i].ip != ips[i] || w->chain.frames[i].flags != flags[i])
			fail_msg("frame %u is %#llx flags %u, not %#llx flags %u", i,
				 (unsigned long long)w->chain.frames[i].ip,
				 w->chain.frames[i].flags, (unsigned long long)ips[i], flags[i]);
	}
	assert_int_equal(w->chain.nr, nr);
}

#define RET FRAME_F_RETURN
#define INT FRAME_F_INTERRUPTED

/* Unwinds and compares with (ip, flags) pairs and the reason. */
#define assert_chain(w, reason, ...)                                            \
	do {                                                                    \
		const struct { u64 ip; u8 flags; } want_[] = { __VA_ARGS__ };   \
		u64 ips_[ARRAY_SIZE(want_)];                                    \
		u8 flags_[ARRAY_SIZE(want_)];                                   \
										\
		for (size_t i_ = 0; i_ < ARRAY_SIZE(want_); i_++) {             \
			ips_[i_] = want_[i_].ip;                                \
			flags_[i_] = want_[i_].flags;                           \
		}                                                               \
		unwind(w);                                                      \
		assert_frames(w, ips_, flags_, ARRAY_SIZE(want_));              \
		assert_string_equal(stop_reason_text((w)->chain.kernel_stop),   \
				    stop_reason_text(reason));                  \
	} while (0)

/* The stack of a kernel thread in three functions; returns the saved frame pointer's place. */
static u64 push_calls(struct build_stack *stack)
{
	u64 bp;

	build_stack_push(stack, FN_RETURN(FN_END));
	bp = build_stack_push(stack, 0xb0b0);		/* FN_FRAME: push %rbp */
	build_stack_locals(stack, 3);
	build_stack_push(stack, FN_RETURN(FN_FRAME));
	build_stack_push(stack, bp);			/* FN_LOCALS: push %rbp */
	build_stack_locals(stack, 1);
	build_stack_push(stack, FN_RETURN(FN_LOCALS));
	return bp;
}

static void test_calls(void **state)
{
	static const enum orc_format formats[] = {
		ORC_FORMAT_END, ORC_FORMAT_SIGNAL, ORC_FORMAT_TYPES,
	};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		world_init(&w, IRQ_TOP);
		build_kernel_deinit(&w.kernel);
		assert_int_equal(build_kernel_init(&w.kernel, formats[i]), 0);
		push_calls(&w.thread);
		sample_thread(&w, FN_PC(FN_LEAF));
		assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT },
			     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
			     { FN_RETURN(FN_END), RET });
		assert_int_equal(w.chain.nr_kernel, 4);
		assert_int_equal(w.chain.frames[3].kind, FRAME_KERNEL);
		assert_int_equal(w.chain.user_stop, STOP_NONE);
		assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
		world_deinit(&w);
	}
}

/* The registers of user mode at the stack's end; RBP is the user's and must not be followed. */
static void push_user_regs(struct build_stack *stack)
{
	u64 gpr[16] = { [X86_RSP] = 0x7ffc1000, [X86_RBP] = 0x7ffc2000 };

	build_stack_regs(stack, 0x401234, gpr, true);
}

static void test_user_regs(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_user_regs(&w.thread);
	build_stack_push(&w.thread, FN_RETURN(FN_REGS));
	sample_thread(&w, FN_PC(FN_LEAF));
	w.sample.wire.user_pc = 0x401234;
	w.sample.wire.user_sp = 0x7ffc1000;
	w.sample.wire.user_stop = STOP_COMPLETE;
	build_sample_frame(&w.sample, 0x401050);
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_REGS), RET },
		     { 0x401234, INT }, { 0x401050, RET });
	assert_int_equal(w.chain.nr_kernel, 2);
	assert_int_equal(w.chain.frames[1].kind, FRAME_KERNEL);
	assert_int_equal(w.chain.frames[2].kind, FRAME_USER);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	world_deinit(&w);
}

/*
 * A fault in kernel code that had realigned its stack by R10: the whole register file comes back,
 * and the address is the faulting one itself, where another row than one byte before holds.
 */
static void test_fault_in_kernel(void **state)
{
	u64 gpr[16] = { 0 };
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_calls(&w.thread);
	gpr[X86_R10] = w.thread.sp + 8;			/* lea 8(%rsp),%r10 */
	build_stack_locals(&w.thread, 5);
	gpr[X86_RSP] = w.thread.sp;
	gpr[X86_RBP] = w.thread.top - 16;
	build_stack_locals(&w.thread, 1);		/* the processor aligns to 16 */
	build_stack_regs(&w.thread, BUILD_KERNEL_TEXT + FN_R10 * 0x100, gpr, false);
	build_stack_push(&w.thread, FN_RETURN(FN_REGS));
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_REGS), RET },
		     { BUILD_KERNEL_TEXT + FN_R10 * 0x100, INT }, { FN_RETURN(FN_LOCALS), RET },
		     { FN_RETURN(FN_FRAME), RET }, { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* After a trap the address is the next instruction's; the row before it counts. */
static void test_trap(void **state)
{
	u64 gpr[16] = { 0 };
	struct world w;
	u64 after = BUILD_KERNEL_TEXT + (FN_LEAF + 1) * 0x100;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	gpr[X86_RSP] = w.thread.sp;
	build_stack_regs(&w.thread, after, gpr, false);
	sample_thread(&w, FN_PC(FN_REGS_TRAP));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_REGS_TRAP), INT }, { after, RET },
		     { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* Realigned stack: the frame pointer leads to the CFA's place, and to its own. */
static void test_realigned(void **state)
{
	struct world w;
	u64 cfa, bp;

	(void)state;
	world_init(&w, IRQ_TOP);
	bp = push_calls(&w.thread);
	cfa = w.thread.sp + 8;
	build_stack_locals(&w.thread, 3);
	build_stack_push(&w.thread, FN_RETURN(FN_LOCALS));	/* gcc pushes it again */
	bp = build_stack_push(&w.thread, bp);
	build_stack_push(&w.thread, cfa);
	build_stack_locals(&w.thread, 4);
	build_stack_push(&w.thread, FN_RETURN(FN_DRAP));
	sample_thread(&w, FN_PC(FN_LEAF));
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_DRAP), RET },
		     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
		     { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* call_on_irqstack(): the top word of the IRQ stack holds the thread's stack pointer. */
static void push_irq_switch(struct world *w)
{
	u64 gpr[16] = { 0 };

	push_calls(&w->thread);
	gpr[X86_RSP] = w->thread.sp;
	build_stack_regs(&w->thread, FN_PC(FN_LEAF), gpr, false);
	build_stack_push(&w->thread, FN_RETURN(FN_REGS));	/* into the handler, … */
	build_stack_locals(&w->thread, 1);			/* … which switches */
	build_stack_push(&w->other, w->thread.sp);
	build_stack_push(&w->other, FN_RETURN(FN_SWITCH));
}

static void test_irq_stack(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_irq_switch(&w);
	build_stack_locals(&w.other, 2);
	build_stack_push(&w.other, FN_RETURN(FN_LOCALS));
	sample_other(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_LOCALS), RET },
		     { FN_RETURN(FN_SWITCH), RET }, { FN_RETURN(FN_REGS), RET },
		     { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_LOCALS), RET },
		     { FN_RETURN(FN_FRAME), RET }, { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* 5.8 to 5.11 switched in a function with a frame pointer, which stays on the thread's stack. */
static void test_irq_stack_by_frame_pointer(void **state)
{
	struct world w;
	u64 bp;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	bp = build_stack_push(&w.thread, 0);
	build_stack_push(&w.other, FN_RETURN(FN_FRAME));
	sample_other(&w, FN_PC(FN_LEAF));
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_FRAME), RET },
		     { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* asm_exc_nmi in the kernel: frame, RDX, "executing", two more copies, then pt_regs. */
static void test_nmi(void **state)
{
	u64 gpr[16] = { 0 };
	struct world w;

	(void)state;
	world_init(&w, NMI_TOP);
	push_calls(&w.thread);
	build_stack_iret(&w.other, FN_PC(FN_LEAF), w.thread.sp, false);
	build_stack_push(&w.other, 0xd);
	build_stack_push(&w.other, 1);
	for (unsigned int i = 0; i < 2; i++)
		build_stack_iret(&w.other, FN_PC(FN_LEAF), w.thread.sp, false);
	sample_other(&w, FN_PC(FN_IRET));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_IRET), INT }, { FN_PC(FN_LEAF), INT },
		     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
		     { FN_RETURN(FN_END), RET });
	/* The copies are being made again: only the processor's own, 22 words up, holds. */
	build_stack_locals(&w.other, 10);
	sample_other(&w, FN_PC(FN_NMI));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_NMI), INT }, { FN_PC(FN_LEAF), INT },
		     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
		     { FN_RETURN(FN_END), RET });
	/* In the handler. */
	w.other.sp += 80;
	gpr[X86_RSP] = w.thread.sp;
	gpr[X86_RBP] = w.thread.top - 16;
	build_stack_regs(&w.other, FN_PC(FN_LEAF), gpr, false);
	build_stack_push(&w.other, FN_RETURN(FN_REGS));
	sample_other(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_REGS), RET },
		     { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_LOCALS), RET },
		     { FN_RETURN(FN_FRAME), RET }, { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* An NMI in entry code that has its frame pointer and R13 still in registers: they must survive. */
static void test_partial_keeps_registers(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NMI_TOP);
	push_calls(&w.thread);
	build_stack_iret(&w.other, FN_PC(FN_R13), w.thread.sp - 64, false);
	sample_other(&w, FN_PC(FN_IRET));
	w.sample.wire.regs.gpr[X86_R13] = w.thread.sp + 8;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_IRET), INT }, { FN_PC(FN_R13), INT },
		     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
		     { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* In what entry code calls to push the registers: before it has, and after. */
static void test_pushed_regs(void **state)
{
	const u64 gpr[16] = { [X86_RSP] = 0x7ffc1000 };
	struct world w;

	(void)state;
	for (int pushed = 0; pushed < 2; pushed++) {
		world_init(&w, ENTRY_TOP);
		if (pushed)
			build_stack_regs(&w.thread, 0x401234, gpr, true);
		else
			build_stack_iret(&w.thread, 0x401234, 0x7ffc1000, true);
		build_stack_push(&w.thread, FN_RETURN(FN_ENTRY));
		sample_thread(&w, FN_PC(FN_LEAF));
		w.sample.wire.user_pc = 0x401234;
		w.sample.wire.user_sp = 0x7ffc1000;
		w.sample.wire.user_stop = STOP_COMPLETE;
		assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT },
			     { FN_RETURN(FN_ENTRY), RET }, { 0x401234, INT });
		world_deinit(&w);
	}
	/* Neither. */
	world_init(&w, ENTRY_TOP);
	build_stack_locals(&w.thread, 30);
	build_stack_push(&w.thread, FN_RETURN(FN_ENTRY));
	sample_thread(&w, FN_PC(FN_LEAF));
	unwind(&w);
	assert_int_not_equal(w.chain.kernel_stop, STOP_COMPLETE);
	world_deinit(&w);
}

/*
 * Where that call returns to, all is pushed, but the rule there is still that of the processor's
 * part: the stack is switched first.
 */
static void test_before_switch(void **state)
{
	const u64 gpr[16] = { [X86_RSP] = 0x7ffc1000, [X86_R12] = 0x1212 };
	struct world w;

	(void)state;
	world_init(&w, ENTRY_TOP);
	build_stack_regs(&w.thread, 0x401234, gpr, true);
	sample_thread(&w, FN_RETURN(FN_ENTRY) - 3);
	w.sample.wire.user_pc = 0x401234;
	w.sample.wire.user_sp = 0x7ffc1000;
	w.sample.wire.user_stop = STOP_COMPLETE;
	assert_chain(&w, STOP_COMPLETE, { FN_RETURN(FN_ENTRY) - 3, INT }, { 0x401234, INT });
	/* Nothing is pushed yet: the rule is right. */
	build_stack_init(&w.thread, THREAD_TOP);
	build_stack_iret(&w.thread, 0x401234, 0x7ffc1000, true);
	sample_thread(&w, FN_RETURN(FN_ENTRY) - 3);
	w.sample.wire.user_pc = 0x401234;
	assert_chain(&w, STOP_COMPLETE, { FN_RETURN(FN_ENTRY) - 3, INT }, { 0x401234, INT });
	world_deinit(&w);
}

/* Entry code has the user's stack pointer, or none at all; a function of the kernel's never. */
static void test_no_stack(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, ENTRY_TOP);
	sample_thread(&w, FN_PC(FN_IRET));
	w.sample.wire.regs.gpr[X86_RSP] = 0x7ffc1000;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_IRET), INT });
	w.sample.wire.regs.pc = FN_PC(FN_LEAF);
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_LEAF), INT });
	world_deinit(&w);
}

/* An NMI from user mode has gone to the thread's stack, the frame is on its own, above RDX. */
static void test_nmi_from_user(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, NMI_TOP);
	build_stack_iret(&w.other, 0x401234, 0x7ffc1000, true);
	build_stack_push(&w.other, 0xd);
	build_sample_init(&w.sample, FN_PC(FN_NMI_USER), THREAD_TOP);
	build_sample_stack(&w.sample, WIRE_STACK_IRQ, &w.other, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	w.sample.wire.regs.gpr[X86_RDX] = w.other.sp;
	w.sample.wire.user_pc = 0x401234;
	w.sample.wire.user_sp = 0x7ffc1000;
	w.sample.wire.user_stop = STOP_COMPLETE;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_NMI_USER), INT }, { 0x401234, INT });
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	world_deinit(&w);
}

/* Outermost frames that nothing called: see accept_outermost(). */
static void test_outermost(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, BUILD_KERNEL_TEXT);		/* FN_END's first byte */
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { BUILD_KERNEL_TEXT, INT });
	build_stack_poke(&w.thread, w.thread.sp, FN_RETURN_BAD(FN_END));
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN_BAD(FN_END), RET });
	sample_thread(&w, FN_PC(FN_END));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_END), INT });
	world_deinit(&w);
}

static void test_bad_returns(void **state)
{
	static const u64 bad[] = {
		FN_RETURN_BAD(FN_LOCALS),		/* no call there */
		0x401050,				/* user half */
		0x00ffffff81000250, 0x8fffffff81000250,	/* non-canonical */
		0,
		BUILD_KERNEL_JIT + 0x60,		/* no text, and the call not seen */
		BUILD_KERNEL_TEXT + 0xffff70,
	};
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		build_stack_poke(&w.thread, w.thread.sp, bad[i]);
		sample_thread(&w, FN_PC(FN_LEAF));
		assert_chain(&w, STOP_BAD_RETURN, { FN_PC(FN_LEAF), INT });
	}
	build_stack_push(&w.thread, FN_RETURN_UNREADABLE(FN_LEAF));
	build_stack_poke(&w.thread, w.thread.sp + 8, FN_RETURN(FN_END));
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT },
		     { FN_RETURN_UNREADABLE(FN_LEAF), RET | FRAME_F_UNVERIFIED },
		     { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* Interrupted code must be the kernel's, at a kernel's privilege level. */
static void test_bad_regs(void **state)
{
	u64 gpr[16] = { 0 };
	struct world w;
	u64 regs;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	gpr[X86_RSP] = w.thread.sp;
	regs = build_stack_regs(&w.thread, 0x401234, gpr, false);
	sample_thread(&w, FN_PC(FN_REGS));
	assert_chain(&w, STOP_BAD_RETURN, { FN_PC(FN_REGS), INT });
	build_stack_poke(&w.thread, regs + X86_PT_CS * 8, 0x11);
	sample_thread(&w, FN_PC(FN_REGS));
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_REGS), INT });
	build_stack_poke(&w.thread, regs + X86_PT_CS * 8, 0xfffffff7001f0010);
	build_stack_poke(&w.thread, regs + X86_PT_RIP * 8, FN_PC(FN_LEAF));
	sample_thread(&w, FN_PC(FN_REGS));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_REGS), INT }, { FN_PC(FN_LEAF), INT },
		     { FN_RETURN(FN_END), RET });
	build_stack_poke(&w.thread, regs + X86_PT_RSP * 8, gpr[X86_RSP] + 4);
	sample_thread(&w, FN_PC(FN_REGS));
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_REGS), INT });
	world_deinit(&w);
}

/* Every length of the copy, every reason for its end: the frames found are the first of all. */
static void test_cut_copies(void **state)
{
	static const enum stop_reason reasons[] = {
		STOP_STACK_CUT, STOP_NOT_PRESENT, STOP_HOST_FAULT, STOP_NO_SLOT, STOP_CHANGED,
	};
	struct chain whole;
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_irq_switch(&w);
	sample_other(&w, FN_PC(FN_LEAF));
	unwind(&w);
	assert_int_equal(w.chain.kernel_stop, STOP_COMPLETE);
	whole = w.chain;
	for (u32 size = 0; size < THREAD_TOP - w.thread.sp; size++) {
		enum stop_reason reason = reasons[size % ARRAY_SIZE(reasons)];

		sample_other(&w, FN_PC(FN_LEAF));
		w.sample.wire.stacks[1].size = size;
		w.sample.wire.stacks[1].stop = reason;
		unwind(&w);
		assert_int_equal(w.chain.kernel_stop, reason);
		assert_int_equal(w.chain.changed, reason == STOP_CHANGED);
		assert_true(w.chain.nr < whole.nr);
		assert_memory_equal(w.chain.frames, whole.frames,
				    w.chain.nr * sizeof(struct frame));
	}
	for (u32 size = 0; size < IRQ_TOP - w.other.sp; size++) {
		sample_other(&w, FN_PC(FN_LEAF));
		w.sample.wire.stacks[0].size = size;
		w.sample.wire.stacks[0].stop = STOP_NOT_PRESENT;
		unwind(&w);
		assert_int_equal(w.chain.kernel_stop, STOP_NOT_PRESENT);
		assert_true(w.chain.nr <= 2);
	}
	world_deinit(&w);
}

/* A copy that is said to be whole, and a pointer past it; a stack that nobody copied. */
static void test_beyond(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_LOCALS));
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_LOCALS), RET });
	build_stack_iret(&w.thread, FN_PC(FN_LEAF), ENTRY_TOP - 64, false);
	sample_thread(&w, FN_PC(FN_IRET));
	assert_chain(&w, STOP_STACK_CUT, { FN_PC(FN_IRET), INT }, { FN_PC(FN_LEAF), INT });
	build_sample_deinit(&w.sample);
	build_sample_init(&w.sample, FN_PC(FN_LEAF), THREAD_TOP - 8);
	w.sample.wire.flags = WIRE_F_TASK;
	assert_chain(&w, STOP_STACK_CUT, { FN_PC(FN_LEAF), INT });
	build_sample_deinit(&w.sample);
	build_sample_init(&w.sample, FN_PC(FN_LEAF), 0x7ffc1000);
	w.sample.wire.flags = WIRE_F_TASK;
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_LEAF), INT });
	world_deinit(&w);
}

static void test_cycles(void **state)
{
	u64 gpr[16] = { 0 };
	struct world w;
	u64 bp;

	(void)state;
	/* A frame pointer that points at itself. */
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_FRAME));
	bp = build_stack_push(&w.thread, w.thread.sp - 8);
	sample_thread(&w, FN_PC(FN_FRAME));
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_FRAME), INT }, { FN_RETURN(FN_FRAME), RET });
	w.sample.wire.regs.gpr[X86_RBP] = bp + 4;
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_FRAME), INT });
	world_deinit(&w);

	/* Down by an offset, into a stack below. */
	world_init(&w, THREAD_TOP - 8);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	for (unsigned int i = 0; i < 32; i++)
		build_stack_push(&w.other, FN_RETURN(FN_END));
	build_sample_init(&w.sample, FN_PC(FN_DOWN), w.thread.sp);
	build_sample_stack(&w.sample, WIRE_STACK_AT_SP, &w.thread, 8, STOP_COMPLETE);
	build_sample_stack(&w.sample, WIRE_STACK_THREAD, &w.other, 512, STOP_COMPLETE);
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_DOWN), INT });
	world_deinit(&w);

	/* Registers that were interrupted where they lie. */
	world_init(&w, IRQ_TOP);
	gpr[X86_RSP] = w.thread.sp - X86_PT_REGS_SIZE;
	build_stack_regs(&w.thread, FN_PC(FN_REGS), gpr, false);
	sample_thread(&w, FN_PC(FN_REGS));
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_REGS), INT });
	world_deinit(&w);

	/* Two stacks that each say they interrupted the other. */
	world_init(&w, IRQ_TOP);
	build_stack_iret(&w.thread, FN_PC(FN_IRET), w.other.top - 40, false);
	build_stack_iret(&w.other, FN_PC(FN_IRET), w.thread.top - 40, false);
	sample_other(&w, FN_PC(FN_IRET));
	assert_chain(&w, STOP_BAD_POINTER, { FN_PC(FN_IRET), INT }, { FN_PC(FN_IRET), INT });
	world_deinit(&w);
}

static void test_depth(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	for (unsigned int i = 0; i < BUILD_STACK_WORDS - 1; i++)
		build_stack_push(&w.thread, FN_RETURN(FN_LEAF));
	sample_thread(&w, FN_PC(FN_LEAF));
	for (unsigned int depth = 0; depth <= 3 * CHAIN_MAX_FRAMES; depth += 512) {
		w.max_depth = depth;
		unwind(&w);
		assert_int_equal(w.chain.kernel_stop, STOP_DEPTH);
		assert_int_equal(w.chain.nr, MIN(depth - 1, CHAIN_MAX_FRAMES - 1) + 1);
	}
	/* As many frames as there are is no reason to complain. */
	w.thread.sp = THREAD_TOP - 8;
	sample_thread(&w, FN_PC(FN_LEAF));
	w.max_depth = 2;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_END), RET });
	w.max_depth = 1;
	assert_chain(&w, STOP_DEPTH, { FN_PC(FN_LEAF), INT });
	world_deinit(&w);
}

static void test_no_rule(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_calls(&w.thread);
	build_stack_locals(&w.thread, 2);
	sample_thread(&w, FN_PC(FN_UNDEFINED));
	w.sample.wire.regs.gpr[X86_RBP] = w.thread.top - 16;	/* tempting, but undefined */
	assert_chain(&w, STOP_NO_RULE, { FN_PC(FN_UNDEFINED), INT });
	sample_thread(&w, FN_PC(FN_BAD));
	assert_chain(&w, STOP_NO_RULE, { FN_PC(FN_BAD), INT });
	w.kernel.row_error = -EOPNOTSUPP;
	assert_chain(&w, STOP_UNSUPPORTED, { FN_PC(FN_BAD), INT });
	w.kernel.row_error = 0;
	/* After a call R10 is anything. */
	build_stack_push(&w.thread, FN_RETURN(FN_R10));
	sample_thread(&w, FN_PC(FN_LEAF));
	w.sample.wire.regs.gpr[X86_R10] = w.thread.top - 8;
	assert_chain(&w, STOP_NO_RULE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_R10), RET });
	world_deinit(&w);
}

/* FN_END and FN_UNDEFINED in the part of retpolines, see step_retpoline(). */
static void test_retpoline(void **state)
{
	static const enum build_kernel_fn thunks[] = { FN_END, FN_UNDEFINED };
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_calls(&w.thread);
	for (size_t i = 0; i < ARRAY_SIZE(thunks); i++) {
		u64 sp = w.thread.sp;

		sample_thread(&w, FN_PC(thunks[i]));
		assert_chain(&w, STOP_COMPLETE, { FN_PC(thunks[i]), INT },
			     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
			     { FN_RETURN(FN_END), RET });
		build_stack_push(&w.thread, FN_RETURN(thunks[i]));
		sample_thread(&w, FN_PC(thunks[i]));
		assert_chain(&w, STOP_COMPLETE, { FN_PC(thunks[i]), INT },
			     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_FRAME), RET },
			     { FN_RETURN(FN_END), RET });
		w.thread.sp = sp;
	}
	/* About to "return" to the target's first byte. */
	build_stack_push(&w.thread, BUILD_KERNEL_TEXT + FN_FRAME * 0x100);
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_LOCALS), RET },
		     { FN_RETURN(FN_FRAME), RET }, { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* Calls that the interrupted code made to itself and its rule does not know: count_own_calls(). */
static void test_own_calls(void **state)
{
	const u64 pc = FN_RETURN(FN_LOCALS) + 1;
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	build_stack_locals(&w.thread, 2);
	for (unsigned int i = 1; i <= 2; i++) {
		build_stack_push(&w.thread, FN_RETURN(FN_LOCALS));
		sample_thread(&w, pc);
		assert_chain(&w, STOP_COMPLETE, { pc, INT }, { FN_RETURN(FN_END), RET });
	}
	/* Too far away, not before, not a call. */
	sample_thread(&w, pc + 16);
	assert_chain(&w, STOP_BAD_RETURN, { pc + 16, INT });
	sample_thread(&w, pc - 2);
	assert_chain(&w, STOP_BAD_RETURN, { pc - 2, INT });
	build_stack_poke(&w.thread, w.thread.sp, FN_RETURN(FN_LOCALS) - 1);
	sample_thread(&w, pc);
	assert_chain(&w, STOP_BAD_RETURN, { pc, INT });
	world_deinit(&w);
}

/* Nothing on the stack's top that is certain, and a frame that was not interrupted. */
static void test_no_retpoline(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, IRQ_TOP);
	push_calls(&w.thread);
	build_stack_locals(&w.thread, 2);
	sample_thread(&w, FN_PC(FN_END));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_END), INT });
	w.thread.sp += 16;
	build_stack_poke(&w.thread, w.thread.sp, FN_RETURN_UNREADABLE(FN_LOCALS));
	sample_thread(&w, FN_PC(FN_UNDEFINED));
	assert_chain(&w, STOP_NO_RULE, { FN_PC(FN_UNDEFINED), INT });
	build_stack_poke(&w.thread, w.thread.sp, FN_RETURN(FN_LOCALS));
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	sample_thread(&w, FN_PC(FN_LEAF));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { FN_RETURN(FN_END), RET });
	/* One word too deep, and a frame with locals. */
	build_stack_poke(&w.thread, w.thread.sp, 0x10ca1);
	build_stack_push(&w.thread, 0x10ca1);
	sample_thread(&w, FN_PC(FN_END));
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_END), INT });
	build_stack_poke(&w.thread, w.thread.sp, FN_RETURN(FN_LOCALS));
	build_stack_poke(&w.thread, w.thread.sp + 16, 0x10ca1);
	sample_thread(&w, FN_PC(FN_LOCALS));
	assert_chain(&w, STOP_BAD_RETURN, { FN_PC(FN_LOCALS), INT });
	world_deinit(&w);
}

/* A BPF program called by the kernel calls a helper. */
static void test_generated_code(void **state)
{
	struct world w;
	u64 bp;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	build_stack_push(&w.thread, 0);				/* FN_LOCALS */
	build_stack_locals(&w.thread, 1);
	build_stack_push(&w.thread, FN_RETURN(FN_LOCALS));
	bp = build_stack_push(&w.thread, 0xb0b0);
	build_stack_locals(&w.thread, 6);
	sample_thread(&w, BUILD_KERNEL_JIT + 0x123);
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_COMPLETE, { BUILD_KERNEL_JIT + 0x123, INT },
		     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_END), RET });
	build_stack_push(&w.thread, BUILD_KERNEL_JIT + 0x150);
	sample_thread(&w, FN_PC(FN_LEAF));
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_COMPLETE, { FN_PC(FN_LEAF), INT }, { BUILD_KERNEL_JIT + 0x150, RET },
		     { FN_RETURN(FN_LOCALS), RET }, { FN_RETURN(FN_END), RET });
	world_deinit(&w);
}

/* What looks like a frame there and is none: below RSP, on another stack, not seen to be called. */
static void test_generated_code_bad(void **state)
{
	struct world w;
	u64 bp;

	(void)state;
	world_init(&w, IRQ_TOP);
	build_stack_push(&w.thread, FN_RETURN(FN_END));
	bp = build_stack_push(&w.thread, 0);
	build_stack_push(&w.other, FN_RETURN(FN_END));
	build_stack_push(&w.other, 0);
	sample_other(&w, BUILD_KERNEL_JIT + 0x123);
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_NO_RULE, { BUILD_KERNEL_JIT + 0x123, INT });
	build_sample_deinit(&w.sample);
	build_sample_init(&w.sample, BUILD_KERNEL_JIT + 0x123, w.thread.sp);
	build_sample_stack(&w.sample, WIRE_STACK_AT_SP, &w.thread, 512, STOP_COMPLETE);
	build_sample_stack(&w.sample, WIRE_STACK_IRQ, &w.other, 512, STOP_COMPLETE);
	w.sample.wire.regs.gpr[X86_RBP] = w.other.sp;
	assert_chain(&w, STOP_NO_RULE, { BUILD_KERNEL_JIT + 0x123, INT });
	sample_thread(&w, BUILD_KERNEL_JIT + 0x123);
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	w.sample.wire.regs.gpr[X86_RSP] = bp + 8;
	assert_chain(&w, STOP_NO_RULE, { BUILD_KERNEL_JIT + 0x123, INT });
	w.sample.wire.regs.gpr[X86_RSP] = bp;
	w.sample.wire.regs.gpr[X86_RBP] = bp + 4;
	assert_chain(&w, STOP_NO_RULE, { BUILD_KERNEL_JIT + 0x123, INT });
	w.sample.wire.regs.gpr[X86_RBP] = bp + 8;
	assert_chain(&w, STOP_NO_RULE, { BUILD_KERNEL_JIT + 0x123, INT });
	build_stack_poke(&w.thread, bp + 8, FN_RETURN_UNREADABLE(FN_END));
	sample_thread(&w, BUILD_KERNEL_JIT + 0x123);
	w.sample.wire.regs.gpr[X86_RBP] = bp;
	assert_chain(&w, STOP_NO_RULE, { BUILD_KERNEL_JIT + 0x123, INT });
	world_deinit(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_user_regs),
		cmocka_unit_test(test_fault_in_kernel),
		cmocka_unit_test(test_trap),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_irq_stack),
		cmocka_unit_test(test_irq_stack_by_frame_pointer),
		cmocka_unit_test(test_nmi),
		cmocka_unit_test(test_partial_keeps_registers),
		cmocka_unit_test(test_pushed_regs),
		cmocka_unit_test(test_before_switch),
		cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_nmi_from_user),
		cmocka_unit_test(test_outermost),
		cmocka_unit_test(test_bad_returns),
		cmocka_unit_test(test_bad_regs),
		cmocka_unit_test(test_cut_copies),
		cmocka_unit_test(test_beyond),
		cmocka_unit_test(test_cycles),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_no_rule),
		cmocka_unit_test(test_retpoline),
		cmocka_unit_test(test_own_calls),
		cmocka_unit_test(test_no_retpoline),
		cmocka_unit_test(test_generated_code),
		cmocka_unit_test(test_generated_code_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
