/* SPDX-License-Identifier: GPL-2.0-only */
/* From a sample to its chain: which parts it has, and where each ends. */
#include "unwind/unwind.h"

#include <string.h>

#include "arch/arm64-regs.h"
#include "arch/x86-regs.h"
#include "unwind/kernel-arm64.h"
#include "unwind/kernel-i386.h"
#include "unwind/kernel-x86.h"
#include "unwind/outside.h"
#include "unwind/user-arm64.h"
#include "unwind/user-x86.h"

static unsigned int max_frames(const struct unwinder *unwinder)
{
	unsigned int max = unwinder->max_depth;

	return max && max < CHAIN_MAX_FRAMES ? max : CHAIN_MAX_FRAMES;
}

static void add_frame(struct chain *chain, u64 ip, enum frame_kind kind, u8 flags)
{
	chain->frames[chain->nr++] = (struct frame){ .ip = ip, .kind = kind, .flags = flags };
}

/* Capture walked nothing then: why not. */
static enum stop_reason not_walked(const struct wire_sample *wire)
{
	enum stop_reason stop = outside_stop(wire);

	if (stop == STOP_NONE && wire->flags & WIRE_F_SLOTS_STALE)
		stop = STOP_SLOTS_STALE;
	return stop;
}

/*
 * Without the kernel's layout capture takes registers only; with it, it tries at least to find the
 * task, and says how that went.
 */
static bool kernel_unknown(const struct unwinder *unwinder, const struct wire_sample *wire)
{
	if (!unwinder->ops->find_row)
		return true;
	return !wire->nr_stacks && !(wire->flags & (WIRE_F_TASK | WIRE_F_TASK_FAULT));
}

static enum stop_reason add_kernel_part(const struct unwinder *unwinder,
					const struct sample *sample, struct chain *chain,
					struct kernel_end *end)
{
	const struct wire_sample *wire = sample->wire;
	/* Capture walked nothing then. */
	enum stop_reason stop = wire->flags & WIRE_F_SLOTS_STALE ? STOP_SLOTS_STALE : STOP_NONE;

	if (stop == STOP_NONE && kernel_unknown(unwinder, wire))
		stop = STOP_NO_KERNEL;
	if (stop == STOP_NONE && outside_is_low(wire))
		stop = STOP_FIRMWARE;
	if (stop == STOP_NONE && wire->regs.arch == VCPU_ARCH_ARM64 && wire->regs.bits == 64)
		return unwind_kernel_arm64(unwinder, sample, max_frames(unwinder), chain, end);
	if (stop == STOP_NONE && wire->regs.arch == VCPU_ARCH_X86_64 && wire->regs.bits == 32)
		return unwind_kernel_i386(unwinder, sample, max_frames(unwinder), chain, end);
	if (stop == STOP_NONE && wire->regs.arch == VCPU_ARCH_X86_64 && wire->regs.bits == 64)
		return unwind_kernel_x86(unwinder, sample, max_frames(unwinder), chain, end);
	if (stop == STOP_NONE)
		stop = STOP_UNSUPPORTED;
	add_frame(chain, wire->regs.pc, FRAME_KERNEL, FRAME_F_INTERRUPTED);
	return stop;
}

/* A return address that capture walked to is as it was on the stack, signed perhaps. */
static u64 walked_ip(const struct wire_sample *wire, u64 ip)
{
	return wire->regs.arch == VCPU_ARCH_ARM64 ? arm64_strip(ip, wire->regs.arm64.tcr) : ip;
}

/* x86: where the user's code segment begins, if it is none at 0; return addresses are offsets. */
static u32 user_code_base(const struct wire_sample *wire)
{
	return wire->regs.arch == VCPU_ARCH_X86_64 ? wire->regs.x86.cs_base : 0;
}

static int check_call(const struct unwinder *unwinder, u64 ip)
{
	const struct unwind_ops *ops = unwinder->ops;

	return ops->check_call ? ops->check_call(unwinder->ctx, GVA(ip), true) : 0;
}

/*
 * What check_call() says of *@ip, which is made linear. Callers that are seen to be in another
 * segment than *@base's, and those above them, are in the one at 0.
 */
