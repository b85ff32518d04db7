/* SPDX-License-Identifier: GPL-2.0-only */
/* Chains put together: user parts, where they start, and what was not walked at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-kernel.h"
#include "build-sample.h"

#define THREAD_TOP 0xffffc90000014000ULL
#define ENTRY_TOP 0xfffffe0000002000ULL
#define USER_PC 0x401234
#define USER_SP 0x7ffc1000

struct world {
	struct build_kernel kernel;
	struct build_sample sample;
	struct unwind_ops ops;
	struct unwinder unwinder;
	struct chain chain;
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(build_kernel_init(&w->kernel, ORC_FORMAT_END), 0);
	w->ops = build_kernel_ops;
	w->unwinder.ops = &w->ops;
	w->unwinder.ctx = &w->kernel;
}

static void world_deinit(struct world *w)
{
	build_sample_deinit(&w->sample);
	build_kernel_deinit(&w->kernel);
}

static void unwind(struct world *w)
{
	struct sample sample;

	assert_int_equal(build_sample_finish(&w->sample, &sample), 0);
	memset(&w->chain, 0xee, sizeof(w->chain));
	unwind_sample(&w->unwinder, &sample, &w->chain);
}

static void assert_frame(const struct world *w, u32 i, u64 ip, enum frame_kind kind, u8 flags)
{
	assert_true(i < w->chain.nr);
	assert_int_equal(w->chain.frames[i].ip, ip);
	assert_int_equal(w->chain.frames[i].kind, kind);
	assert_int_equal(w->chain.frames[i].flags, flags);
}

/* A sample in user mode with three callers. */
static void user_sample(struct world *w)
{
	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, USER_PC, USER_SP);
	w->sample.wire.flags = WIRE_F_USER;
	w->sample.wire.regs.user = 1;
	w->sample.wire.user_pc = USER_PC;
	w->sample.wire.user_sp = USER_SP;
	w->sample.wire.user_stop = STOP_COMPLETE;
	for (u64 i = 1; i <= 3; i++)
		build_sample_frame(&w->sample, 0x401050 + i * 0x1000);
}

static void test_user(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	user_sample(&w);
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(w.chain.nr_kernel, 0);
	assert_int_equal(w.chain.kernel_stop, STOP_NONE);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	assert_false(w.chain.changed);
	assert_frame(&w, 0, USER_PC, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_frame(&w, 3, 0x404050, FRAME_USER, FRAME_F_RETURN);
	/* It is capture that knows why its walk ended. */
	for (unsigned int stop = STOP_NONE; stop < STOP_NR; stop++) {
		w.sample.wire.user_stop = stop;
		unwind(&w);
		assert_int_equal(w.chain.user_stop, stop);
		assert_int_equal(w.chain.changed, stop == STOP_CHANGED);
	}
	w.sample.wire.user_stop = STOP_NR;
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_NONE);
	/* User frames need no kernel. */
	w.ops.find_row = NULL;
	w.sample.wire.user_stop = STOP_COMPLETE;
	unwind(&w);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	world_deinit(&w);
}

/* A guest of whose kernel nothing is known, in kernel mode: capture's frames, as a kernel's. */
static void test_flat(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	user_sample(&w);
	w.sample.wire.flags = WIRE_F_FLAT;
	w.sample.wire.regs.user = 0;
	build_sample_frame(&w.sample, 0xffffffff81402060);
	w.ops.check_call = NULL;
	w.ops.find_row = NULL;
	unwind(&w);
	assert_int_equal(w.chain.nr, 5);
	assert_int_equal(w.chain.nr_kernel, 5);
	assert_int_equal(w.chain.kernel_stop, STOP_COMPLETE);
	assert_int_equal(w.chain.user_stop, STOP_NONE);
	assert_frame(&w, 0, USER_PC, FRAME_KERNEL, FRAME_F_INTERRUPTED);
	assert_frame(&w, 3, 0x404050, FRAME_KERNEL, FRAME_F_RETURN);
	assert_frame(&w, 4, 0xffffffff81402060, FRAME_KERNEL, FRAME_F_RETURN);
	/* The address alone is no chain. */
	build_sample_deinit(&w.sample);
	build_sample_init(&w.sample, USER_PC, USER_SP);
	w.sample.wire.flags = WIRE_F_FLAT;
	w.sample.wire.user_stop = STOP_BAD_POINTER;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(w.chain.nr_kernel, 1);
	assert_int_equal(w.chain.kernel_stop, STOP_NO_KERNEL);
	world_deinit(&w);
}

