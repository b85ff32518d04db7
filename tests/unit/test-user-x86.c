/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User chains by rule: make-believe functions with every kind of rule, and this very program's own
 * stack, where the C library's backtrace() is the other opinion.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "arch/x86-call.h"
#include "build-sample.h"
#include "unwind/cfi-table.h"
#include "unwind/unwind.h"

#define TEXT 0x401000ULL
#define STACK_TOP 0x7ffc00010000ULL
#define FN_SIZE 0x100

/* One function for each form that a rule can have. */
enum fn {
	FN_START,	/* outermost */
	FN_LEAF,	/* nothing pushed */
	FN_LOCALS,	/* RBX and one word: +24, RBX saved at CFA - 16 */
	FN_FRAME,	/* keeps a frame pointer */
	FN_R12,		/* the CFA is by R12, which it got from its caller */
	FN_DRAP,	/* realigned its stack: *(RBP - 8), RBP at RBP + 0 */
	FN_SIGRETURN,	/* a sigcontext at RSP + 40 */
	FN_SIGNAL,	/* another trampoline: the stack pointer at +0, the address at +8 */
	FN_LOST,	/* RBX and RBP lost */
	FN_DOWN,	/* as only a liar has it */
	FN_POPPED,	/* has its return address in RDI, as vfork() */
	FN_UNDEFINED,	/* said to have no rule */
	FN_NO_ROW,	/* none covers it */
	FN_NOT_KNOWN,
	FN_STRANGE,
	FN_LATER,
	FN_FRAME_32,	/* i386: EBP kept, EBX and EDI saved below it */
	FN_EDI_32,	/* the CFA is by EDI */
	FN_SIGRETURN_32,	/* a sigcontext at ESP + 4 */
	FN_NR,
};

#define PC(fn) (TEXT + (fn) * FN_SIZE + 0x20)
#define RETURN(fn) (TEXT + (fn) * FN_SIZE + 0x50)
#define RETURN_UNREADABLE(fn) (TEXT + (fn) * FN_SIZE + 0x60)
#define RETURN_BAD(fn) (TEXT + (fn) * FN_SIZE + 0x70)
/* Behind a function that ends with a call, outermost as FN_START. */
#define RETURN_BEHIND RETURN(FN_NR)

#define RULE(...) { __VA_ARGS__ }
#define CALL(base, add, ...) \
	{ .kind = CFI_ROW_CALL, .cfa = RULE(CFI_REG_OFFSET, base, add), \
	  .ra = RULE(CFI_AT_CFA, 0, -8), __VA_ARGS__ }

static const struct cfi_row rows[FN_NR] = {
	[FN_START] = { .kind = CFI_ROW_END },
	[FN_LEAF] = CALL(X86_RSP, 8),
	[FN_LOCALS] = CALL(X86_RSP, 24, .saved[CFI_SAVED_RBX] = RULE(CFI_AT_CFA, 0, -16)),
	[FN_FRAME] = CALL(X86_RBP, 16, .bp = RULE(CFI_AT_CFA, 0, -16)),
	[FN_R12] = CALL(X86_R12, 0),
	[FN_DRAP] = {
		.kind = CFI_ROW_CALL,
		.cfa = RULE(CFI_AT_REG, X86_RBP, -8),
		.ra = RULE(CFI_AT_CFA, 0, -8),
		.bp = RULE(CFI_AT_REG, X86_RBP, 0),
	},
	[FN_SIGRETURN] = {
		.kind = CFI_ROW_SIGCONTEXT,
		.interrupted = true,
		.regs = RULE(CFI_REG_OFFSET, X86_RSP, 40),
	},
	[FN_SIGNAL] = {
		.kind = CFI_ROW_CALL,
		.interrupted = true,
		.cfa = RULE(CFI_AT_REG, X86_RSP, 0),
		.ra = RULE(CFI_AT_REG, X86_RSP, 8),
	},
	[FN_LOST] = CALL(X86_RSP, 8, .bp = RULE(CFI_UNDEFINED),
			 .saved[CFI_SAVED_RBX] = RULE(CFI_UNDEFINED)),
	[FN_DOWN] = CALL(X86_RSP, -64),
	[FN_POPPED] = {
		.kind = CFI_ROW_CALL,
		.cfa = RULE(CFI_REG_OFFSET, X86_RSP, 0),
		.ra = RULE(CFI_REG_OFFSET, X86_RDI, 0),
	},
	[FN_UNDEFINED] = { .kind = CFI_ROW_UNDEFINED },
	[FN_FRAME_32] = {
		.kind = CFI_ROW_CALL,
		.cfa = RULE(CFI_REG_OFFSET, X86_RBP, 8),
		.ra = RULE(CFI_AT_CFA, 0, -4),
		.bp = RULE(CFI_AT_CFA, 0, -8),
		.saved = { RULE(CFI_AT_CFA, 0, -12), RULE(CFI_SAME), RULE(CFI_AT_CFA, 0, -16) },
	},
	[FN_EDI_32] = {
		.kind = CFI_ROW_CALL,
		.cfa = RULE(CFI_REG_OFFSET, X86_RDI, 0),
		.ra = RULE(CFI_AT_CFA, 0, -4),
	},
	[FN_SIGRETURN_32] = {
		.kind = CFI_ROW_SIGCONTEXT,
		.interrupted = true,
		.regs = RULE(CFI_REG_OFFSET, X86_RSP, 4),
	},
};

struct world {
	struct build_sample sample;
	struct build_stack stack;
	struct unwind_ops ops;
	struct unwinder unwinder;
	struct chain chain;
};

static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	u64 fn = (pc.addr - TEXT) / FN_SIZE;

	(void)ctx;
	if (pc.addr == RETURN_BEHIND - 1)
		fn = FN_START;
	if (pc.addr < TEXT || fn >= FN_NR || fn == FN_NO_ROW)
		return -ENOENT;
	if (fn == FN_NOT_KNOWN)
		return -ENODATA;
	if (fn == FN_STRANGE)
		return -EOPNOTSUPP;
	if (fn == FN_LATER)
		return -EAGAIN;
	*ret_row = rows[fn];
	return 0;
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	(void)ctx;
	assert_true(user);
	switch (ret_addr.addr & 0xff) {
	case 0x50:
		return 0;
	case 0x60:
		return -EFAULT;
	default:
		return -EBADMSG;
	}
}

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->ops.find_user_row = find_user_row;
	w->ops.check_call = check_call;
	w->unwinder.ops = &w->ops;
	build_stack_init(&w->stack, STACK_TOP);
}

/* A sample in user mode at @pc on the stack as it is; capture walked one frame. */
static struct vcpu_regs *sample_at(struct world *w, u64 pc, u32 size, enum stop_reason stop)
{
	struct wire_sample *wire = &w->sample.wire;

	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, pc, w->stack.sp);
	wire->flags = WIRE_F_USER;
	wire->regs.user = 1;
	wire->user_pc = pc;
	wire->user_sp = w->stack.sp;
	wire->user_stop = STOP_COMPLETE;
	build_sample_frame(&w->sample, RETURN(FN_NO_ROW) + FN_SIZE * 20);
	build_sample_stack(&w->sample, WIRE_STACK_USER, &w->stack, size, stop);
	return &wire->regs;
}