static int check_walked(const struct unwinder *unwinder, u64 *ip, u32 *base)
{
	u64 linear = *base ? (u32)(*ip + *base) : *ip;
	int err = check_call(unwinder, linear);

	if (*base && err && check_call(unwinder, *ip) == 0) {
		*base = 0;
		return 0;
	}
	*ip = linear;
	return err;
}

/* Those that capture walked, from number @first on. */
static enum stop_reason add_user_frames(const struct unwinder *unwinder,
					const struct sample *sample, u32 first,
					struct chain *chain)
{
	const struct wire_sample *wire = sample->wire;
	u32 base = user_code_base(wire);

	for (unsigned int i = first; i < wire->nr_user_frames; i++) {
		u64 ip = walked_ip(wire, sample->user_frames[i]);
		u8 flags = FRAME_F_RETURN;
		int err;

		if (chain->nr == max_frames(unwinder))
			return STOP_DEPTH;
		err = check_walked(unwinder, &ip, &base);
		if (err == -EBADMSG || (ip >> 63 && !(wire->flags & WIRE_F_FLAT)))
			return STOP_BAD_RETURN;
		if (err)
			flags |= FRAME_F_UNVERIFIED;
		add_frame(chain, ip, FRAME_USER, flags);
	}
	return wire->user_stop < STOP_NR ? wire->user_stop : STOP_NONE;
}

/* Where user mode was left, as well as it is known. */
struct user_start {
	u64 pc;
	bool walked;		/* capture walked from there */
	bool by_rule;		/* .regs holds: rules can be applied */
	struct user_regs regs;
};

/*
 * What capture walked by frame pointers. In the place of a chain by rule, which there is not for
 * the reason @why, it has to show a frame that holds.
 */
static enum stop_reason add_walked_frames(const struct unwinder *unwinder,
					  const struct sample *sample,
					  const struct user_start *start, enum stop_reason why,
					  struct chain *chain)
{
	u32 nr = chain->nr;
	enum stop_reason stop;

	if (!start->walked)
		return why;
	stop = add_user_frames(unwinder, sample, 0, chain);
	return start->by_rule && chain->nr == nr ? why : stop;
}

#define SPLICE_FRAMES 3

/*
 * The number of capture's frame that follows @chain's last, @nr_below of which are not user frames;
 * 0: none does. Of a program with frame pointers both walks have the same frames, but for one that
 * capture misses while a function has not set up its own. It went on where the copy ended.
 */
static u32 find_splice(const struct sample *sample, const struct chain *chain, u32 nr_below)
{
	u32 nr = chain->nr - nr_below - 1;

	for (u32 missed = 0; missed <= 1; missed++) {
		u32 matched = 0, next = nr - missed;

		if (nr < SPLICE_FRAMES + missed || next > sample->wire->nr_user_frames)
			continue;
		while (matched < SPLICE_FRAMES &&
		       walked_ip(sample->wire, sample->user_frames[next - 1 - matched]) ==
			       chain->frames[chain->nr - 1 - matched].ip)
			matched++;
		if (matched == SPLICE_FRAMES)
			return next;
	}
	return 0;
}

/*
 * What capture walked above the copy's end, from its frame @first on. A caller without a frame
 * pointer leads nowhere, where its rule would have led on, had the copy been longer.
 */
static enum stop_reason add_frames_above(const struct unwinder *unwinder,
					 const struct sample *sample, u32 first,
					 struct chain *chain)
{
	enum stop_reason stop = add_user_frames(unwinder, sample, first, chain);

	return stop == STOP_BAD_POINTER || stop == STOP_BAD_RETURN ? STOP_STACK_CUT : stop;
}

/* Whether a chain that @stop ended at its very first address ended for want of a rule there. */
static bool lacks_first_rule(enum stop_reason stop)
{
	return stop == STOP_NO_RULE || stop == STOP_RULE_UNKNOWN || stop == STOP_NOT_LOADED;
}

/*
 * Without a rule, or a frame pointer that leads on, at the very first address the chain is what
 * capture walked; and what lies above the copy of the stack may be. A rule that is still being read
 * is there, and most code that has one keeps no frame pointer: the reason stays, however far the
 * walk came. Samples wait for such rules (recording_add()); this is for those that no more can.
 */
