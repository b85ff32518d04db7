/* SPDX-License-Identifier: GPL-2.0-only */
/* One record for each way through the step loop, with the make-believe kernel's tables. */
#include "build-kernel.h"
#include "build-sample.h"
#include "seeds.h"

#define THREAD_TOP 0xffffc90000014000ULL
#define OTHER_TOP 0xffffc90000204000ULL

struct seed {
	struct build_kernel kernel;
	struct build_sample sample;
	struct build_stack thread, other;
};

static int write_seed(const char *name, struct seed *seed)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	struct sample sample;
	int err;

	err = build_sample_finish(&seed->sample, &sample);
	if (err)
		return err;
	put_u8(&sb, seed->kernel.orc.format);
	put_u8(&sb, 0);
	put_u16(&sb, seed->kernel.orc.nr);
	strbuf_add(&sb, seed->kernel.orc.ip.data, seed->kernel.orc.ip.len);
	strbuf_add(&sb, seed->kernel.orc.entries.data, seed->kernel.orc.entries.len);
	strbuf_add(&sb, seed->sample.record.data, seed->sample.record.len);
	build_sample_deinit(&seed->sample);
	return strbuf_error(&sb) ? strbuf_error(&sb) : seed_write(name, sb.data, sb.len);
}

/* Both stacks, sampled on @at at the function's instruction. */
static void sample_at(struct seed *seed, const struct build_stack *at, enum build_kernel_fn fn)
{
	const struct build_stack *below = at == &seed->thread ? &seed->other : &seed->thread;
	struct build_sample *sample = &seed->sample;

	build_sample_init(sample, FN_PC(fn), at->sp);
	build_sample_stack(sample, WIRE_STACK_AT_SP, at, WIRE_MAX_STACK_BYTES, STOP_COMPLETE);
	build_sample_stack(sample, WIRE_STACK_THREAD, below, WIRE_MAX_STACK_BYTES, STOP_STACK_CUT);
	for (unsigned int reg = 0; reg < X86_RSP; reg++)
		sample->wire.regs.gpr[reg] = at->sp + 8 * reg;
	sample->wire.user_pc = 0x401234;
	sample->wire.user_sp = 0x7ffc1000;
	sample->wire.user_stop = STOP_COMPLETE;
	build_sample_frame(sample, 0x401050);
	build_sample_frame(sample, 0x402060);
}

/* An interrupt's stack over a thread's, which is in the kernel through a system call. */
static void fill_stacks(struct seed *seed)
{
	u64 gpr[16] = { [X86_RSP] = 0x7ffc1000 };

	build_stack_init(&seed->thread, THREAD_TOP);
	build_stack_init(&seed->other, OTHER_TOP);
	build_stack_regs(&seed->thread, 0x401234, gpr, true);
	build_stack_push(&seed->thread, FN_RETURN(FN_REGS));
	build_stack_push(&seed->thread, seed->thread.sp + 64);
	build_stack_locals(&seed->thread, 1);
	build_stack_push(&seed->thread, FN_RETURN(FN_LOCALS));
	gpr[X86_RSP] = seed->thread.sp;
	build_stack_regs(&seed->thread, FN_PC(FN_LEAF), gpr, false);
	build_stack_push(&seed->thread, FN_RETURN(FN_REGS));
	build_stack_locals(&seed->thread, 1);
	build_stack_push(&seed->other, seed->thread.sp);
	build_stack_push(&seed->other, FN_RETURN(FN_SWITCH));
}

/* Functions in user space whose rules fuzz-unwind.c makes of their address. */
#define USER_RETURN(kind, reg) (0x10080040ULL | (kind) << 8 | (reg) << 12)