static void unwind(struct world *w)
{
	struct sample sample;

	assert_int_equal(build_sample_finish(&w->sample, &sample), 0);
	memset(&w->chain, 0xee, sizeof(w->chain));
	unwind_sample(&w->unwinder, &sample, &w->chain);
}

static void assert_chain(const struct world *w, const u64 *ips, u32 nr, enum stop_reason stop)
{
	for (u32 i = 0; i < MIN(nr, w->chain.nr); i++) {
		assert_int_equal(w->chain.frames[i].ip, ips[i]);
		assert_int_equal(w->chain.frames[i].kind, FRAME_USER);
	}
	assert_int_equal(w->chain.nr, nr);
	assert_int_equal(w->chain.user_stop, stop);
}

#define IPS(...) (const u64[]){ __VA_ARGS__ }, ARRAY_SIZE(((const u64[]){ __VA_ARGS__ }))

static void world_deinit(struct world *w)
{
	build_sample_deinit(&w->sample);
}

/* Registers are saved, lost and used as rules say. */
static void test_chain(void **state)
{
	struct vcpu_regs *regs;
	struct world w;
	u64 frame, cfa;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	cfa = w.stack.sp + 8;				/* of FN_R12 */
	build_stack_locals(&w.stack, 3);
	build_stack_push(&w.stack, RETURN(FN_R12));
	frame = build_stack_push(&w.stack, 0x5555);	/* of FN_FRAME */
	build_stack_locals(&w.stack, 2);
	build_stack_push(&w.stack, RETURN(FN_FRAME));
	build_stack_push(&w.stack, 0xbbbb);		/* of FN_LOCALS */
	build_stack_locals(&w.stack, 1);
	build_stack_push(&w.stack, RETURN_UNREADABLE(FN_LOCALS));
	regs = sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBP] = frame;
	regs->gpr[X86_R12] = cfa;
	unwind(&w);
	assert_chain(&w,
		     IPS(PC(FN_LEAF), RETURN_UNREADABLE(FN_LOCALS), RETURN(FN_FRAME),
			 RETURN(FN_R12), RETURN(FN_START)),
		     STOP_COMPLETE);
	assert_int_equal(w.chain.frames[0].flags, FRAME_F_INTERRUPTED);
	assert_int_equal(w.chain.frames[1].flags, FRAME_F_RETURN | FRAME_F_UNVERIFIED);
	assert_int_equal(w.chain.frames[2].flags, FRAME_F_RETURN);
	/* R12 as it is now makes FN_R12's CFA. */
	regs->gpr[X86_R12] = cfa + 4;
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_BAD_POINTER);
	assert_int_equal(w.chain.nr, 4);
	/* 16-bit code, and a recorder without rules: what capture walked. */
	regs->bits = 16;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_COMPLETE);
	regs->bits = 64;
	w.ops.find_user_row = NULL;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_COMPLETE);
	world_deinit(&w);
}

static void test_realigned(void **state)
{
	struct vcpu_regs *regs;
	struct world w;
	u64 cfa, bp;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	cfa = w.stack.sp + 8;
	build_stack_locals(&w.stack, 5);
	bp = build_stack_push(&w.stack, 0x5555);
	build_stack_push(&w.stack, cfa);
	build_stack_locals(&w.stack, 7);
	regs = sample_at(&w, PC(FN_DRAP), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBP] = bp;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_DRAP), RETURN(FN_START)), STOP_COMPLETE);
	world_deinit(&w);
}

/* What a function has lost, no caller can have a CFA by. */
static void test_lost(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_FRAME));
	sample_at(&w, PC(FN_LOST), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT)->gpr[X86_RBP] =
		STACK_TOP - 8;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LOST), RETURN(FN_FRAME)), STOP_NO_RULE);
	/* Nor is there a frame pointer to go by. */
	build_stack_init(&w.stack, STACK_TOP);
	build_stack_push(&w.stack, RETURN(FN_NO_ROW));
	sample_at(&w, PC(FN_LOST), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LOST), RETURN(FN_NO_ROW)), STOP_NO_RULE);
	world_deinit(&w);
}

#define STACK_TOP_32 0xffd10000ULL

/* Two words of 4 bytes. */
static void push_32(struct build_stack *stack, u32 low, u32 high)
{
	build_stack_push(stack, low | (u64)high << 32);
}

/*
 * A 32-bit program: a signal's frame, and what was interrupted, whose caller's frame is by EDI,
 * which the rule has to bring back.
 */
static void test_32_bit(void **state)
{
	u32 context[18] = { 0 };	/* behind one word, see FN_SIGRETURN_32 */
	struct vcpu_regs *regs;
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_init(&w.stack, STACK_TOP_32);
	push_32(&w.stack, 0, RETURN(FN_START));
	push_32(&w.stack, 0x5555, RETURN(FN_EDI_32));	/* EBP */
	push_32(&w.stack, STACK_TOP_32, 0xbb);		/* EDI, EBX */
	context[1 + 4] = 0xdddd;			/* EDI */
	context[1 + 6] = w.stack.sp + 8;		/* EBP */
	context[1 + 7] = w.stack.sp;
	context[1 + 14] = PC(FN_FRAME_32);
	for (unsigned int i = ARRAY_SIZE(context); i; i -= 2)
		push_32(&w.stack, context[i - 2], context[i - 1]);
	regs = sample_at(&w, PC(FN_SIGRETURN_32), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->bits = 32;
	unwind(&w);
	assert_chain(&w,
		     IPS(PC(FN_SIGRETURN_32), PC(FN_FRAME_32), RETURN(FN_EDI_32), RETURN(FN_START)),
		     STOP_COMPLETE);
	/* In a segment of the LDT: its beginning is not known. */
	build_stack_poke(&w.stack, w.stack.sp + 4 * 16, 7);
	sample_at(&w, PC(FN_SIGRETURN_32), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT)->bits = 32;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_SIGRETURN_32)), STOP_UNSUPPORTED);
	/* All of it is nonsense above 4 GiB. */
	regs->gpr[X86_RSP] |= 1ULL << 32;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_SIGRETURN_32)), STOP_BAD_POINTER);
	world_deinit(&w);
}

#define CODE_BASE 0x123010	/* no offset in it is a good return address, see check_call() */