static enum stop_reason add_user_chain(const struct unwinder *unwinder,
				       const struct sample *sample,
				       const struct user_start *start, struct chain *chain)
{
	enum stop_reason stop = STOP_NO_RULE, walked;
	u32 nr = chain->nr, splice = 0;

	if (start->by_rule) {
		stop = sample->wire->regs.arch == VCPU_ARCH_ARM64 ?
			       unwind_user_arm64(unwinder, sample, &start->regs,
						 max_frames(unwinder), chain) :
			       unwind_user_x86(unwinder, sample, &start->regs,
					       max_frames(unwinder), chain);
		if (stop == STOP_STACK_CUT && start->walked)
			splice = find_splice(sample, chain, nr);
		if (splice)
			return add_frames_above(unwinder, sample, splice, chain);
		if (!lacks_first_rule(stop) || chain->nr != nr + 1)
			return stop;
		chain->nr = nr;
	}
	add_frame(chain, start->pc, FRAME_USER, FRAME_F_INTERRUPTED);
	walked = add_walked_frames(unwinder, sample, start, stop, chain);
	return stop == STOP_NOT_LOADED ? stop : walked;
}

static void add_user_part(const struct unwinder *unwinder, const struct sample *sample,
			  struct user_start *start, struct chain *chain)
{
	enum stop_reason stop = not_walked(sample->wire);

	if (chain->nr == max_frames(unwinder)) {
		chain->user_stop = STOP_DEPTH;
		return;
	}
	if (stop != STOP_NONE) {
		add_frame(chain, start->pc, FRAME_USER, FRAME_F_INTERRUPTED);
		chain->user_stop = stop;
		return;
	}
	if (!unwinder->ops->find_user_row || !user_x86_has_stack(sample))
		start->by_rule = false;
	chain->user_stop = add_user_chain(unwinder, sample, start, chain);
}

static u32 all_gprs(u8 arch)
{
	return arch == VCPU_ARCH_ARM64 ? UINT32_MAX : USER_ALL_GPRS;
}

/* Sampled in user mode: all registers are the vCPU's. */
static void add_user_part_only(const struct unwinder *unwinder, const struct sample *sample,
			       struct chain *chain)
{
	const struct vcpu_regs *regs = &sample->wire->regs;
	struct user_start start = {
		.pc = regs->pc,
		.walked = true,
		.by_rule = regs->bits == 64 ||
			   (regs->arch == VCPU_ARCH_X86_64 && regs->bits == 32),
		.regs = {
			.pc = regs->pc,
			.known = all_gprs(regs->arch),
			.is_32 = regs->bits == 32,
		},
	};

	memcpy(start.regs.gpr, regs->gpr, sizeof(start.regs.gpr));
	add_user_part(unwinder, sample, &start, chain);
}

/* entry_SYSCALL_64 and its way out, which is the same function; it starts at MSR_LSTAR. */
static bool in_syscall_entry(const struct wire_sample *wire)
{
	return wire->regs.arch == VCPU_ARCH_X86_64 && wire->regs.pc - wire->regs.x86.lstar < 0x1000;
}

/* On arm64 the processor keeps it for entry code that has not stored it yet. */
static bool has_exception_pc(const struct wire_sample *wire)
{
	return wire->regs.arch == VCPU_ARCH_ARM64 && wire->regs.arm64.elr_el1 &&
	       !(wire->regs.arm64.elr_el1 >> 55);
}

/* The stack pointer among the general registers. */
static unsigned int sp_number(const struct wire_sample *wire)
{
	return wire->regs.arch == VCPU_ARCH_ARM64 ? ARM64_SP : X86_RSP;
}

/*
 * Where user mode was left, for a sample in the kernel; 0: nowhere or not known. Capture takes it
 * from the pt_regs at the end of the task's stack and walks from there, without waiting for the
 * kernel's frames. While entry code has not stored them, these are the ones of the entry before.
 * Then the processor's frame on another stack says better, or RCX, where SYSCALL keeps it.
 */
