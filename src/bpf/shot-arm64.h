/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What of a shot is arm64's own: where the current task, its stacks and the registers of its user
 * mode are, in a Linux guest. The names are those that the x86 parts of bpf/shot-task.h,
 * shot-stack.h and shot-user.h have.
 */
#ifndef BPF_SHOT_ARM64_H
#define BPF_SHOT_ARM64_H

#include "arch/arm64-kvm.h"
#include "bpf/shot-mem.h"

/*
 * With the kernel unmapped in user mode TTBR1 points to the trampoline's table, which lies this
 * many pages before the kernel's (TRAMP_SWAPPER_OFFSET, arch/arm64/kernel/entry.S and
 * vmlinux.lds.S, since 5.8).
 */
#define SHOT_TRAMP_PAGES 2

/* Takes the trampoline's table for what it is. A function of its own for the verifier's sake. */
SHOT_FN int shot_leave_trampoline(struct shot *shot)
{
	if (!shot)
		return 0;
	shot->space.root_high += (u64)SHOT_TRAMP_PAGES << (shot->space.half[1].page_shift & 63);
	shot_forget_walks(shot);
	return 0;
}

/* Reads a word of the per-CPU area into .value, in the kernel's tables. */
SHOT_INLINE int shot_read_percpu(struct shot *shot, u64 address)
{
	int stop = shot_read_u64(shot, address, SHOT_VIEW_KERNEL);

	if (stop != STOP_NOT_PRESENT)
		return stop;
	shot_leave_trampoline(shot);
	return shot_read_u64(shot, address, SHOT_VIEW_KERNEL);
}

/*
 * The current task's address into .value: it is in SP_EL0 while the kernel runs (since 4.10). In
 * user mode, and for some instructions at its border, that is the user's, and the kernel keeps the
 * task in its per-CPU __entry_task.
 */
SHOT_INLINE int shot_find_task(struct shot *shot, const struct wire_guest *guest)
{
	const struct arm64_system_regs *sys = &shot->wire.regs.arm64;
	int stop = 0;

	shot->percpu = sys->tpidr_el1;
	shot->value = shot->next_task;
	if (shot->value)
		return 0;
	if (!shot->wire.regs.user && sys->sp_el0 >= guest->kernel_start)
		shot->value = sys->sp_el0;
	else if (guest->current_task_offset)
		stop = shot_read_percpu(shot, sys->tpidr_el1 + guest->current_task_offset);
	else
		stop = STOP_UNSUPPORTED;
	if (!stop && (shot->value < guest->kernel_start || shot->value % 8))
		stop = STOP_BAD_POINTER;
	return stop;
}

enum shot_stack {
	SHOT_STACK_THREAD,
	SHOT_STACK_IRQ,
	SHOT_STACK_NONE,	/* none that we know */
};

struct shot_record_walk {
	struct shot *shot;
	u64 gva;		/* of the stack's copy */
	u64 size;		/* bytes of it */
	u64 offset;		/* in .data */
};

/* One frame record further up, in .next_sp; 0: there is none. */
static long shot_record_round(u32 i, void *arg)
{
	struct shot_record_walk *walk = arg;
	struct shot *shot = walk->shot;
	u64 inside = shot->next_sp - walk->gva, offset = walk->offset + inside, next;

	(void)i;
	if (inside >= walk->size)
		return 1;
	shot_opaque(offset);
	if (inside % 8 || offset > SHOT_DATA_BYTES - 8) {
		shot->next_sp = 0;
		return 1;
	}
	next = *(const u64 *)(shot->data + offset);
	/* Upwards, or to another stack. */
	shot->next_sp = next - walk->gva < walk->size && next <= shot->next_sp ? 0 : next;
	return !shot->next_sp;
}

#define SHOT_IRQ_RECORDS 64	/* frames on an interrupt's stack at most */

/*
 * An interrupt's stack is left by its frame records: the first one on the thread's stack is where
 * that goes on (call_on_irq_stack(), arch/arm64/kernel/entry.S). Leaves its address in .next_sp, of
 * the record's stack @i, which has been copied.
 */