/* Offsets in a code segment, and above it, where that was entered, what is in the one at 0. */
static void test_segment(void **state)
{
	struct vcpu_regs *regs;
	struct world w;
	u32 outer, inner;

	(void)state;
	world_init(&w);
	build_stack_init(&w.stack, STACK_TOP_32);
	push_32(&w.stack, 0, RETURN(FN_START));
	outer = build_stack_push(&w.stack, 0x5555 | RETURN(FN_NO_ROW) << 32);
	inner = build_stack_push(&w.stack, outer | (RETURN(FN_FRAME_32) - CODE_BASE) << 32);
	build_stack_locals(&w.stack, 1);
	regs = sample_at(&w, PC(FN_FRAME_32), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->bits = 32;
	regs->x86.cs_base = CODE_BASE;
	regs->gpr[X86_RBP] = inner;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_FRAME_32), RETURN(FN_FRAME_32), RETURN(FN_NO_ROW)),
		     STOP_NO_RULE);
	/* Without rules: by frame pointers, and as capture walked. */
	regs->pc = PC(FN_NO_ROW);
	unwind(&w);
	assert_int_equal(w.chain.frames[1].ip, RETURN(FN_FRAME_32));
	assert_int_equal(w.chain.frames[2].ip, RETURN(FN_NO_ROW));
	w.ops.find_user_row = NULL;
	regs = sample_at(&w, PC(FN_FRAME_32), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->bits = 32;
	regs->x86.cs_base = CODE_BASE;
	w.sample.wire.nr_user_frames = 0;
	strbuf_deinit(&w.sample.frames);
	build_sample_frame(&w.sample, RETURN(FN_FRAME_32) - CODE_BASE);
	build_sample_frame(&w.sample, RETURN(FN_NO_ROW));
	build_sample_frame(&w.sample, RETURN(FN_START));
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_FRAME_32), RETURN(FN_FRAME_32), RETURN(FN_NO_ROW),
			     RETURN(FN_START)), STOP_COMPLETE);
	world_deinit(&w);
}

/* A handler, the trampoline that it returns to without a call, and what was interrupted. */
static void test_signal(void **state)
{
	u64 words[17] = { 0 }, interrupted_sp;
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	interrupted_sp = build_stack_push(&w.stack, RETURN(FN_R12));
	build_stack_locals(&w.stack, 16);
	words[4] = STACK_TOP;		/* R12 */
	words[15] = interrupted_sp;
	words[16] = PC(FN_LEAF);
	for (unsigned int i = ARRAY_SIZE(words); i; i--)
		build_stack_push(&w.stack, words[i - 1]);
	build_stack_locals(&w.stack, 5);
	build_stack_push(&w.stack, TEXT + FN_SIGRETURN * FN_SIZE);	/* its first byte */
	sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	unwind(&w);
	assert_chain(&w,
		     IPS(PC(FN_LEAF), TEXT + FN_SIGRETURN * FN_SIZE, PC(FN_LEAF), RETURN(FN_R12),
			 RETURN(FN_START)),
		     STOP_COMPLETE);
	assert_int_equal(w.chain.frames[1].flags, FRAME_F_INTERRUPTED);
	assert_int_equal(w.chain.frames[2].flags, FRAME_F_INTERRUPTED);
	world_deinit(&w);
}

#define ALT_LOW 0x7f0000010000ULL	/* below the stack, as what mmap() gives */
#define ALT_HIGH (STACK_TOP + 0x100000)

/*
 * On an alternate stack that ends at @top, in the handler of a signal that came in FN_LEAF at @sp.
 * Its frame is by a rule of either kind.
 */
static void push_handler(struct build_stack *alt, u64 top, u64 sp, bool sigcontext)
{
	u64 words[17] = { [4] = STACK_TOP, [15] = sp, [16] = PC(FN_LEAF) };

	build_stack_init(alt, top);
	build_stack_locals(alt, 100);
	if (sigcontext) {
		for (unsigned int i = ARRAY_SIZE(words); i; i--)
			build_stack_push(alt, words[i - 1]);
		build_stack_locals(alt, 5);
	} else {
		build_stack_push(alt, PC(FN_LEAF));
		build_stack_push(alt, sp);
	}
	build_stack_push(alt, TEXT + (sigcontext ? FN_SIGRETURN : FN_SIGNAL) * FN_SIZE);
}

/* Sampled in the handler; @w's stack is what it interrupted, and copied unless @size is 0. */
static void handler_sample(struct world *w, const struct build_stack *alt,
			   enum stop_reason alt_stop, u32 size, enum stop_reason stop)
{
	struct wire_sample *wire = &w->sample.wire;

	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, PC(FN_LEAF), alt->sp);
	wire->flags = WIRE_F_USER;
	wire->regs.user = 1;
	wire->regs.gpr[X86_R12] = STACK_TOP;	/* which the trampoline's other rule keeps */
	wire->user_pc = PC(FN_LEAF);
	wire->user_sp = alt->sp;
	wire->user_stop = STOP_COMPLETE;
	build_sample_stack(&w->sample, WIRE_STACK_USER, alt, WIRE_MAX_STACK_BYTES, alt_stop);
	if (size)
		build_sample_stack(&w->sample, WIRE_STACK_USER, &w->stack, size, stop);
}

/* A handler's frame leads to the stack that the signal came on, above it or below. */
static void test_signal_stack(void **state)
{
	static const u64 tops[] = { ALT_LOW, ALT_HIGH };
	static struct build_stack alt;
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	build_stack_push(&w.stack, RETURN(FN_R12));
	for (unsigned int i = 0; i < 4; i++) {
		u64 trampoline = TEXT + (i & 1 ? FN_SIGRETURN : FN_SIGNAL) * FN_SIZE;

		push_handler(&alt, tops[i / 2], w.stack.sp, i & 1);
		handler_sample(&w, &alt, STOP_COMPLETE, WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
		unwind(&w);
		assert_chain(&w,
			     IPS(PC(FN_LEAF), trampoline, PC(FN_LEAF), RETURN(FN_R12),
				 RETURN(FN_START)),
			     STOP_COMPLETE);
		assert_int_equal(w.chain.frames[2].flags, FRAME_F_INTERRUPTED);
		/* Copied in part: the reason is that copy's. */
		handler_sample(&w, &alt, STOP_COMPLETE, 8, STOP_HOST_FAULT);
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_LEAF), trampoline, PC(FN_LEAF), RETURN(FN_R12)),
			     STOP_HOST_FAULT);
		/* Not at all, wherever the one that was copied ended. */
		handler_sample(&w, &alt, STOP_NOT_PRESENT, 0, STOP_NONE);
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_LEAF), trampoline, PC(FN_LEAF)), STOP_STACK_CUT);
		handler_sample(&w, &alt, STOP_COMPLETE, 0, STOP_NONE);
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_LEAF), trampoline, PC(FN_LEAF)), STOP_STACK_CUT);
	}
	world_deinit(&w);
}