static u64 find_user_pc(const struct wire_sample *wire, const struct kernel_end *end,
			bool *ret_stale)
{
	u64 pc = wire->user_pc;

	if (end->user_regs)
		pc = end->user.pc;
	else if (pc && end->at_entry && in_syscall_entry(wire))
		pc = wire->regs.gpr[X86_RCX];
	else if (pc && end->at_entry && has_exception_pc(wire))
		pc = wire->regs.arm64.elr_el1;
	*ret_stale = pc != wire->user_pc ||
		     (end->user_regs && wire->user_sp != end->user.gpr[sp_number(wire)]);
	return pc;
}

/*
 * Whether the address space is not that of the user pc: in execve() the new program's memory comes
 * before its registers (begin_new_exec() and start_thread()), and the stack and the code that the
 * old ones point at are not there. Tasks that exit have no memory at all, but pt_regs still.
 */
static bool user_space_gone(const struct wire_sample *wire)
{
	return wire->flags & (WIRE_F_KTHREAD | WIRE_F_USER_GONE);
}

#define ARM64_VECTORS 0x800	/* bytes from VBAR on */

/* The user's, all of them but SP among the vCPU's general registers. */
static void take_live_arm64(const struct wire_sample *wire, u64 pc, u64 sp, struct user_regs *regs)
{
	memcpy(regs->gpr, wire->regs.gpr, sizeof(regs->gpr));
	regs->gpr[ARM64_SP] = sp;
	regs->pc = pc;
	regs->known = UINT32_MAX;
	regs->is_32 = false;
}

/*
 * In a vector, whose code has changed no more than x30 so far, and that is in TPIDRRO_EL0 then,
 * which otherwise is 0 (tramp_ventry and kernel_ventry, arch/arm64/kernel/entry.S, with the kernel
 * unmapped in user mode).
 */
static bool find_vector_regs_arm64(const struct wire_sample *wire, u64 pc, struct user_regs *regs)
{
	const struct arm64_system_regs *sys = &wire->regs.arm64;

	if (wire->regs.pc - sys->vbar >= ARM64_VECTORS || wire->user_sp != sys->sp_el0)
		return false;
	take_live_arm64(wire, pc, wire->user_sp, regs);
	if (sys->tpidrro_el0)
		regs->gpr[ARM64_LR] = sys->tpidrro_el0;
	return true;
}

/*
 * Behind it: x0 to x29 are stored and cleared, and next are x30 and the user's SP, which x21 has
 * (kernel_entry).
 */
static bool find_entry_regs_arm64(const struct sample *sample, u64 pc, struct user_regs *regs)
{
	const struct wire_sample *wire = sample->wire;
	u64 sp = wire->regs.gpr[21];

	if (sp >> 55 || !sp || sp % 16)
		return false;
	take_live_arm64(wire, pc, sp, regs);
	return !sample_read_stack(sample, GVA(wire->regs.gpr[ARM64_SP]), regs->gpr,
				  ARM64_LR * sizeof(u64));
}

/* The way out has what it reloads on the kernel's stack. */
static bool find_user_regs_arm64(const struct sample *sample, const struct kernel_end *end, u64 pc,
				 struct user_regs *regs)
{
	bool entry = end->at_entry && pc == sample->wire->regs.arm64.elr_el1;

	return (entry && find_vector_regs_arm64(sample->wire, pc, regs)) ||
	       (pc == sample->wire->user_pc && user_arm64_find_pt_regs(sample, regs)) ||
	       (entry && find_entry_regs_arm64(sample, pc, regs));
}

/*
 * The user's registers under a kernel part: from the frame that it ended at; while SYSCALL's first
 * instructions still run on the user's stack, the vCPU's, but for the two that it uses; else from
 * the pt_regs that capture took @pc from, if they were copied; in entry code, if not, those of the
 * vCPU's that it leaves alone. False: not to be had.
 */
static bool find_user_regs(const struct sample *sample, const struct kernel_end *end, u64 pc,
			   struct user_regs *regs)
{
	const struct wire_sample *wire = sample->wire;