SHOT_FN int shot_leave_stack(struct shot *shot, u32 i)
{
	struct shot_record_walk walk = { .shot = shot };
	const struct shot_vm *vm;

	if (!shot || i >= WIRE_MAX_STACKS || shot->wire.nr_stacks <= i)
		return 0;
	vm = shot_vm(shot);
	if (!vm || shot->wire.stacks[i].gva - shot->wire.task.stack < vm->guest.thread_size)
		return 0;
	walk.gva = shot->wire.stacks[i].gva;
	walk.size = shot->wire.stacks[i].size;
	walk.offset = shot->wire.stacks[i].offset - sizeof(shot->wire);
	shot->next_sp = shot->wire.regs.gpr[ARM64_FP];
	shot_loop(SHOT_IRQ_RECORDS, shot_record_round, &walk);
	if (shot->next_sp - shot->wire.task.stack >= vm->guest.thread_size)
		shot->next_sp = 0;
	return 0;
}

/*
 * Which stack @sp is on; sets .stack_end. Returns enum shot_stack. All stacks have the
 * size of a thread's and are aligned to twice that (THREAD_ALIGN with CONFIG_VMAP_STACK, since
 * 4.14): that is how the kernel itself sees that one is used up.
 */
SHOT_FN int shot_find_stack(struct shot *shot, u64 sp)
{
	const struct shot_vm *vm;

	if (!shot)
		return SHOT_STACK_NONE;
	shot->next_sp = 0;
	shot->stack_end = 0;
	vm = shot_vm(shot);
	if (!vm || !vm->guest.valid || sp < vm->guest.kernel_start ||
	    !(shot->wire.flags & WIRE_F_TASK))
		return SHOT_STACK_NONE;
	if (sp - shot->wire.task.stack < vm->guest.thread_size) {
		shot->stack_end = shot->wire.task.stack + vm->guest.thread_size;
		return SHOT_STACK_THREAD;
	}
	/* Just switched to, and nothing on it yet. */
	if ((sp & (2 * vm->guest.thread_size - 1ULL)) == vm->guest.thread_size &&
	    sp - shot->wire.task.stack != vm->guest.thread_size) {
		shot->stack_end = sp;
		return SHOT_STACK_IRQ;
	}
	if (sp & vm->guest.thread_size)
		return SHOT_STACK_NONE;
	shot->stack_end = (sp | (vm->guest.thread_size - 1ULL)) + 1;
	return SHOT_STACK_IRQ;
}

/*
 * cpu_switch_to() takes the next task's stack, one instruction before it makes it the current task
 * (arch/arm64/kernel/entry.S). That task is in x1 then. Puts it into .next_task and returns 1,
 * else 0.
 */
SHOT_FN int shot_find_next_task(struct shot *shot)
{
	const struct shot_vm *vm;
	u64 sp, task;

	if (!shot || shot->wire.regs.user || !(shot->wire.flags & WIRE_F_TASK))
		return 0;
	vm = shot_vm(shot);
	sp = shot->wire.regs.gpr[ARM64_SP];
	task = shot->wire.regs.gpr[1];
	if (!vm || sp - shot->wire.task.stack < vm->guest.thread_size ||
	    task < vm->guest.kernel_start || task % 8 ||
	    shot_read_u64(shot, task + vm->guest.task_stack_offset, SHOT_VIEW_KERNEL) ||
	    shot->value != (sp & ~(vm->guest.thread_size - 1ULL)))
		return 0;
	shot->next_task = task;
	return 1;
}

/* Of struct pt_regs, arch/arm64/include/asm/ptrace.h, what is behind x28: user ABI up to PSTATE. */
struct shot_pt_regs {
	u64 fp, lr, sp, pc, pstate;
	u64 orig_x0;
	s32 syscallno;		/* -1: no system call */
	u32 pad;
};

#define SHOT_PT_REGS_FP (29 * 8)

/* System calls, include/uapi/asm-generic/unistd.h. */
#define SHOT_NR_EXECVE 221
#define SHOT_NR_EXECVEAT 281

/* Bytes of a frame's words, by user mode's PSTATE: 32-bit programs keep no such frames. */
#define SHOT_USER_WORD(pstate) ((pstate) & REGS_PSTATE_32 ? 0 : 8)