/* The alternate stack is a variable of a function below, which both copies then hold. */
static void test_signal_stack_inside(void **state)
{
	static struct build_stack alt;
	struct world w;
	u64 top;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	build_stack_locals(&w.stack, 10);
	top = w.stack.sp;
	build_stack_locals(&w.stack, 200);
	build_stack_push(&w.stack, RETURN(FN_R12));
	push_handler(&alt, top, w.stack.sp, true);
	for (u64 at = alt.sp; at < top; at += sizeof(u64))
		build_stack_poke(&w.stack, at, alt.words[(top - at) / sizeof(u64) - 1]);
	handler_sample(&w, &alt, STOP_COMPLETE, WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	unwind(&w);
	assert_chain(&w,
		     IPS(PC(FN_LEAF), TEXT + FN_SIGRETURN * FN_SIZE, PC(FN_LEAF), RETURN(FN_R12),
			 RETURN(FN_START)),
		     STOP_COMPLETE);
	world_deinit(&w);
}

/* Stacks that lead to each other, or to themselves, end. */
static void test_signal_circle(void **state)
{
	static struct build_stack alt;
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_init(&alt, ALT_LOW);
	build_stack_push(&alt, PC(FN_SIGNAL));
	build_stack_push(&alt, STACK_TOP - 16);
	build_stack_push(&w.stack, PC(FN_SIGNAL));
	build_stack_push(&w.stack, alt.sp);
	handler_sample(&w, &alt, STOP_COMPLETE, WIRE_MAX_STACK_BYTES, STOP_COMPLETE);
	w.sample.wire.regs.pc = PC(FN_SIGNAL);
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_SIGNAL), PC(FN_SIGNAL)), STOP_BAD_POINTER);
	/* Down to where the stack was; not at all. */
	for (unsigned int i = 0; i < 2; i++) {
		build_stack_init(&w.stack, STACK_TOP);
		build_stack_push(&w.stack, PC(FN_SIGNAL));
		build_stack_push(&w.stack, STACK_TOP - 16 - 8 * i);
		build_stack_locals(&w.stack, 2);
		sample_at(&w, PC(FN_SIGNAL), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT)
			->gpr[X86_RSP] = STACK_TOP - 16;
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_SIGNAL)), STOP_BAD_POINTER);
	}
	world_deinit(&w);
}

/* On one stack: what was interrupted is above the copy, for the reason that the copy has. */
static void test_signal_cut(void **state)
{
	static const enum stop_reason stops[] = { STOP_STACK_CUT, STOP_NOT_PRESENT, STOP_COMPLETE };
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++) {
		bool end = stops[i] == STOP_COMPLETE;

		world_init(&w);
		build_stack_push(&w.stack, PC(FN_LEAF));
		build_stack_push(&w.stack, STACK_TOP + 0x1000);
		sample_at(&w, PC(FN_SIGNAL), WIRE_MAX_STACK_BYTES, stops[i]);
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_SIGNAL), PC(FN_LEAF)), end ? STOP_STACK_CUT : stops[i]);
		/* A call does not lead above a stack's end. */
		build_stack_init(&w.stack, STACK_TOP);
		build_stack_push(&w.stack, RETURN(FN_LOCALS));
		sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, stops[i]);
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_LOCALS)),
			     end ? STOP_BAD_POINTER : stops[i]);
		world_deinit(&w);
	}
}

static void test_frame_pointers(void **state)
{
	struct vcpu_regs *regs;
	struct world w;
	u64 bp;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	bp = build_stack_push(&w.stack, 0);
	build_stack_push(&w.stack, RETURN(FN_NO_ROW));
	bp = build_stack_push(&w.stack, bp);
	build_stack_locals(&w.stack, 4);
	regs = sample_at(&w, PC(FN_NO_ROW), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBP] = bp;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_NO_ROW), RETURN(FN_NO_ROW), RETURN(FN_START)), STOP_COMPLETE);
	/* Out of the copy; then what capture walked has to do, if it holds. */
	regs->gpr[X86_RBP] = STACK_TOP + 64;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_NO_ROW), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_COMPLETE);
	build_sample_frame(&w.sample, RETURN_BAD(FN_LEAF));
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_NO_ROW), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_BAD_RETURN);
	/* A call has to be seen. */
	build_stack_push(&w.stack, RETURN_UNREADABLE(FN_START));
	bp = build_stack_push(&w.stack, bp);
	regs = sample_at(&w, PC(FN_NO_ROW), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBP] = bp;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_NO_ROW), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_COMPLETE);
	/* Nor is an address taken that is after no call. */
	build_stack_poke(&w.stack, bp + 8, RETURN_BAD(FN_START));
	regs = sample_at(&w, PC(FN_NO_ROW), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBP] = bp;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_NO_ROW), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_COMPLETE);
	/* No frame at all that holds. */
	sample_at(&w, PC(FN_NO_ROW), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	strbuf_reset(&w.sample.frames);
	w.sample.wire.nr_user_frames = 0;
	build_sample_frame(&w.sample, RETURN_BAD(FN_LEAF));
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_NO_ROW)), STOP_NO_RULE);
	world_deinit(&w);
}

/* While the first rule is being read the chain is what capture walked, and says so. */
static void test_not_loaded(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	sample_at(&w, PC(FN_LATER), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	build_sample_frame(&w.sample, RETURN(FN_LOCALS));
	build_sample_frame(&w.sample, RETURN_BAD(FN_LOCALS));
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LATER), RETURN(FN_NO_ROW) + FN_SIZE * 20, RETURN(FN_LOCALS)),
		     STOP_NOT_LOADED);
	w.unwinder.max_depth = 2;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LATER), RETURN(FN_NO_ROW) + FN_SIZE * 20), STOP_NOT_LOADED);
	w.unwinder.max_depth = 0;
	/* None of them holds. */
	w.sample.wire.nr_user_frames = 0;
	strbuf_reset(&w.sample.frames);
	build_sample_frame(&w.sample, RETURN_BAD(FN_LOCALS));
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LATER)), STOP_NOT_LOADED);
	world_deinit(&w);
}

/* Called from code without rules: what RBP says there, and what it may say. */
static void test_frame_pointer_cut(void **state)
{
	static const struct {
		u64 above;	/* where RBP points, from the copy's end */
		enum stop_reason stop, want;
	} cases[] = {
		{ 0, STOP_STACK_CUT, STOP_STACK_CUT },
		{ 0, STOP_NOT_PRESENT, STOP_NOT_PRESENT },
		{ 0x8000, STOP_STACK_CUT, STOP_STACK_CUT },
		{ 0x20000, STOP_STACK_CUT, STOP_NO_RULE },
		{ 4, STOP_STACK_CUT, STOP_NO_RULE },
		{ 0, STOP_COMPLETE, STOP_NO_RULE },
		{ -64ULL, STOP_STACK_CUT, STOP_NO_RULE },
	};
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_NO_ROW));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, cases[i].stop)->gpr[X86_RBP] =
			STACK_TOP + cases[i].above;
		unwind(&w);
		assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_NO_ROW)), cases[i].want);
	}
	world_deinit(&w);
}

/* The end of a chain without a rule for it. */
static void test_zero_end(void **state)
{
	struct vcpu_regs *regs;
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, 0);
	regs = sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF)), STOP_COMPLETE);
	regs->gpr[X86_RBP] = 1;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF)), STOP_BAD_RETURN);
	/* The caller has no rules and says that it is the first. */
	build_stack_push(&w.stack, RETURN(FN_NO_ROW));
	regs = sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_NO_ROW)), STOP_COMPLETE);
	world_deinit(&w);
}

