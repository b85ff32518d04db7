/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User stacks of arm64: rules over them, functions whose return address is in x30, signed ones,
 * frame records, signals; then the same ones bent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "arch/arm64-regs.h"
#include "build-sample.h"
#include "unwind/unwind.h"

#define TOP 0xfffff7ffe000ULL
#define ALT_TOP 0xffff90008000ULL
#define TEXT 0xaaaaaaaa0000ULL
#define FN(n) (TEXT + (n) * 0x100)
#define RETURN(n) (FN(n) + 0x40)	/* behind a call, all others are not */
#define TCR_48 (16ULL | 16ULL << 16)
#define SIGNED 0x002a000000000000ULL

#define RET FRAME_F_RETURN
#define INT FRAME_F_INTERRUPTED

#define NR_FNS 16

struct world {
	struct build_stack stack, alt;
	struct build_sample sample;
	struct chain chain;
	struct cfi_row rows[NR_FNS];
	int errors[NR_FNS];
};

static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct world *w = ctx;
	u64 n = (pc.addr - TEXT) / 0x100;

	if (n >= NR_FNS)
		return -ENOENT;
	*ret_row = w->rows[n];
	return w->errors[n];
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	(void)ctx;
	(void)user;
	return (ret_addr.addr & 0xff) == 0x40 ? 0 : -EBADMSG;
}

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	(void)ctx;
	(void)pc;
	(void)ret_row;
	return -ENOENT;
}

static const struct unwind_ops ops = { find_row, check_call, NULL, find_user_row };

static const struct cfi_row in_lr = { .kind = CFI_ROW_CALL,
				      .cfa = { CFI_REG_OFFSET, ARM64_SP, 0 } };
/* 32 bytes, x29 and x30 at the lower end. */
static const struct cfi_row in_frame = { .kind = CFI_ROW_CALL,
					 .cfa = { CFI_REG_OFFSET, ARM64_SP, 32 },
					 .bp = { CFI_AT_CFA, 0, -32 },
					 .ra = { CFI_AT_CFA, 0, -24 } };
static const struct cfi_row outermost = { .kind = CFI_ROW_END };
static const struct cfi_row sigreturn = { .kind = CFI_ROW_SIGCONTEXT,
					  .regs = { CFI_REG_OFFSET, ARM64_SP, 312 } };

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	build_stack_init(&w->stack, TOP);
	build_stack_init(&w->alt, ALT_TOP);
	for (unsigned int i = 0; i < NR_FNS; i++)
		w->errors[i] = -ENOENT;
}

static void set_row(struct world *w, unsigned int n, const struct cfi_row *row)
{
	w->rows[n] = *row;
	w->errors[n] = 0;
}

static u64 push_frame(struct build_stack *stack, u64 fp, u64 lr)
{
	build_stack_locals(stack, 2);
	build_stack_push(stack, lr);
	return build_stack_push(stack, fp);
}

static void sample(struct world *w, const struct build_stack *stack, u64 pc, u64 fp, u64 lr)
{
	struct vcpu_regs *regs = &w->sample.wire.regs;

	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, pc, stack->sp);
	memset(regs, 0, sizeof(*regs));
	regs->arch = VCPU_ARCH_ARM64;
	regs->bits = 64;
	regs->user = 1;
	regs->pc = pc;
	regs->gpr[ARM64_SP] = stack->sp;
	regs->gpr[ARM64_FP] = fp;
	regs->gpr[ARM64_LR] = lr;
	regs->arm64.tcr = TCR_48;
	regs->arm64.sctlr = 1;	/* paging is on */
	w->sample.wire.flags = WIRE_F_USER;
	w->sample.wire.user_pc = pc;
	w->sample.wire.user_sp = stack->sp;
	build_sample_stack(&w->sample, WIRE_STACK_USER, stack, WIRE_MAX_STACK_BYTES, STOP_COMPLETE);
	if (stack != &w->stack)
		build_sample_stack(&w->sample, WIRE_STACK_USER, &w->stack, WIRE_MAX_STACK_BYTES,
				   STOP_COMPLETE);
}

struct want {
	u64 ip;
	u8 flags;
};

static void check(struct world *w, enum stop_reason stop, const struct want *want, u32 nr)
{
	struct unwinder unwinder = { &ops, w, 0 };
	struct sample sample;

	assert_int_equal(build_sample_finish(&w->sample, &sample), 0);
	unwind_sample(&unwinder, &sample, &w->chain);
	for (u32 i = 0; i < MIN(nr, w->chain.nr); i++) {
		const struct frame *frame = &w->chain.frames[i];

		if (frame->ip != want[i].ip || frame->flags != want[i].flags)
			fail_msg("frame %u is %#llx flags %u", i, frame->ip, frame->flags);
	}
	assert_int_equal(w->chain.nr, nr);
	assert_string_equal(stop_reason_text(w->chain.user_stop), stop_reason_text(stop));
}

#define CHECK(w, stop, ...)                                                \
	do {                                                               \
		const struct want want_[] = { __VA_ARGS__ };               \
									   \
		check(w, stop, want_, ARRAY_SIZE(want_));                  \
	} while (0)