/* On two pages. */
static int write_user(enum orc_format format, const char *name, u8 holes)
{
	static struct seed seed;
	static struct build_stack user;
	int err = build_kernel_init(&seed.kernel, format);

	build_stack_init(&user, 0x7ffc10000100);
	build_stack_push(&user, USER_RETURN(6, 0));
	for (unsigned int kind = 0; kind < 8; kind++) {
		build_stack_push(&user, user.sp + 32);
		build_stack_locals(&user, kind == 5 ? 20 : 1);
		build_stack_push(&user, USER_RETURN(kind % 6, kind & 1 ? X86_RSP : X86_RBP));
	}
	build_sample_init(&seed.sample, USER_RETURN(0, X86_RSP), user.sp);
	build_sample_stack(&seed.sample, WIRE_STACK_USER, &user, WIRE_MAX_STACK_BYTES,
			   STOP_NOT_PRESENT);
	for (unsigned int reg = 0; reg < X86_RSP; reg++)
		seed.sample.wire.regs.gpr[reg] = user.sp + 8 * reg;
	seed.sample.wire.flags = WIRE_F_USER;
	seed.sample.wire.regs.user = 1;
	build_sample_frame(&seed.sample, 0x401050);
	seed.sample.wire.stacks[0].holes = holes;
	if (!err)
		err = write_seed(name, &seed);
	build_kernel_deinit(&seed.kernel);
	return err;
}