static void test_ends(void **state)
{
	static const struct {
		u64 pc, ret;
		u32 nr;
		enum stop_reason stop;
	} ends[] = {
		{ PC(FN_UNDEFINED), 0, 2, STOP_COMPLETE },	/* by frame pointers, then */
		{ PC(FN_NOT_KNOWN), 0, 2, STOP_COMPLETE },
		{ PC(FN_STRANGE), 0, 1, STOP_UNSUPPORTED },
		{ PC(FN_LATER), 0, 2, STOP_NOT_LOADED },
		{ PC(FN_START), 0, 1, STOP_COMPLETE },
		{ PC(FN_DOWN), 0, 1, STOP_BAD_POINTER },
		{ PC(FN_LEAF), RETURN(FN_UNDEFINED), 2, STOP_NO_RULE },
		{ PC(FN_LEAF), RETURN(FN_NOT_KNOWN), 2, STOP_RULE_UNKNOWN },
		{ PC(FN_LEAF), RETURN(FN_DOWN), 2, STOP_BAD_POINTER },
		{ PC(FN_LEAF), RETURN(FN_LATER), 2, STOP_NOT_LOADED },
		{ PC(FN_LEAF), RETURN_BAD(FN_LATER), 2, STOP_NOT_LOADED },
		{ PC(FN_LEAF), RETURN_BEHIND, 2, STOP_COMPLETE },
		{ PC(FN_LEAF), RETURN_BAD(FN_LEAF), 1, STOP_BAD_RETURN },
		{ PC(FN_LEAF), 0x50, 1, STOP_BAD_RETURN },
		{ PC(FN_LEAF), 0xffffffff81000050, 1, STOP_BAD_RETURN },
		{ PC(FN_LEAF), TEXT + FN_START * FN_SIZE, 2, STOP_COMPLETE },	/* by hand */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct world w;

		world_init(&w);
		build_stack_push(&w.stack, ends[i].ret);
		sample_at(&w, ends[i].pc, WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT)->gpr[X86_RBP] = 1;
		unwind(&w);
		assert_int_equal(w.chain.nr, ends[i].nr);
		assert_int_equal(w.chain.user_stop, ends[i].stop);
		world_deinit(&w);
	}
}

/* Every length of the copy: a chain that is right as far as it goes, and why it goes no further. */
static void test_cut(void **state)
{
	static const enum stop_reason stops[] = { STOP_STACK_CUT, STOP_NOT_PRESENT, STOP_NO_SLOT };
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	for (unsigned int i = 0; i < 4; i++) {
		build_stack_locals(&w.stack, 2);
		build_stack_push(&w.stack, RETURN(FN_LOCALS));
	}
	for (size_t i = 0; i < ARRAY_SIZE(stops); i++) {
		for (u32 size = 0; size < STACK_TOP - w.stack.sp; size++) {
			/* Return addresses are at 0, 24, 48, … */
			u32 whole = 1 + (size >= 8) + (size >= 8 ? (size - 8) / 24 : 0);

			sample_at(&w, PC(FN_LEAF), size, stops[i]);
			unwind(&w);
			assert_int_equal(w.chain.user_stop, stops[i]);
			assert_int_equal(w.chain.nr, whole);
		}
	}
	sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_STACK_CUT);
	unwind(&w);
	assert_int_equal(w.chain.nr, 6);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	w.unwinder.max_depth = 6;
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	w.unwinder.max_depth = 5;
	unwind(&w);
	assert_int_equal(w.chain.nr, 5);
	assert_int_equal(w.chain.user_stop, STOP_DEPTH);
	world_deinit(&w);
}

/* A frame with pages that were never touched: across them by rule, but nothing is in them. */
static void test_holes(void **state)
{
	struct wire_stack *stack;
	struct world w;
	u64 cfa, ret;

	(void)state;
	world_init(&w);
	build_stack_locals(&w.stack, 10);
	build_stack_push(&w.stack, RETURN(FN_START));
	cfa = w.stack.sp + 8;				/* of FN_R12 */
	build_stack_locals(&w.stack, 1500);		/* 2 whole pages at least */
	ret = build_stack_push(&w.stack, RETURN(FN_R12));
	sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_STACK_CUT)->gpr[X86_R12] = cfa;
	stack = &w.sample.wire.stacks[0];
	for (u32 holes = 0; holes < 32; holes++) {
		bool at_ret = holes & 1U << (ret / WIRE_PAGE - stack->gva / WIRE_PAGE);
		bool at_cfa = holes & 1U << ((cfa - 8) / WIRE_PAGE - stack->gva / WIRE_PAGE);

		stack->holes = holes;
		unwind(&w);
		if (at_ret)
			assert_chain(&w, IPS(PC(FN_LEAF)), STOP_NOT_PRESENT);
		else if (at_cfa)
			assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_R12)), STOP_NOT_PRESENT);
		else
			assert_chain(&w, IPS(PC(FN_LEAF), RETURN(FN_R12), RETURN(FN_START)),
				     STOP_COMPLETE);
	}
	world_deinit(&w);
}

/* What makecontext() leaves: its function returns to another's start, RBX above the address. */
static void test_context_start(void **state)
{
	struct vcpu_regs *regs;
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, 0x1234);
	build_stack_push(&w.stack, TEXT + FN_LEAF * FN_SIZE);
	regs = sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBX] = STACK_TOP - 8;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF), TEXT + FN_LEAF * FN_SIZE), STOP_COMPLETE);
	assert_int_equal(w.chain.frames[1].flags, FRAME_F_INTERRUPTED);
	regs->gpr[X86_RBX] = STACK_TOP;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF)), STOP_BAD_RETURN);
	/* Not in the state that functions begin in. */
	build_stack_poke(&w.stack, STACK_TOP - 16, TEXT + FN_LOCALS * FN_SIZE);
	regs = sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	regs->gpr[X86_RBX] = STACK_TOP - 8;
	unwind(&w);
	assert_chain(&w, IPS(PC(FN_LEAF)), STOP_BAD_RETURN);
	world_deinit(&w);
}

/* In the kernel, @padding bytes of which are above the pt_regs. */
static void kernel_sample_regs(struct world *w, u64 pc, const u64 *gpr, unsigned int padding,
			       u64 cs)
{
	struct build_stack kernel;
	u64 regs;

	build_stack_init(&kernel, 0xffffc90000014000ULL);
	build_stack_locals(&kernel, padding / sizeof(u64));
	regs = build_stack_regs(&kernel, pc, gpr, true);
	build_stack_poke(&kernel, regs + X86_PT_CS * sizeof(u64), cs);
	build_stack_locals(&kernel, 10);
	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, 0xffffffff81000000, kernel.sp);
	w->sample.wire.user_pc = pc;
	w->sample.wire.user_sp = w->stack.sp;
	w->sample.wire.user_stop = STOP_COMPLETE;
	build_sample_stack(&w->sample, WIRE_STACK_THREAD, &kernel, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	build_sample_stack(&w->sample, WIRE_STACK_USER, &w->stack, WIRE_MAX_STACK_BYTES,
			   STOP_NOT_PRESENT);
}