	if (end->user_regs) {
		*regs = end->user;
		return wire->regs.arch == VCPU_ARCH_X86_64 || !regs->is_32;
	}
	if (wire->regs.arch == VCPU_ARCH_ARM64)
		return find_user_regs_arm64(sample, end, pc, regs);
	if (pc != wire->user_pc)
		return false;
	if (wire->regs.gpr[X86_RSP] == wire->user_sp) {
		memcpy(regs->gpr, wire->regs.gpr, sizeof(regs->gpr));
		regs->pc = pc;
		regs->known = USER_ALL_GPRS & ~(1U << X86_RCX | 1U << X86_R11);
		regs->is_32 = wire->flags & WIRE_F_USER_32;
		return true;
	}
	if (user_x86_find_pt_regs(sample, regs))
		return true;
	if (!end->at_entry || wire->regs.gpr[X86_RSP] - wire->task.stack < WIRE_MAX_STACK_BYTES)
		return false;
	/* All but the few that entry code uses are still there, or again. */
	memcpy(regs->gpr, wire->regs.gpr, sizeof(regs->gpr));
	regs->gpr[X86_RSP] = wire->user_sp;
	regs->pc = pc;
	regs->is_32 = wire->flags & WIRE_F_USER_32;
	regs->known = regs->is_32 ? USER_KEPT_GPRS_32 : USER_KEPT_GPRS;
	return true;
}

static void add_user_part_below(const struct unwinder *unwinder, const struct sample *sample,
				const struct kernel_end *end, struct chain *chain)
{
	struct user_start start = { 0 };
	bool stale;

	start.pc = find_user_pc(sample->wire, end, &stale);
	if (user_space_gone(sample->wire))
		return;
	if (!start.pc) {
		/* Entry code has come from user mode, whose registers capture could not read. */
		if (end->at_entry && sample->wire->user_stop < STOP_NR)
			chain->user_stop = sample->wire->user_stop;
		return;
	}
	start.walked = !stale;
	start.by_rule = find_user_regs(sample, end, start.pc, &start.regs);
	add_user_part(unwinder, sample, &start, chain);
}

/*
 * A guest whose kernel is not known, in a mode that is not user mode: its rules, where its owner
 * gave us any, and frame pointers. To a reader it is all kernel.
 */
static enum stop_reason add_flat_part(const struct unwinder *unwinder, const struct sample *sample,
				      struct chain *chain)
{
	enum stop_reason stop;

	add_user_part_only(unwinder, sample, chain);
	for (u32 i = 0; i < chain->nr; i++)
		chain->frames[i].kind = FRAME_KERNEL;
	stop = chain->user_stop;
	chain->user_stop = STOP_NONE;
	return stop != STOP_COMPLETE && chain->nr == 1 ? STOP_NO_KERNEL : stop;
}

void unwind_sample(const struct unwinder *unwinder, const struct sample *sample,
		   struct chain *ret_chain)
{
	const struct wire_sample *wire = sample->wire;
	enum stop_reason outside = wire->flags & WIRE_F_USER ? STOP_NONE : outside_stop(wire);
	struct kernel_end end = { 0 };
	struct chain *chain = ret_chain;

	chain->nr = chain->nr_kernel = 0;
	chain->kernel_stop = chain->user_stop = STOP_NONE;
	if (wire->flags & WIRE_F_USER) {
		add_user_part_only(unwinder, sample, chain);
	} else if (outside != STOP_NONE) {
		/* What the task's registers say that capture found is not below it. */
		chain->kernel_stop = outside;
		add_frame(chain, wire->regs.pc, FRAME_KERNEL, FRAME_F_INTERRUPTED);
		chain->nr_kernel = chain->nr;
	} else if (wire->flags & WIRE_F_FLAT) {
		chain->kernel_stop = add_flat_part(unwinder, sample, chain);
		chain->nr_kernel = chain->nr;
	} else {
		chain->kernel_stop = add_kernel_part(unwinder, sample, chain, &end);
		chain->nr_kernel = chain->nr;
		add_user_part_below(unwinder, sample, &end, chain);
	}
	chain->changed = wire->flags & WIRE_F_CHANGED || chain->kernel_stop == STOP_CHANGED ||
			 chain->user_stop == STOP_CHANGED;
}