SHOT_INLINE void shot_set_user(struct shot *shot, u64 pc, u64 sp, u64 fp, u8 word)
{
	shot->wire.user_pc = pc;
	shot->wire.user_sp = sp;
	shot->fp = fp;
	shot->word = word;
}

SHOT_INLINE int shot_set_user_pt_regs(struct shot *shot)
{
	const struct shot_pt_regs *regs = shot_bytes(shot);

	if (regs->pstate & 0xf)
		return STOP_BAD_POINTER;
	if (regs->syscallno == SHOT_NR_EXECVE || regs->syscallno == SHOT_NR_EXECVEAT)
		shot->flags |= SHOT_F_EXEC;
	shot_set_user(shot, regs->pc, regs->sp, regs->fp, SHOT_USER_WORD(regs->pstate));
	return 0;
}

/*
 * In the kernel: the pt_regs at the top of the thread's stack, but for the few instructions of the
 * entry and exit paths at which they are not there yet or no more.
 */
SHOT_INLINE int shot_find_user_regs(struct shot *shot, const struct shot_vm *vm)
{
	const struct arm64_system_regs *sys = &shot->wire.regs.arm64;
	u64 regs;
	int stop;

	if (sys->sp_el0 < vm->guest.kernel_start) {
		shot_set_user(shot, sys->elr_el1, sys->sp_el0, shot->wire.regs.gpr[ARM64_FP], 8);
		return 0;
	}
	if (!(shot->wire.flags & WIRE_F_TASK) || !vm->guest.pt_regs_size)
		return STOP_NOT_PRESENT;
	regs = shot->wire.task.stack + vm->guest.thread_size - vm->guest.pt_regs_top -
	       vm->guest.pt_regs_size;
	stop = shot_read(shot, regs + SHOT_PT_REGS_FP, sizeof(struct shot_pt_regs),
			 SHOT_VIEW_STACK);
	return stop ? stop : shot_set_user_pt_regs(shot);
}

/*
 * TTBR0 is the current task's only in user mode: while tasks are switched it is the next one's, and
 * without hardware's help against stray accesses (CONFIG_ARM64_SW_TTBR0_PAN) it maps nothing in the
 * kernel. The task's memory is found by way of its own tables.
 */
SHOT_FN int shot_use_task_root(struct shot *shot)
{
	const struct shot_vm *vm;
	const struct shot_view *view;
	u64 pgd, root;
	int stop;

	if (!shot)
		return STOP_UNSUPPORTED;
	vm = shot_vm(shot);
	if (!vm || !vm->guest.mm_pgd_offset || !(shot->wire.flags & WIRE_F_TASK))
		return 0;
	stop = shot_read_u64(shot, shot->wire.task.mm + vm->guest.mm_pgd_offset, SHOT_VIEW_KERNEL);
	if (stop)
		return stop;
	pgd = shot->value;
	stop = shot_translate(shot, pgd, SHOT_VIEW_KERNEL);
	if (stop)
		return stop;
	view = &shot->views[SHOT_VIEW_KERNEL];
	root = view->walk.gpa + (pgd - view->walk.gva);
	if (root == shot->space.root)
		return 0;
	shot->wire.user_root = root;
	shot_set_root(shot, root);
	return 0;
}

/* struct ucontext, arch/arm64/include/uapi/asm/ucontext.h: as the generic one, but longer. */
#define SHOT_UC_SP 54		/* uc_mcontext.sp: at 176 + 8 + 31 * 8 */
#define SHOT_UC_BYTES 440

/*
 * Above a thread's stack is its control block, which the thread pointer points at the end of: a
 * little more than the stack is no harm.
 */
SHOT_INLINE u64 shot_control_block(const struct shot *shot)
{
	return shot->wire.regs.arm64.tpidr_el0;
}

/* The upper bits of a signed return address are no part of it. */
SHOT_INLINE u64 shot_user_mask(const struct shot *shot)
{
	u8 bits = shot->space.half[0].bits;

	return bits && bits < 56 ? (1ULL << bits) - 1 : (1ULL << 56) - 1;
}

#endif