static void test_user_returns(void **state)
{
	static const u64 bad[] = { 0x402070, 0, 0xffffffff81000050 };
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		user_sample(&w);
		build_sample_frame(&w.sample, bad[i]);
		build_sample_frame(&w.sample, 0x401050);
		unwind(&w);
		assert_int_equal(w.chain.nr, 4);
		assert_int_equal(w.chain.user_stop, STOP_BAD_RETURN);
	}
	user_sample(&w);
	build_sample_frame(&w.sample, 0x402060);
	build_sample_frame(&w.sample, 0x401050);
	unwind(&w);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	assert_frame(&w, 4, 0x402060, FRAME_USER, FRAME_F_RETURN | FRAME_F_UNVERIFIED);
	assert_frame(&w, 5, 0x401050, FRAME_USER, FRAME_F_RETURN);
	/* Nobody to ask. */
	w.ops.check_call = NULL;
	user_sample(&w);
	build_sample_frame(&w.sample, 0x402070);
	unwind(&w);
	assert_frame(&w, 4, 0x402070, FRAME_USER, FRAME_F_RETURN);
	world_deinit(&w);
}

static void test_user_depth(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	user_sample(&w);
	w.unwinder.max_depth = 4;
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	w.unwinder.max_depth = 3;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_int_equal(w.chain.user_stop, STOP_DEPTH);
	world_deinit(&w);
}

/* A system call: in one kernel function, over the pt_regs of user mode. */
static void kernel_sample(struct world *w)
{
	u64 gpr[16] = { [X86_RSP] = USER_SP };
	struct build_stack stack;

	build_stack_init(&stack, THREAD_TOP);
	build_stack_regs(&stack, USER_PC, gpr, true);
	build_stack_push(&stack, FN_RETURN(FN_REGS));
	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, FN_PC(FN_LEAF), stack.sp);
	build_sample_stack(&w->sample, WIRE_STACK_AT_SP, &stack, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	w->sample.wire.user_pc = USER_PC;
	w->sample.wire.user_sp = USER_SP;
	w->sample.wire.user_stop = STOP_COMPLETE;
	build_sample_frame(&w->sample, 0x401050);
}