static void kernel_sample_at(struct world *w, u64 pc, unsigned int padding, u64 cs)
{
	const u64 gpr[16] = { [X86_R12] = STACK_TOP, [X86_RSP] = w->stack.sp,
			      [X86_RDI] = RETURN(FN_START) };

	kernel_sample_regs(w, pc, gpr, padding, cs);
}

static void kernel_sample(struct world *w, unsigned int padding, u64 cs)
{
	kernel_sample_at(w, PC(FN_LEAF), padding, cs);
}

/*
 * A program with frame pointers, deeper than the copy: capture has walked on. @missed of the first
 * frames it had not.
 */
static void deep_sample(struct world *w, unsigned int missed)
{
	u64 bp = 0;

	build_stack_init(&w->stack, STACK_TOP);
	build_stack_push(&w->stack, RETURN(FN_START));
	for (unsigned int i = 0; i < 8; i++) {
		bp = build_stack_push(&w->stack, bp);
		build_stack_locals(&w->stack, 4);
		build_stack_push(&w->stack, RETURN(FN_FRAME) + i % 3 * FN_SIZE * FN_NR);
	}
	bp = build_stack_push(&w->stack, bp);
	sample_at(w, PC(FN_FRAME), 5 * 48, STOP_STACK_CUT)->gpr[X86_RBP] = bp;
	strbuf_reset(&w->sample.frames);
	w->sample.wire.nr_user_frames = 0;
	for (unsigned int i = 8 - missed; i; i--)
		build_sample_frame(&w->sample, RETURN(FN_FRAME) + (i - 1) % 3 * FN_SIZE * FN_NR);
	build_sample_frame(&w->sample, RETURN(FN_START));
}

/* As find_user_row(), and FN_FRAME twice more behind all. */
static int find_deep_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	return find_user_row(ctx, GVA(TEXT + (pc.addr - TEXT) % (FN_SIZE * FN_NR)), ret_row);
}

static void test_deep(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.ops.find_user_row = find_deep_row;
	for (unsigned int missed = 0; missed <= 2; missed++) {
		deep_sample(&w, missed);
		unwind(&w);
		assert_int_equal(w.chain.user_stop, missed < 2 ? STOP_COMPLETE : STOP_STACK_CUT);
		assert_int_equal(w.chain.nr, missed < 2 ? 10 : 6);
		for (u32 i = 1; i < MIN(w.chain.nr, 9U); i++)
			assert_int_equal(w.chain.frames[i].ip,
					 RETURN(FN_FRAME) + (8 - i) % 3 * FN_SIZE * FN_NR);
	}
	/* It went another way, or not as far. */
	for (unsigned int i = 2; i <= 5; i++) {
		deep_sample(&w, 0);
		((u64 *)w.sample.frames.data)[i] += 0x100;
		unwind(&w);
		assert_int_equal(w.chain.user_stop, i < 5 ? STOP_STACK_CUT : STOP_COMPLETE);
	}
	/* It lost its way in code without frame pointers, where rules would have led on. */
	for (unsigned int i = 0; i < 3; i++) {
		static const enum stop_reason stops[] = { STOP_BAD_POINTER, STOP_BAD_RETURN,
							  STOP_DEPTH };

		deep_sample(&w, 0);
		w.sample.wire.user_stop = stops[i];
		unwind(&w);
		assert_int_equal(w.chain.nr, 10);
		assert_int_equal(w.chain.user_stop, i < 2 ? STOP_STACK_CUT : STOP_DEPTH);
	}
	for (unsigned int nr = 0; nr <= 5; nr++) {
		deep_sample(&w, 0);
		w.sample.wire.nr_user_frames = nr;
		w.sample.wire.user_stop = STOP_NOT_PRESENT;
		unwind(&w);
		assert_int_equal(w.chain.user_stop, nr < 5 ? STOP_STACK_CUT : STOP_NOT_PRESENT);
		assert_int_equal(w.chain.nr, 6);
	}
	world_deinit(&w);
}

/* Sampled in the kernel: the user's registers are in the pt_regs at its stack's end. */
static void test_below_kernel(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	build_stack_push(&w.stack, RETURN(FN_R12));
	for (unsigned int padding = 0; padding <= 32; padding += 16) {
		kernel_sample(&w, padding, 0x33);
		unwind(&w);
		assert_int_equal(w.chain.nr_kernel, 1);
		assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
		/* Not where they are looked for: capture's frames, of which there are none. */
		assert_int_equal(w.chain.nr, padding == 32 ? 2 : 4);
		assert_int_equal(w.chain.frames[1].ip, PC(FN_LEAF));
		if (padding < 32)
			assert_int_equal(w.chain.frames[3].ip, RETURN(FN_START));
	}
	kernel_sample(&w, 0, X86_USER32_CS);
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	/* SYSCALL's first instructions: on the user's stack, with the user's registers. */
	build_sample_deinit(&w.sample);
	build_sample_init(&w.sample, 0xffffffff81000000, w.stack.sp);
	w.sample.wire.regs.gpr[X86_R12] = STACK_TOP;
	w.sample.wire.user_pc = PC(FN_LEAF);
	w.sample.wire.user_sp = w.stack.sp;
	build_sample_stack(&w.sample, WIRE_STACK_USER, &w.stack, WIRE_MAX_STACK_BYTES,
			   STOP_NOT_PRESENT);
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	world_deinit(&w);
}

/* The first instruction of a program, of which nothing else is known. */
static void test_unborn(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, 1);
	for (unsigned int reg = 0; reg <= 16; reg++) {
		u64 gpr[16] = { [X86_RSP] = w.stack.sp };

		if (reg < 16 && reg != X86_RSP)
			gpr[reg] = 1;
		kernel_sample_regs(&w, PC(FN_NOT_KNOWN), gpr, 0, 0x33);
		unwind(&w);
		assert_int_equal(w.chain.nr, 2);
		assert_int_equal(w.chain.user_stop, reg < 16 && reg != X86_RSP ?
				 STOP_RULE_UNKNOWN : STOP_COMPLETE);
	}
	world_deinit(&w);
}

/* Functions that end with a system call, or have popped their return address before it. */
static void test_system_calls(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	build_stack_push(&w.stack, RETURN(FN_START));
	kernel_sample_at(&w, RETURN_BEHIND, 0, 0x33);
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	assert_int_equal(w.chain.nr, 2);
	kernel_sample_at(&w, PC(FN_POPPED), 0, 0x33);
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	assert_int_equal(w.chain.nr, 3);
	assert_int_equal(w.chain.frames[2].ip, RETURN(FN_START));
	/* Not in user mode, where what is behind a function does not run; nor for a caller. */
	sample_at(&w, RETURN_BEHIND, WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT);
	w.sample.wire.nr_user_frames = 0;
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_NO_RULE);
	build_stack_push(&w.stack, RETURN(FN_POPPED));
	sample_at(&w, PC(FN_LEAF), WIRE_MAX_STACK_BYTES, STOP_NOT_PRESENT)->gpr[X86_RDI] =
		RETURN(FN_START);
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_BAD_POINTER);
	world_deinit(&w);
}