/* A leaf, functions with a frame, signed or not, and _start. */
static void push_calls(struct world *w)
{
	set_row(w, 0, &in_lr);
	set_row(w, 1, &in_frame);
	set_row(w, 2, &in_frame);
	set_row(w, 3, &outermost);
	push_frame(&w->stack, 0, RETURN(3));
	push_frame(&w->stack, 0xf9, RETURN(2) | SIGNED);
}

static void test_calls(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	push_calls(&w);
	sample(&w, &w.stack, FN(0), 0xf9, RETURN(1) | SIGNED);
	CHECK(&w, STOP_COMPLETE, { FN(0), INT }, { RETURN(1), RET }, { RETURN(2), RET },
	      { RETURN(3), RET });
	/* A zero return address with a zero x29 is the end, too. */
	build_sample_deinit(&w.sample);
	world_init(&w);
	set_row(&w, 1, &in_frame);
	push_frame(&w.stack, 0, 0);
	sample(&w, &w.stack, FN(1), 0xf9, 0);
	CHECK(&w, STOP_COMPLETE, { FN(1), INT });
	build_sample_deinit(&w.sample);
}

/* Code without rules, which keeps frame records; then code with rules again. */
static void test_records(void **state)
{
	struct world w;
	u64 fp;

	(void)state;
	world_init(&w);
	push_calls(&w);
	fp = push_frame(&w.stack, 0x11, RETURN(1));
	w.stack.sp = fp - 64;
	/* Above the record is where the caller's frame begins, by its own rule. */
	build_stack_poke(&w.stack, fp + 16 + 8, RETURN(2));
	set_row(&w, 2, &outermost);
	sample(&w, &w.stack, FN(5), fp, RETURN(9));
	CHECK(&w, STOP_COMPLETE, { FN(5), INT }, { RETURN(1), RET }, { RETURN(2), RET });
	/* x29 leads nowhere. */
	sample(&w, &w.stack, FN(5), 0x1234, RETURN(9));
	CHECK(&w, STOP_NO_RULE, { FN(5), INT });
	build_sample_deinit(&w.sample);
}

/* The kernel's frame of a signal, and the handler's on it. */
static void push_signal(struct build_stack *stack, u64 pc, u64 sp, u64 lr)
{
	u64 at;

	for (unsigned int i = 0; i < 600 / 8; i++)
		build_stack_push(stack, 0);
	at = stack->sp + 312;
	build_stack_poke(stack, at + ARM64_PT_LR * 8, lr);
	build_stack_poke(stack, at + ARM64_PT_SP * 8, sp);
	build_stack_poke(stack, at + ARM64_PT_PC * 8, pc);
}

static void test_signal(void **state)
{
	struct world w;

	(void)state;
	for (int other = 0; other < 2; other++) {
		struct build_stack *stack;

		world_init(&w);
		push_calls(&w);
		set_row(&w, 6, &sigreturn);
		set_row(&w, 7, &in_frame);
		stack = other ? &w.alt : &w.stack;
		push_signal(stack, FN(0) + 4, w.stack.sp, RETURN(1));
		push_frame(stack, 0, FN(6));
		sample(&w, stack, FN(7), 0, 0);
		CHECK(&w, STOP_COMPLETE, { FN(7), INT }, { FN(6), INT }, { FN(0) + 4, INT },
		      { RETURN(1), RET }, { RETURN(2), RET }, { RETURN(3), RET });
		build_sample_deinit(&w.sample);
	}
}

static void test_bent(void **state)
{
	struct world w;
	struct cfi_row down = in_frame;

	(void)state;
	world_init(&w);
	push_calls(&w);
	/* After no call, no user address, a register that is lost. */
	sample(&w, &w.stack, FN(0), 0, FN(1) + 4);
	CHECK(&w, STOP_BAD_RETURN, { FN(0), INT });
	sample(&w, &w.stack, FN(0), 0, 0xffff800010000040);
	CHECK(&w, STOP_BAD_RETURN, { FN(0), INT });
	set_row(&w, 1, &in_lr);
	sample(&w, &w.stack, FN(0), 0, RETURN(1));
	CHECK(&w, STOP_BAD_POINTER, { FN(0), INT }, { RETURN(1), RET });
	/* Down, nowhere, not loaded. */
	down.cfa.offset = -32;
	set_row(&w, 1, &down);
	sample(&w, &w.stack, FN(0), 0, RETURN(1));
	CHECK(&w, STOP_BAD_POINTER, { FN(0), INT }, { RETURN(1), RET });
	down.cfa = (struct cfi_rule){ CFI_REG_OFFSET, 19, 32 };
	set_row(&w, 1, &down);
	CHECK(&w, STOP_NO_RULE, { FN(0), INT }, { RETURN(1), RET });
	w.errors[1] = -EAGAIN;
	CHECK(&w, STOP_NOT_LOADED, { FN(0), INT }, { RETURN(1), RET });
	build_sample_deinit(&w.sample);
}

