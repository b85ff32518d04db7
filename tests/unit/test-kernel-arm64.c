/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel stacks of arm64: frame records, interrupted functions without one, exceptions as kernels
 * up to 6.12 and from 6.13 on record them, another stack, signed addresses; then the same bent.
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

#define THREAD_TOP 0xffff800008204000ULL
#define IRQ_TOP 0xffff800008004000ULL
#define TEXT 0xffff800010010000ULL
#define FN(n) (TEXT + (n) * 0x100)
#define RETURN(n) (FN(n) + 0x40)	/* behind a call, all others are not */
#define USER_PC 0xaaaa00001234ULL
#define USER_SP 0xffffe000ULL
#define TCR_48 (16ULL | 16ULL << 16)
#define TASK 0xffff000001234540ULL
#define PSTATE_EL1 0x5
#define PT_REGS_BYTES 0x150
#define META_BYTES 0x140

#define RET FRAME_F_RETURN
#define INT FRAME_F_INTERRUPTED

struct world {
	struct build_stack thread, irq;
	struct build_sample sample;
	struct chain chain;
	struct cfi_row row;	/* of the pc */
	int row_error;
	int call_error;		/* what a return address that cannot be read says; 0: all can */
};

static int find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	const struct world *w = ctx;

	(void)pc;
	*ret_row = w->row;
	return w->row_error;
}

static int check_call(void *ctx, gva_t ret_addr, bool user)
{
	const struct world *w = ctx;

	(void)user;
	if (w->call_error)
		return w->call_error;
	return (ret_addr.addr & 0xff) == 0x40 ? 0 : -EBADMSG;
}

static bool is_kernel_text(void *ctx, gva_t addr)
{
	(void)ctx;
	return addr.addr >= TEXT && addr.addr < TEXT + 0x10000;
}

static const struct unwind_ops ops = { find_row, check_call, is_kernel_text, NULL };

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->row_error = -ENOENT;
	build_stack_init(&w->thread, THREAD_TOP);
	build_stack_init(&w->irq, IRQ_TOP);
}

/* A pt_regs without its record's words; words of the rest are 0. Returns where its record is. */
static u64 push_regs(struct build_stack *stack, u64 bytes, u64 fp, u64 lr, u64 sp, u64 pc,
		     u64 pstate)
{
	u64 at;

	for (u64 i = 0; i < bytes / 8; i++)
		build_stack_push(stack, 0);
	at = stack->sp;
	build_stack_poke(stack, at + ARM64_PT_FP * 8, fp);
	build_stack_poke(stack, at + ARM64_PT_LR * 8, lr);
	build_stack_poke(stack, at + ARM64_PT_SP * 8, sp);
	build_stack_poke(stack, at + ARM64_PT_PC * 8, pc);
	build_stack_poke(stack, at + ARM64_PT_PSTATE * 8, pstate);
	return at + (bytes == META_BYTES ? ARM64_PT_META : ARM64_PT_RECORD);
}

static u64 push_user(struct build_stack *stack, u64 bytes)
{
	u64 record = push_regs(stack, bytes, 0xf9, 0xb0, USER_SP, USER_PC, 0);

	if (bytes == META_BYTES)
		build_stack_poke(stack, record + 16, ARM64_META_FINAL);
	return record;
}