/* This program's own stack. */

#define MAX_OBJECTS 32

struct object {
	u64 base, end;
	struct cfi_table *table;
};

struct self {
	struct object objects[MAX_OBJECTS];
	unsigned int nr;
	struct build_sample sample;
	struct chain chain;
	void *want[64];
	int nr_want;
	u64 code;		/* a page of code without rules */
	u64 alt, alt_end;	/* another stack, where there is one, and */
	u64 interrupted_sp;	/* the stack pointer that a signal has left for it; 0: none */
};

static struct self self;

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
	struct object *object = &self.objects[self.nr];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	(void)size;
	(void)arg;
	assert_true(self.nr < MAX_OBJECTS);
	object->base = info->dlpi_addr;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD)
			object->end = MAX(object->end, object->base + segment->p_vaddr +
							       segment->p_memsz);
	}
	if (fd >= 0) {
		assert_int_equal(cfi_table_from_file(fd, &object->table), 0);
	} else {	/* the vDSO, all of which is mapped */
		assert_int_equal(object->base, getauxval(AT_SYSINFO_EHDR));
		assert_int_equal(cfi_table_from_memory((void *)(uintptr_t)object->base,
						       object->end - object->base, false,
						       &object->table), 0);
	}
	self.nr++;
	return 0;
}

static const struct object *own_object(u64 pc)
{
	for (unsigned int i = 0; i < self.nr; i++)
		if (pc >= self.objects[i].base && pc < self.objects[i].end)
			return &self.objects[i];
	return NULL;
}

static int find_own_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct object *object = own_object(pc.addr);

	(void)ctx;
	return object ? cfi_table_find(object->table, pc.addr - object->base, ret_row) : -ENOENT;
}

static int check_own_call(void *ctx, gva_t ret_addr, bool user)
{
	const u8 *before = (const u8 *)(uintptr_t)(ret_addr.addr - X86_CALL_MAX);

	(void)ctx;
	assert_true(user);
	if (!own_object(ret_addr.addr) && ret_addr.addr / 4096 * 4096 != self.code)
		return -EBADMSG;
	return x86_call_ends_at(before, X86_CALL_MAX) ? 0 : -EBADMSG;
}

static u64 own_stack_end(void)
{
	pthread_attr_t attr;
	size_t size;
	void *start;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &start, &size), 0);
	pthread_attr_destroy(&attr);
	return (uintptr_t)start + size;
}

/* As it is, with what a sanitizer keeps between variables. */
static __attribute__((no_sanitize("address"))) void copy_stack(u64 from, u64 size, u64 *out)
{
	const volatile u64 *words = (const u64 *)(uintptr_t)from;

	for (u64 i = 0; i < size / sizeof(*words); i++)
		out[i] = words[i];
}

/* With the red zone, as capture does. */
static void add_own_stack(u64 sp, u64 end, enum stop_reason stop)
{
	static u64 bytes[WIRE_MAX_STACK_BYTES / sizeof(u64)];
	struct wire_sample *wire = &self.sample.wire;
	u64 start = sp / sizeof(u64) * sizeof(u64) - WIRE_RED_ZONE;
	u64 size = MIN(end - start, sizeof(bytes));

	copy_stack(start, size, bytes);
	strbuf_add(&self.sample.stacks[wire->nr_stacks], bytes, size);
	wire->stacks[wire->nr_stacks++] = (struct wire_stack){
		.gva = start, .size = size, .kind = WIRE_STACK_USER, .stop = stop,
	};
}

/* From where getcontext() was called, or a signal came. */
static int unwind_own(const ucontext_t *context)
{
	static const u8 order[] = {
		X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15, X86_RDI,
		X86_RSI, X86_RBP, X86_RBX, X86_RDX, X86_RAX, X86_RCX, X86_RSP,
	};
	static const struct unwind_ops ops = {
		.check_call = check_own_call,
		.find_user_row = find_own_row,
	};
	const struct unwinder unwinder = { .ops = &ops };
	const greg_t *gregs = context->uc_mcontext.gregs;
	struct wire_sample *wire = &self.sample.wire;
	u64 sp = gregs[REG_RSP];
	struct sample sample;
	int err;

	build_sample_init(&self.sample, gregs[REG_RIP], sp);
	wire->flags = WIRE_F_USER;
	wire->regs.user = 1;
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		wire->regs.gpr[order[i]] = gregs[i];
	if (sp - self.alt < self.alt_end - self.alt) {
		add_own_stack(sp, self.alt_end, STOP_COMPLETE);
		sp = self.interrupted_sp;
	}
	if (sp)
		add_own_stack(sp, own_stack_end(), STOP_STACK_CUT);
	err = build_sample_finish(&self.sample, &sample);
	if (!err)
		unwind_sample(&unwinder, &sample, &self.chain);
	build_sample_deinit(&self.sample);
	return err;
}

static __attribute__((noinline)) void look(int signal)
{
	ucontext_t context;

	(void)signal;
	self.nr_want = backtrace(self.want, ARRAY_SIZE(self.want));
	getcontext(&context);
	assert_int_equal(unwind_own(&context), 0);
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	look(0);
	return *x - *y;
}

/* The first frame is look()'s, at another instruction; a sanitizer's backtrace() has one more. */
static void assert_as_backtrace(int least)
{
	int nr = self.chain.nr, more = self.nr_want - nr;

	assert_int_equal(self.chain.user_stop, STOP_COMPLETE);
	assert_true(self.nr_want < (int)ARRAY_SIZE(self.want));
	assert_in_range(more, 0, 1);
	assert_true(nr >= least);
	for (int i = 1; i < nr; i++)
		assert_int_equal(self.chain.frames[i].ip, (uintptr_t)self.want[i + more]);
}

static int load_own_tables(void **state)
{
	(void)state;
	dl_iterate_phdr(add_object, NULL);
	return 0;
}

static int drop_own_tables(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < self.nr; i++)
		cfi_table_destroy(self.objects[i].table);
	self.nr = 0;
	return 0;
}

/* Through the C library's qsort(). */
static void test_own_stack(void **state)
{
	int numbers[] = { 3, 1 };

	(void)state;
	qsort(numbers, ARRAY_SIZE(numbers), sizeof(numbers[0]), compare);
	assert_as_backtrace(6);
}

/* Through a signal, on the same stack. */
static void test_own_signal(void **state)
{
	struct sigaction action = { .sa_handler = look }, old;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	assert_as_backtrace(6);
}

static void look_from_handler(int signal, siginfo_t *info, void *context)
{
	(void)info;
	self.interrupted_sp = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
	look(signal);
}