/* In a handler with its own stack, whose frame leads to a stack below. */
static int write_signal(enum orc_format format)
{
	static struct seed seed;
	static struct build_stack alt, user;
	int err = build_kernel_init(&seed.kernel, format);

	build_stack_init(&user, 0x7ffc10000000);
	build_stack_push(&user, USER_RETURN(6, 0));
	build_stack_locals(&user, 1);
	build_stack_init(&alt, 0x7ffc20000000);
	build_stack_push(&alt, USER_RETURN(0, X86_RSP));	/* the 17th word of a sigcontext */
	build_stack_push(&alt, user.sp);
	build_stack_locals(&alt, 20);
	build_sample_init(&seed.sample, USER_RETURN(5, X86_RSP) | 40 << 16, alt.sp);
	build_sample_stack(&seed.sample, WIRE_STACK_USER, &alt, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	build_sample_stack(&seed.sample, WIRE_STACK_USER, &user, WIRE_MAX_STACK_BYTES,
			   STOP_NOT_PRESENT);
	seed.sample.wire.flags = WIRE_F_USER;
	seed.sample.wire.regs.user = 1;
	if (!err)
		err = write_seed("signal", &seed);
	build_kernel_deinit(&seed.kernel);
	return err;
}

/* arm64: records through an interrupted function's pt_regs to those of user mode. */
static int write_arm64(enum orc_format format)
{
	static struct seed seed;
	struct vcpu_regs *regs = &seed.sample.wire.regs;
	u64 fp, at;
	int err = build_kernel_init(&seed.kernel, format);

	build_stack_init(&seed.thread, THREAD_TOP);
	build_stack_init(&seed.other, OTHER_TOP);
	for (unsigned int i = 0; i < 0x150 / 8; i++)
		build_stack_push(&seed.thread, i == 0x150 / 8 - 33 ? 0x401234 : 0);
	fp = seed.thread.sp + 0x130;
	for (unsigned int i = 0; i < 0x150 / 8; i++)
		build_stack_push(&seed.thread, 0);
	at = seed.thread.sp;
	build_stack_poke(&seed.thread, at + 29 * 8, fp);
	build_stack_poke(&seed.thread, at + 31 * 8, at + 0x150);
	build_stack_poke(&seed.thread, at + 32 * 8, FN_PC(FN_LEAF));
	build_stack_poke(&seed.thread, at + 33 * 8, 5);
	build_stack_poke(&seed.thread, at + 0x130, fp);
	build_stack_poke(&seed.thread, at + 0x138, FN_PC(FN_LEAF));
	build_stack_push(&seed.thread, FN_RETURN(FN_LOCALS));
	fp = build_stack_push(&seed.thread, at + 0x130);
	sample_at(&seed, &seed.thread, FN_LEAF);
	memset(regs, 0, sizeof(*regs));
	regs->arch = VCPU_ARCH_ARM64;
	regs->bits = 64;
	regs->pc = FN_PC(FN_LEAF);
	regs->gpr[ARM64_FP] = fp;
	regs->gpr[ARM64_SP] = seed.thread.sp;
	regs->arm64.tcr = 16ULL << 16 | 16;
	regs->arm64.sctlr = 1;	/* paging is on */
	regs->arm64.sp_el0 = 0xffff000001234540;
	if (!err)
		err = write_seed("arm64", &seed);
	build_kernel_deinit(&seed.kernel);
	return err;
}

#define I386_HIGH 0xffffffff00000000ULL
#define I386_TOP 0xc2002000U		/* of a thread's stack */
#define I386_USER_CS 0x73
#define I386_RETURN(fn) ((u32)FN_RETURN(fn))

/* Two words of 4 bytes. */
static u64 pair(u32 low, u32 high)
{
	return (u64)high << 32 | low;
}

/* A pt_regs of i386, which has an odd number of words: whose first is the higher of a pair. */
static u64 push_regs_i386(struct build_stack *stack, u32 ip, u32 cs, u32 sp, u32 bp)
{
	build_stack_push(stack, pair(sp, 0x7b));
	build_stack_push(stack, pair(cs, 0x246));
	build_stack_push(stack, pair(0, ip));
	build_stack_locals(stack, 2);
	build_stack_push(stack, pair(bp, 0x11));
	build_stack_locals(stack, 2);
	return build_stack_push(stack, pair(0, 0x22)) + 4;
}

/* i386: an exception's registers over frames of a system call of a 32-bit program. */
static int write_i386(enum orc_format format, const char *name, bool by_row)
{
	static struct seed seed;
	static struct build_stack user;
	struct vcpu_regs *regs = &seed.sample.wire.regs;
	u64 bp, at;
	int err = build_kernel_init(&seed.kernel, format);

	build_stack_init(&seed.thread, I386_HIGH | I386_TOP);
	build_stack_init(&user, 0xbff00100);
	for (unsigned int i = 0; i < 30; i++)
		build_stack_push(&user, pair(user.sp, USER_RETURN(i % 7, X86_RSP)));
	build_stack_push(&seed.thread, 0);	/* padding */
	push_regs_i386(&seed.thread, USER_RETURN(0, X86_RSP), I386_USER_CS, user.sp,
		       0xbff00010);
	bp = build_stack_push(&seed.thread, pair(0xbff00010, I386_RETURN(FN_REGS)));
	build_stack_locals(&seed.thread, 8);
	bp = build_stack_push(&seed.thread, pair(bp, I386_RETURN(FN_LOCALS)));
	build_stack_locals(&seed.thread, 1);
	at = push_regs_i386(&seed.thread, (u32)FN_PC(FN_FRAME), 0x60, seed.thread.sp, bp);
	bp = build_stack_push(&seed.thread, pair(at & 0x7fffffff, I386_RETURN(FN_FRAME)));
	build_stack_push(&seed.thread, pair(I386_RETURN(FN_FRAME), 0));
	build_sample_init(&seed.sample, FN_PC(by_row ? FN_LEAF : FN_FRAME), seed.thread.sp);
	build_sample_stack(&seed.sample, WIRE_STACK_AT_SP, &seed.thread, WIRE_MAX_STACK_BYTES,
			   STOP_COMPLETE);
	build_sample_stack(&seed.sample, WIRE_STACK_USER, &user, WIRE_MAX_STACK_BYTES,
			   STOP_NOT_PRESENT);
	regs->bits = 32;
	regs->gpr[X86_RBP] = bp;
	seed.sample.wire.flags = WIRE_F_TASK;
	seed.sample.wire.task.stack = (I386_HIGH | I386_TOP) - 8192;
	if (!err)
		err = write_seed(name, &seed);
	build_kernel_deinit(&seed.kernel);
	return err;
}

static int write_format(enum orc_format format)
{
	static struct seed seed;
	char name[32] = "fn-0-0";
	int err;

	err = build_kernel_init(&seed.kernel, format);
	fill_stacks(&seed);
	for (unsigned int fn = 0; fn < FN_NR && !err; fn++) {
		name[3] = '0' + format;
		name[5] = 'a' + fn;
		sample_at(&seed, fn & 1 ? &seed.other : &seed.thread, fn);
		err = write_seed(name, &seed);
	}
	build_kernel_deinit(&seed.kernel);
	return err;
}

int write_seeds(void)
{
	int err = write_user(ORC_FORMAT_END, "user", 0);

	if (!err)
		err = write_user(ORC_FORMAT_END, "user-hole", 1 << 1);
	if (!err)
		err = write_signal(ORC_FORMAT_END);
	if (!err)
		err = write_arm64(ORC_FORMAT_END);
	if (!err)
		err = write_i386(ORC_FORMAT_END, "i386", false);
	if (!err)
		err = write_i386(ORC_FORMAT_END, "i386-row", true);
	for (unsigned int format = ORC_FORMAT_END; format <= ORC_FORMAT_TYPES && !err; format++)
		err = write_format(format);
	return err;
}