/* A copy that ends anywhere: what is there is right, and the reason says what is not. */
static void test_truncated(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	push_calls(&w);
	for (u32 size = 0; size < 64; size += 8) {
		struct unwinder unwinder = { &ops, &w, 0 };
		struct sample view;

		sample(&w, &w.stack, FN(0), 0xf9, RETURN(1));
		strbuf_deinit(&w.sample.stacks[0]);
		w.sample.stacks[0] = (struct strbuf)STRBUF_INIT;
		w.sample.wire.nr_stacks = 0;
		build_sample_stack(&w.sample, WIRE_STACK_USER, &w.stack, size, STOP_NOT_PRESENT);
		assert_int_equal(build_sample_finish(&w.sample, &view), 0);
		unwind_sample(&unwinder, &view, &w.chain);
		assert_int_equal(w.chain.nr, size < 16 ? 2 : size < 48 ? 3 : 4);
		assert_string_equal(stop_reason_text(w.chain.user_stop),
				    stop_reason_text(size < 48 ? STOP_NOT_PRESENT : STOP_COMPLETE));
	}
	build_sample_deinit(&w.sample);
}

#define VECTORS 0xfffffbfffdbf6000ULL
#define VECTOR (VECTORS + 0x480)	/* of interrupts in user mode */
#define ENTRY 0xffffce6842611618ULL	/* behind it */
#define KERNEL_TOP 0xffff80000a004000ULL
#define TASK 0xffff000001234540ULL

/*
 * The vCPU at @pc of the kernel's entry code, come from the leaf of push_calls(). By frame pointers
 * capture has found no more, for x29 is 0.
 */
static void sample_entry(struct world *w, u64 pc, u64 lr, u64 tpidrro)
{
	struct vcpu_regs *regs = &w->sample.wire.regs;

	sample(w, &w->stack, FN(0), 0, lr);
	regs->user = 0;
	regs->pc = pc;
	regs->gpr[ARM64_SP] = KERNEL_TOP;
	regs->arm64.sp_el0 = w->stack.sp;
	regs->arm64.elr_el1 = FN(0);
	regs->arm64.vbar = VECTORS;
	regs->arm64.tpidrro_el0 = tpidrro;
	w->sample.wire.flags = WIRE_F_TASK;
	w->sample.wire.user_stop = STOP_COMPLETE;
}

/* The user's registers are in the vCPU, as far as entry code has left them there. */
static void test_vector(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	push_calls(&w);
	sample_entry(&w, VECTOR, RETURN(1), 0);
	CHECK(&w, STOP_COMPLETE, { VECTOR, INT }, { FN(0), INT }, { RETURN(1), RET },
	      { RETURN(2), RET }, { RETURN(3), RET });
	/* x30 is the kernel's by now. */
	sample_entry(&w, VECTOR + 8, 0xffffce6842611000, RETURN(1));
	CHECK(&w, STOP_COMPLETE, { VECTOR + 8, INT }, { FN(0), INT }, { RETURN(1), RET },
	      { RETURN(2), RET }, { RETURN(3), RET });
	build_sample_deinit(&w.sample);
}

/* Most of them are on the kernel's stack: behind the vectors, and on the way out. */
static void test_entry(void **state)
{
	struct build_stack kernel;
	struct world w;
	u64 at;

	(void)state;
	world_init(&w);
	push_calls(&w);
	build_stack_init(&kernel, KERNEL_TOP);
	for (int i = 0; i < 42; i++)
		build_stack_push(&kernel, 0);
	at = kernel.sp;
	sample_entry(&w, ENTRY, RETURN(1), 0);
	w.sample.wire.user_pc = FN(4);	/* of the entry before */
	w.sample.wire.regs.arm64.sp_el0 = TASK;
	w.sample.wire.regs.gpr[21] = w.stack.sp;
	w.sample.wire.regs.gpr[ARM64_SP] = at;
	build_sample_stack(&w.sample, WIRE_STACK_AT_SP, &kernel, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	CHECK(&w, STOP_COMPLETE, { ENTRY, INT }, { FN(0), INT }, { RETURN(1), RET },
	      { RETURN(2), RET }, { RETURN(3), RET });
	/* There is no user's SP in x21 yet. */
	w.sample.wire.regs.gpr[21] = 0;
	CHECK(&w, STOP_NO_RULE, { ENTRY, INT }, { FN(0), INT });
	/* The way out. */
	build_stack_poke(&kernel, at + ARM64_LR * 8, RETURN(1));
	build_stack_poke(&kernel, at + ARM64_PT_SP * 8, w.stack.sp);
	build_stack_poke(&kernel, at + ARM64_PT_PC * 8, FN(0));
	sample_entry(&w, ENTRY, 0xffffce6842611000, 0);
	build_sample_stack(&w.sample, WIRE_STACK_AT_SP, &kernel, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	CHECK(&w, STOP_COMPLETE, { ENTRY, INT }, { FN(0), INT }, { RETURN(1), RET },
	      { RETURN(2), RET }, { RETURN(3), RET });
	build_sample_deinit(&w.sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_bent),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_vector),
		cmocka_unit_test(test_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