/* A sanitizer makes frames too large for a stack that has room in a copy of another. */
#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#define WITH_ASAN __has_feature(address_sanitizer)
#else
#define WITH_ASAN 0
#endif

/* Through a signal, on a stack of its own: elsewhere, and inside of the program's. */
static void test_own_signal_stack(void **state)
{
	enum { MAPPED = 1 << 18 };
	struct sigaction action = {
		.sa_sigaction = look_from_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK,
	}, old;
	char inside[10240];	/* of a copy of 16 KiB, with what is around */
	void *mapped = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	stack_t stacks[] = {
		{ .ss_sp = mapped, .ss_size = MAPPED },
		{ .ss_sp = inside, .ss_size = sizeof(inside) },
	}, old_stack;

	(void)state;
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
	for (size_t i = 0; i < (WITH_ASAN ? 1 : ARRAY_SIZE(stacks)); i++) {
		assert_int_equal(sigaltstack(&stacks[i], i ? NULL : &old_stack), 0);
		self.alt = (uintptr_t)stacks[i].ss_sp;
		self.alt_end = self.alt + stacks[i].ss_size;
		self.interrupted_sp = 0;
		raise(SIGUSR1);
		assert_true(self.interrupted_sp);
		assert_as_backtrace(6);
	}
	assert_int_equal(sigaltstack(&old_stack, NULL), 0);
	sigaction(SIGUSR1, &old, NULL);
	self.alt = self.alt_end = 0;
	munmap(mapped, MAPPED);
}

static ucontext_t contexts[2];

static void look_from_context(void)
{
	look(0);
}

/* A stack that makecontext() made: its first function has no caller, wherever it was entered. */
static void test_own_context(void **state)
{
	size_t size = 65536;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(stack != MAP_FAILED);
	self.alt = (uintptr_t)stack;
	self.alt_end = self.alt + size;
	self.interrupted_sp = 0;
	assert_int_equal(getcontext(&contexts[1]), 0);
	contexts[1].uc_stack.ss_sp = stack;
	contexts[1].uc_stack.ss_size = size;
	contexts[1].uc_link = &contexts[0];
	makecontext(&contexts[1], look_from_context, 0);
	assert_int_equal(swapcontext(&contexts[0], &contexts[1]), 0);
	assert_as_backtrace(2);
	self.alt = self.alt_end = 0;
	munmap(stack, size);
}

/* Through code of which nothing is known, and which keeps a frame pointer. */
static void test_own_code(void **state)
{
	static const u8 code[] = {
		0x55,			/* push %rbp */
		0x48, 0x89, 0xe5,	/* mov %rsp, %rbp */
		0x48, 0x89, 0xf8,	/* mov %rdi, %rax */
		0x31, 0xff,		/* xor %edi, %edi */
		0xff, 0xd0,		/* call *%rax */
		0x5d,			/* pop %rbp */
		0xc3,			/* ret */
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct frame *frames = self.chain.frames;
	void (*call)(void (*)(int));

	(void)state;
	assert_true(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	memcpy(&call, &page, sizeof(call));
	for (unsigned int i = 0; i < 2; i++) {
		self.code = i ? 0 : (uintptr_t)page;	/* 0: no call is seen there */
		call(look);
		assert_int_equal(self.chain.user_stop, i ? STOP_BAD_RETURN : STOP_COMPLETE);
		if (i)
			continue;
		assert_true(self.chain.nr >= 6);
		assert_int_equal(frames[1].ip, (uintptr_t)page + sizeof(code) - 2);
		assert_ptr_equal(own_object(frames[2].ip), own_object((uintptr_t)test_own_code));
	}
	self.code = 0;
	munmap(page, 4096);
}

/* A trap after each instruction, with the chain from there. */
struct steps {
	volatile sig_atomic_t on;
	u32 nr, nr_vdso;
	u64 bad_pc;		/* the first that is wrong; 0: none is */
	enum stop_reason bad_stop;
	const struct object *vdso;
};

static struct steps steps;

/* Whether it is complete and ends as backtrace() saw the caller's. */
static bool is_chain_from(const struct chain *chain)
{
	u32 tail = self.nr_want - 2;	/* neither the function itself nor what it calls */

	if (chain->user_stop != STOP_COMPLETE || chain->nr <= tail)
		return false;
	for (u32 i = 0; i < tail; i++)
		if (chain->frames[chain->nr - 1 - i].ip !=
		    (uintptr_t)self.want[self.nr_want - 1 - i])
			return false;
	return true;
}

static void on_trap(int signal, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;
	greg_t *gregs = context->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if (!steps.on) {
		gregs[REG_EFL] &= ~0x100;
		return;
	}
	gregs[REG_EFL] |= 0x100;
	steps.nr++;
	steps.nr_vdso += own_object(gregs[REG_RIP]) == steps.vdso;
	if (!steps.bad_pc && (unwind_own(context) || !is_chain_from(&self.chain))) {
		steps.bad_pc = gregs[REG_RIP];
		steps.bad_stop = self.chain.user_stop;
	}
}

/* Calls of the library and of the vDSO by way of the PLT, one instruction after the other. */
static __attribute__((noinline)) void step_through_calls(void)
{
	struct timespec now;

	self.nr_want = backtrace(self.want, ARRAY_SIZE(self.want));
	steps.on = 1;
	raise(SIGTRAP);
	clock_gettime(CLOCK_MONOTONIC, &now);
	strtod("1", NULL);
	steps.on = 0;
}

static void test_own_steps(void **state)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO }, old;
	u64 vdso = getauxval(AT_SYSINFO_EHDR);

	(void)state;
	if (!vdso)
		print_message("no vDSO here\n");
	steps.vdso = vdso ? own_object(vdso) : NULL;
	assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
	step_through_calls();
	sigaction(SIGTRAP, &old, NULL);
	assert_true(steps.nr > 50);
	assert_true(!vdso || steps.nr_vdso > 10);
	if (steps.bad_pc)
		fail_msg("at %#llx: %s", (unsigned long long)steps.bad_pc,
			 stop_reason_text(steps.bad_stop));
}

static void *thread_main(void *arg)
{
	look(0);
	return arg;
}

/* A thread ends in clone(). */
static void test_own_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_as_backtrace(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_realigned),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_32_bit),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_signal_stack),
		cmocka_unit_test(test_signal_stack_inside),
		cmocka_unit_test(test_signal_circle),
		cmocka_unit_test(test_signal_cut),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_frame_pointer_cut),
		cmocka_unit_test(test_not_loaded),
		cmocka_unit_test(test_zero_end),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_context_start),
		cmocka_unit_test(test_below_kernel),
		cmocka_unit_test(test_unborn),
		cmocka_unit_test(test_system_calls),
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_own_signal),
		cmocka_unit_test(test_own_signal_stack),
		cmocka_unit_test(test_own_context),
		cmocka_unit_test(test_own_code),
		cmocka_unit_test(test_own_steps),
		cmocka_unit_test(test_own_thread),
	};

	return cmocka_run_group_tests(tests, load_own_tables, drop_own_tables);
}