static void test_both_parts(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(w.chain.nr_kernel, 2);
	assert_frame(&w, 2, USER_PC, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_frame(&w, 3, 0x401050, FRAME_USER, FRAME_F_RETURN);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	/* The user part does not wait for the kernel's, whose own reason comes first. */
	w.sample.wire.stacks[0].size = 16;
	w.sample.wire.stacks[0].stop = STOP_HOST_FAULT;
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(w.chain.user_stop, STOP_COMPLETE);
	assert_int_equal(chain_stop(&w.chain), STOP_HOST_FAULT);
	world_deinit(&w);
}

static void test_both_parts_depth(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.unwinder.max_depth = 3;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_int_equal(w.chain.kernel_stop, STOP_COMPLETE);
	assert_int_equal(w.chain.user_stop, STOP_DEPTH);
	w.unwinder.max_depth = 2;
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	assert_int_equal(w.chain.user_stop, STOP_DEPTH);
	w.unwinder.max_depth = 1;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(w.chain.kernel_stop, STOP_DEPTH);
	world_deinit(&w);
}

/* Capture could not read the pt_regs, the chain came across them. */
static void test_user_pc_from_chain(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.sample.wire.user_pc = 0;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_frame(&w, 2, USER_PC, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_int_equal(w.chain.kernel_stop, STOP_COMPLETE);
	assert_int_equal(w.chain.user_stop, STOP_NO_RULE);
	/* The task has no user space any more. */
	w.sample.wire.flags |= WIRE_F_TASK | WIRE_F_KTHREAD;
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	assert_int_equal(w.chain.user_stop, STOP_NONE);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	world_deinit(&w);
}

/* In execve(): new memory, old registers. */
static void test_user_space_replaced(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.sample.wire.nr_stacks = 0;
	w.sample.wire.flags = WIRE_F_TASK | WIRE_F_USER_GONE;
	w.sample.wire.user_pc = USER_PC;
	w.sample.wire.user_stop = STOP_NOT_PRESENT;
	w.sample.wire.nr_user_frames = 0;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(w.chain.user_stop, STOP_NONE);
	/* Only the stack is not there. */
	w.sample.wire.flags = WIRE_F_TASK;
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	assert_int_equal(w.chain.user_stop, STOP_NOT_PRESENT);
	world_deinit(&w);
}

/* Entry code on its own stack: pt_regs are those of the entry before, and so are the frames. */
static void test_stale_regs(void **state)
{
	struct build_stack entry;
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	build_stack_init(&entry, ENTRY_TOP);
	build_stack_iret(&entry, 0x405678, USER_SP, true);
	w.sample.wire.regs.pc = FN_PC(FN_IRET);
	w.sample.wire.regs.gpr[X86_RSP] = entry.sp;
	build_sample_stack(&w.sample, WIRE_STACK_AT_SP, &entry, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	assert_frame(&w, 1, 0x405678, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_int_equal(w.chain.kernel_stop, STOP_COMPLETE);
	assert_int_equal(w.chain.user_stop, STOP_NO_RULE);
	/* The same instruction, another depth: a recursion's frames would be wrong as well. */
	w.sample.wire.user_pc = 0x405678;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	w.sample.wire.user_sp += 64;
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	assert_int_equal(w.chain.user_stop, STOP_NO_RULE);
	world_deinit(&w);
}

/* The first instructions of SYSCALL have the user's address in RCX only. */
static void test_syscall_entry(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.sample.wire.regs.pc = FN_PC(FN_END);
	w.sample.wire.regs.gpr[X86_RSP] = THREAD_TOP;
	w.sample.wire.regs.x86.lstar = BUILD_KERNEL_TEXT;
	w.sample.wire.regs.gpr[X86_RCX] = 0x405678;
	unwind(&w);
	assert_int_equal(w.chain.nr, 2);
	assert_frame(&w, 1, 0x405678, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_int_equal(w.chain.user_stop, STOP_NO_RULE);
	/* The way out: they agree, and capture's frames hold. */
	w.sample.wire.regs.gpr[X86_RCX] = USER_PC;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	/* Another way in or out, where RCX means nothing. */
	w.sample.wire.regs.gpr[X86_RCX] = 1;
	w.sample.wire.regs.x86.lstar = BUILD_KERNEL_TEXT + 0x10000;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_frame(&w, 1, USER_PC, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	/* Capture could not read where user mode was left. */
	w.sample.wire.user_pc = 0;
	w.sample.wire.user_stop = STOP_HOST_FAULT;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(chain_stop(&w.chain), STOP_HOST_FAULT);
	/* A kernel thread has no user part to be wrong about. */
	w.sample.wire.user_stop = STOP_NONE;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	world_deinit(&w);
}

#define RULE_RETURN 0x403050

/* The CFA of USER_PC's function is in R12; RULE_RETURN's is the outermost. */
static int find_user_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	static const struct cfi_row by_r12 = {
		.kind = CFI_ROW_CALL,
		.cfa = { CFI_REG_OFFSET, X86_R12, 0 },
		.ra = { CFI_AT_CFA, 0, -8 },
	};
	static const struct cfi_row outermost = { .kind = CFI_ROW_END };

	(void)ctx;
	if (pc.addr != USER_PC && pc.addr != RULE_RETURN - 1)
		return -ENOENT;
	*ret_row = pc.addr == USER_PC ? by_r12 : outermost;
	return 0;
}

/* A system call of a program that has no frame pointers, or an interrupt if @iret only. */
static u64 rule_sample(struct world *w, bool iret)
{
	u64 gpr[16] = { [X86_RSP] = USER_SP, [X86_R12] = USER_SP + 16 }, regs;
	struct build_stack stack, user;

	build_stack_init(&user, USER_SP + 16);
	build_stack_push(&user, RULE_RETURN);
	build_stack_locals(&user, 1);
	build_stack_init(&stack, THREAD_TOP);
	if (iret)
		build_stack_iret(&stack, USER_PC, USER_SP, true);
	else
		build_stack_regs(&stack, USER_PC, gpr, true);
	regs = stack.sp;
	if (!iret)
		build_stack_push(&stack, FN_RETURN(FN_REGS));
	build_sample_deinit(&w->sample);
	build_sample_init(&w->sample, iret ? FN_PC(FN_IRET) : FN_PC(FN_LEAF), stack.sp);
	build_sample_stack(&w->sample, WIRE_STACK_AT_SP, &stack, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	build_sample_stack(&w->sample, WIRE_STACK_USER, &user, WIRE_MAX_STACK_BYTES,
			   STOP_NOT_PRESENT);
	w->sample.wire.user_pc = USER_PC;
	w->sample.wire.user_sp = USER_SP;
	w->sample.wire.user_stop = STOP_COMPLETE;
	build_sample_frame(&w->sample, 0x401050);
	return regs;
}

/* Rules win over what capture walked, with the registers that the kernel part has found. */
static void test_user_by_rule(void **state)
{
	struct world w;
	u64 cs, regs;

	(void)state;
	world_init(&w);
	w.ops.find_user_row = find_user_row;
	regs = rule_sample(&w, false);
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(w.chain.nr_kernel, 2);
	assert_frame(&w, 2, USER_PC, FRAME_USER, FRAME_F_INTERRUPTED);
	assert_frame(&w, 3, RULE_RETURN, FRAME_USER, FRAME_F_RETURN);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	/* Capture may have been misled by older registers. */
	w.sample.wire.user_pc += 8;
	unwind(&w);
	assert_frame(&w, 3, RULE_RETURN, FRAME_USER, FRAME_F_RETURN);
	/* A 32-bit program's frames are by rule, too. */
	w.sample.wire.user_pc = USER_PC;
	cs = regs + X86_PT_CS * sizeof(u64) - w.sample.wire.stacks[0].gva;
	w.sample.stacks[0].data[cs] = X86_USER32_CS;
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_frame(&w, 3, RULE_RETURN, FRAME_USER, FRAME_F_RETURN);
	/* An interrupt's first instructions: all other registers are still the user's. */
	rule_sample(&w, true);
	w.sample.wire.regs.gpr[X86_R12] = USER_SP + 16;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_frame(&w, 2, RULE_RETURN, FRAME_USER, FRAME_F_RETURN);
	/* Between two stacks, with none stored: those that functions keep are still the user's. */
	w.sample.wire.regs.pc = FN_PC(FN_END);
	w.sample.wire.regs.gpr[X86_RSP] = 0xffffffffffff0000;
	unwind(&w);
	assert_int_equal(w.chain.nr, 3);
	assert_frame(&w, 2, RULE_RETURN, FRAME_USER, FRAME_F_RETURN);
	w.sample.wire.flags |= WIRE_F_USER_32;	/* where R12 is none of them */
	unwind(&w);
	assert_int_not_equal(w.chain.user_stop, STOP_NONE);
	assert_true(w.chain.nr < 3 || w.chain.frames[2].ip != RULE_RETURN);
	w.sample.wire.flags &= ~WIRE_F_USER_32;
	w.sample.wire.regs.pc = FN_PC(FN_IRET);
	/* No copy of the stack. */
	w.sample.wire.stacks[1].kind = WIRE_STACK_THREAD;
	unwind(&w);
	assert_frame(&w, 2, 0x401050, FRAME_USER, FRAME_F_RETURN);
	world_deinit(&w);
}

/* One frame and the reason, whatever else the record holds. */
static void assert_not_walked(struct world *w, enum stop_reason reason)
{
	unwind(w);
	assert_true(w->chain.nr >= 1);
	assert_int_equal(w->chain.nr_kernel, 1);
	assert_frame(w, 0, w->sample.wire.regs.pc, FRAME_KERNEL, FRAME_F_INTERRUPTED);
	assert_int_equal(w->chain.kernel_stop, reason);
}

static void test_not_walked(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.sample.wire.flags = WIRE_F_NESTED;
	assert_not_walked(&w, STOP_NESTED);
	assert_int_equal(w.chain.nr, 1);
	w.sample.wire.flags = WIRE_F_SMM;
	assert_not_walked(&w, STOP_SMM);
	assert_int_equal(w.chain.nr, 1);
	w.sample.wire.flags = WIRE_F_SLOTS_STALE;
	assert_not_walked(&w, STOP_SLOTS_STALE);
	w.sample.wire.flags = 0;
	w.sample.wire.regs.bits = 16;
	assert_not_walked(&w, STOP_UNSUPPORTED);
	w.sample.wire.regs.bits = 64;
	w.sample.wire.regs.arch = VCPU_ARCH_NONE;
	assert_not_walked(&w, STOP_UNSUPPORTED);
	w.sample.wire.regs.arch = VCPU_ARCH_X86_64;
	w.sample.wire.nr_stacks = 0;
	assert_not_walked(&w, STOP_NO_KERNEL);
	w.sample.wire.flags = WIRE_F_TASK_FAULT;
	assert_not_walked(&w, STOP_STACK_CUT);
	w.sample.wire.nr_stacks = 1;
	w.ops.find_row = NULL;
	assert_not_walked(&w, STOP_NO_KERNEL);

	user_sample(&w);
	w.sample.wire.flags |= WIRE_F_SLOTS_STALE;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(w.chain.user_stop, STOP_SLOTS_STALE);
	w.sample.wire.flags |= WIRE_F_NESTED;
	unwind(&w);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(w.chain.user_stop, STOP_NESTED);
	world_deinit(&w);
}

/* Before the guest's kernel runs, and beside it. */
static void test_firmware(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.sample.wire.regs.x86.cr0 = 0x10;
	assert_not_walked(&w, STOP_REAL_MODE);
	/* The user registers that capture found have nothing to do with it. */
	assert_int_equal(w.chain.nr, 1);
	w.sample.wire.regs.x86.cr0 = 0x11;
	assert_not_walked(&w, STOP_FIRMWARE);
	/* A known kernel does not run in the lower half. */
	w.sample.wire.regs.x86.cr0 = 0x80050033;
	w.sample.wire.regs.pc = 0x9a000;
	assert_not_walked(&w, STOP_FIRMWARE);
	w.sample.wire.regs.bits = 32;
	assert_not_walked(&w, STOP_FIRMWARE);
	/* Frame pointers lead nowhere from firmware, even if they seem to. */
	user_sample(&w);
	w.sample.wire.flags = WIRE_F_FLAT;
	w.sample.wire.regs.user = 0;
	w.sample.wire.regs.pc = 0xfe05b;
	assert_not_walked(&w, STOP_FIRMWARE);
	assert_int_equal(w.chain.nr, 1);
	assert_int_equal(w.chain.user_stop, STOP_NONE);
	world_deinit(&w);
}

static void test_changed(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	unwind(&w);
	assert_false(w.chain.changed);
	w.sample.wire.flags = WIRE_F_CHANGED;
	unwind(&w);
	assert_true(w.chain.changed);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	world_deinit(&w);
}

/* Without the optional callbacks every kernel address is text and every return address good. */
static void test_no_callbacks(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	kernel_sample(&w);
	w.ops.check_call = NULL;
	w.ops.is_kernel_text = NULL;
	unwind(&w);
	assert_int_equal(w.chain.nr, 4);
	assert_int_equal(chain_stop(&w.chain), STOP_COMPLETE);
	world_deinit(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_user_returns),
		cmocka_unit_test(test_user_depth),
		cmocka_unit_test(test_both_parts),
		cmocka_unit_test(test_both_parts_depth),
		cmocka_unit_test(test_user_pc_from_chain),
		cmocka_unit_test(test_user_space_replaced),
		cmocka_unit_test(test_stale_regs),
		cmocka_unit_test(test_syscall_entry),
		cmocka_unit_test(test_user_by_rule),
		cmocka_unit_test(test_not_walked),
		cmocka_unit_test(test_firmware),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_no_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