/* Two words of locals, then a record at 16 bytes. Returns where it is. */
static u64 push_record(struct build_stack *stack, u64 fp, u64 lr)
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
	regs->pc = pc;
	regs->flags = PSTATE_EL1;
	regs->gpr[ARM64_SP] = stack->sp;
	regs->gpr[ARM64_FP] = fp;
	regs->gpr[ARM64_LR] = lr;
	regs->arm64.tcr = TCR_48;
	regs->arm64.sp_el0 = TASK;
	regs->arm64.sctlr = 1;	/* paging is on */
	build_sample_stack(&w->sample, WIRE_STACK_AT_SP, stack, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	if (stack != &w->thread)
		build_sample_stack(&w->sample, WIRE_STACK_THREAD, &w->thread, WIRE_MAX_STACK_BYTES,
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
	for (u32 i = 0; i < MIN(nr, w->chain.nr_kernel); i++) {
		const struct frame *frame = &w->chain.frames[i];

		if (frame->ip != want[i].ip || frame->flags != want[i].flags)
			fail_msg("frame %u is %#llx flags %u", i, frame->ip, frame->flags);
	}
	assert_int_equal(w->chain.nr_kernel, nr);
	assert_string_equal(stop_reason_text(w->chain.kernel_stop), stop_reason_text(stop));
}

#define CHECK(w, stop, ...)                                                \
	do {                                                               \
		const struct want want_[] = { __VA_ARGS__ };               \
									   \
		check(w, stop, want_, ARRAY_SIZE(want_));                  \
	} while (0)

static void test_system_call(void **state)
{
	struct world w;

	(void)state;
	for (u64 bytes = META_BYTES; bytes <= PT_REGS_BYTES; bytes += 16) {
		u64 fp;

		world_init(&w);
		fp = push_user(&w.thread, bytes);
		fp = push_record(&w.thread, fp, RETURN(1));
		/* Signed, as a kernel with pointer authentication has it. */
		fp = push_record(&w.thread, fp, RETURN(2) & 0x0080ffffffffffff);
		sample(&w, &w.thread, FN(3), fp, RETURN(7));
		CHECK(&w, STOP_COMPLETE, { FN(3), INT }, { RETURN(2), RET }, { RETURN(1), RET });
		/* The user's registers are at the end. */
		assert_int_equal(w.chain.nr, 4);
		assert_int_equal(w.chain.frames[3].ip, USER_PC);
		assert_int_equal(w.chain.frames[3].kind, FRAME_USER);
		build_sample_deinit(&w.sample);
	}
}

static void test_kernel_thread(void **state)
{
	struct world w;
	u64 fp;

	(void)state;
	world_init(&w);
	fp = push_regs(&w.thread, PT_REGS_BYTES, 0, 0, 0, 0, 0);
	fp = push_record(&w.thread, fp, RETURN(1));
	sample(&w, &w.thread, FN(2), fp, 0);
	CHECK(&w, STOP_COMPLETE, { FN(2), INT }, { RETURN(1), RET });
	assert_int_equal(w.chain.nr, 2);
	build_sample_deinit(&w.sample);
}

/* A function without a record: it has none, or has not pointed x29 at it. */
static void test_no_record(void **state)
{
	struct world w;
	u64 fp;

	(void)state;
	world_init(&w);
	fp = push_user(&w.thread, PT_REGS_BYTES);
	fp = push_record(&w.thread, fp, RETURN(1));
	sample(&w, &w.thread, FN(3), fp, RETURN(2));
	w.row_error = 0;
	w.row = (struct cfi_row){ .kind = CFI_ROW_CALL };
	CHECK(&w, STOP_COMPLETE, { FN(3), INT }, { RETURN(2), RET }, { RETURN(1), RET });
	/* x30 is something else after all. */
	sample(&w, &w.thread, FN(3), fp, FN(2));
	CHECK(&w, STOP_COMPLETE, { FN(3), INT }, { RETURN(1), RET });
	/* Stored 16 bytes above SP. */
	build_stack_push(&w.thread, RETURN(4));
	build_stack_push(&w.thread, fp);
	build_stack_locals(&w.thread, 2);
	sample(&w, &w.thread, FN(3), fp, FN(2));
	w.row.cfa = (struct cfi_rule){ CFI_REG_OFFSET, ARM64_SP, 16 };
	w.row.ra = (struct cfi_rule){ CFI_AT_CFA, 0, 8 };
	CHECK(&w, STOP_COMPLETE, { FN(3), INT }, { RETURN(4), RET }, { RETURN(1), RET });
	build_sample_deinit(&w.sample);
}

/* An interrupt on the thread's stack, of a leaf; its handler runs on the interrupt stack. */
static void test_interrupt(void **state)
{
	struct world w;

	(void)state;
	for (u64 bytes = META_BYTES; bytes <= PT_REGS_BYTES; bytes += 16) {
		u64 fp, sp, record;

		world_init(&w);
		fp = push_user(&w.thread, bytes);
		fp = push_record(&w.thread, fp, RETURN(1));
		sp = w.thread.sp;
		record = push_regs(&w.thread, bytes, fp, RETURN(9), sp, FN(3) + 8, PSTATE_EL1);
		if (bytes == META_BYTES) {
			build_stack_poke(&w.thread, record + 16, ARM64_META_PT_REGS);
		} else {
			build_stack_poke(&w.thread, record, fp);
			build_stack_poke(&w.thread, record + 8, FN(3) + 8);
		}
		fp = push_record(&w.thread, record, RETURN(4));
		fp = push_record(&w.irq, fp, RETURN(5));
		sample(&w, &w.irq, FN(6), fp, 0);
		CHECK(&w, STOP_COMPLETE, { FN(6), INT }, { RETURN(5), RET }, { RETURN(4), RET },
		      { FN(3) + 8, INT }, { RETURN(1), RET });
		build_sample_deinit(&w.sample);
	}
}

static void test_entry(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	push_user(&w.thread, PT_REGS_BYTES);
	sample(&w, &w.thread, FN(0), 0xffffe010, 0xaaaa00001000);
	CHECK(&w, STOP_COMPLETE, { FN(0), INT });
	/* On the way out x29 is needed for something else. */
	sample(&w, &w.thread, FN(0), 0xffffb0de00c18000, 0xaaaa00001000);
	CHECK(&w, STOP_STACK_CUT, { FN(0), INT });
	w.sample.wire.regs.arm64.sp_el0 = USER_SP;
	CHECK(&w, STOP_COMPLETE, { FN(0), INT });
	build_sample_deinit(&w.sample);
}

static void test_bent(void **state)
{
	struct world w;
	u64 fp, low;

	(void)state;
	world_init(&w);
	fp = push_user(&w.thread, PT_REGS_BYTES);
	fp = push_record(&w.thread, fp, RETURN(1));
	/* A return address after no call, one that cannot be read, one in nobody's text. */
	sample(&w, &w.thread, FN(3), push_record(&w.thread, fp, FN(2)), 0);
	CHECK(&w, STOP_BAD_RETURN, { FN(3), INT });
	sample(&w, &w.thread, FN(3), push_record(&w.thread, fp, USER_PC), 0);
	CHECK(&w, STOP_BAD_RETURN, { FN(3), INT });
	w.call_error = -EFAULT;
	sample(&w, &w.thread, FN(3), fp, 0);
	CHECK(&w, STOP_COMPLETE, { FN(3), INT }, { RETURN(1), RET | FRAME_F_UNVERIFIED });
	sample(&w, &w.thread, FN(3), push_record(&w.thread, fp, 0xffff800000000040), 0);
	CHECK(&w, STOP_BAD_RETURN, { FN(3), INT });
	w.call_error = 0;
	/* Records that go down, and round. */
	low = push_record(&w.thread, 0, RETURN(1));
	fp = push_record(&w.thread, low, RETURN(2));
	build_stack_poke(&w.thread, low, fp);
	sample(&w, &w.thread, FN(3), fp, 0);
	CHECK(&w, STOP_BAD_POINTER, { FN(3), INT }, { RETURN(2), RET }, { RETURN(1), RET });
	/* Not aligned; above the stack. */
	sample(&w, &w.thread, FN(3), fp + 4, 0);
	CHECK(&w, STOP_BAD_POINTER, { FN(3), INT });
	sample(&w, &w.thread, FN(3), THREAD_TOP + 0x100, 0);
	CHECK(&w, STOP_BAD_POINTER, { FN(3), INT });
	build_sample_deinit(&w.sample);
}

/* Back to a stack that was left. */
static void test_stacks_in_a_ring(void **state)
{
	struct world w;
	u64 first, second, third;

	(void)state;
	world_init(&w);
	third = push_record(&w.irq, 0x1111, RETURN(3));
	second = push_record(&w.thread, third, RETURN(2));
	first = push_record(&w.irq, second, RETURN(1));
	sample(&w, &w.irq, FN(4), first, 0);
	CHECK(&w, STOP_BAD_POINTER, { FN(4), INT }, { RETURN(1), RET }, { RETURN(2), RET });
	build_sample_deinit(&w.sample);
}

/* Copies that end anywhere: never more than there is, and always a reason. */
static void test_truncated(void **state)
{
	struct world w;
	u64 fp;

	(void)state;
	world_init(&w);
	fp = push_user(&w.thread, PT_REGS_BYTES);
	fp = push_record(&w.thread, fp, RETURN(1));
	fp = push_record(&w.thread, fp, RETURN(2));
	for (u32 size = 0; size < THREAD_TOP - w.thread.sp; size += 8) {
		struct unwinder unwinder = { &ops, &w, 0 };
		struct sample view;

		sample(&w, &w.thread, FN(3), fp, 0);
		strbuf_deinit(&w.sample.stacks[0]);
		w.sample.stacks[0] = (struct strbuf)STRBUF_INIT;
		w.sample.wire.nr_stacks = 0;
		build_sample_stack(&w.sample, WIRE_STACK_AT_SP, &w.thread, size, STOP_NOT_PRESENT);
		assert_int_equal(build_sample_finish(&w.sample, &view), 0);
		unwind_sample(&unwinder, &view, &w.chain);
		assert_in_range(w.chain.nr_kernel, 1, 3);
		assert_int_not_equal(w.chain.kernel_stop, STOP_NONE);
		if (w.chain.nr_kernel < 3)
			assert_int_equal(w.chain.kernel_stop, STOP_NOT_PRESENT);
	}
	build_sample_deinit(&w.sample);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_system_call),
		cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_no_record),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_bent),
		cmocka_unit_test(test_stacks_in_a_ring),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
