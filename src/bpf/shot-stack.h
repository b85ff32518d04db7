/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel stacks of a sample taken in the guest's kernel: which stack the stack pointer is on,
 * which one was left for it, and the copy of each from the stack pointer to its end.
 */
#ifndef BPF_SHOT_STACK_H
#define BPF_SHOT_STACK_H

#include "arch/i386-frame.h"
#include "bpf/shot-task.h"

#define SHOT_KERNEL_STACKS 3	/* exception, interrupt, thread */

#ifndef SHOT_ARM64

enum shot_stack {
	SHOT_STACK_THREAD,
	SHOT_STACK_IRQ,
	SHOT_STACK_EXCEPTION,	/* of the CPU entry area: NMI, #DB, #DF, #MC, #VC */
	SHOT_STACK_ENTRY,	/* the same, entered from user mode */
	SHOT_STACK_NONE,	/* none that we know */
};

/* What the CPU pushes at the top of a stack that it switches to; SDM volume 3, 6.14.2. */
struct shot_hw_frame {
	u64 ip, cs, flags, sp, ss;
};

/*
 * The word at hardirq_stack_ptr is the stack's last, and holds the stack pointer that was left
 * (arch/x86/include/asm/irq_stack.h, since v5.12; kernel/irq_64.c, "actual TOS"). Before, it was
 * the stack's end, and the last word the same (asm_call_on_stack(), ENTER_IRQ_STACK).
 */
SHOT_INLINE int shot_find_irq_stack(struct shot *shot, const struct shot_vm *vm, u64 sp)
{
	if (!vm->guest.irq_stack_offset)
		return STOP_UNSUPPORTED;
	if (!shot->irq_top) {
		int stop = shot_read_pointer(shot, shot->percpu + vm->guest.irq_stack_offset,
					 SHOT_VIEW_KERNEL);

		if (stop)
			return stop;
		shot->irq_top = (shot->value + 8) & ~15ULL;
	}
	if (shot->irq_top - sp - 1 >= vm->guest.irq_stack_size)
		return STOP_BAD_POINTER;
	shot->stack_end = shot->irq_top;
	if (shot_read_pointer(shot, shot->irq_top - 8, SHOT_VIEW_STACK))
		return 0;
	shot->next_sp = shot->value;
	return 0;
}

/* Stacks of the entry area are one page, and the CPU's frame is at their top. */
SHOT_INLINE enum shot_stack shot_find_entry_stack(struct shot *shot, u64 kernel_start, u64 sp)
{
	const struct shot_hw_frame *frame;

	shot->stack_end = (sp | (SHOT_PAGE - 1)) + 1;
	if (shot_read(shot, shot->stack_end - sizeof(*frame), sizeof(*frame), SHOT_VIEW_STACK))
		return SHOT_STACK_NONE;
	frame = shot_bytes(shot);
	if ((frame->cs & 3) == 3 && frame->ip < kernel_start && frame->sp < kernel_start &&
	    (frame->ss & 3) == 3)
		return SHOT_STACK_ENTRY;
	if (frame->cs & 0xff07 || frame->ip < kernel_start || frame->sp < kernel_start ||
	    frame->sp % 8)
		return SHOT_STACK_NONE;
	shot->next_sp = frame->sp;
	return SHOT_STACK_EXCEPTION;
}

/*
 * i386: a thread's stack is found before; any other is an interrupt's, hard or soft, which begins
 * with the stack pointer that was left (arch/x86/kernel/irq_32.c, since v3.15), but for those of
 * the CPU entry area, at the end of all addresses, where only entry code runs.
 *
 * It is noted by a function that then calls the one that switches, call_on_stack(), whose frame is
 * below: this many bytes at most.
 */
#define SHOT_I386_SWITCH_BYTES 64

SHOT_INLINE enum shot_stack shot_find_stack_i386(struct shot *shot, const struct shot_vm *vm,
						 u64 sp)
{
	u64 start = sp & ~(vm->guest.thread_size - 1ULL);

	if (sp >= I386_ENTRY_AREA) {
		shot->stack_end = (sp | (SHOT_PAGE - 1)) + 1;
		return SHOT_STACK_NONE;
	}
	shot->stack_end = start + vm->guest.thread_size;
	if (shot_read_pointer(shot, start, SHOT_VIEW_STACK) ||
	    shot->value < vm->guest.kernel_start || shot->value % 4)
		return SHOT_STACK_NONE;
	shot->next_sp = shot->value - SHOT_I386_SWITCH_BYTES;
	return SHOT_STACK_IRQ;
}

/* Which stack @sp is on; sets .stack_end and .next_sp. Returns enum shot_stack. */
SHOT_FN int shot_find_stack(struct shot *shot, u64 sp)
{
	const struct shot_vm *vm;

	if (!shot)
		return SHOT_STACK_NONE;
	shot->next_sp = 0;
	shot->stack_end = 0;
	vm = shot_vm(shot);
	if (!vm || !vm->guest.valid || sp < vm->guest.kernel_start)
		return SHOT_STACK_NONE;
	if (shot->wire.flags & WIRE_F_TASK) {
		if (sp - shot->wire.task.stack < vm->guest.thread_size) {
			shot->stack_end = shot->wire.task.stack + vm->guest.thread_size;
			return SHOT_STACK_THREAD;
		}
		if (shot->kernel_word == 4)
			return shot_find_stack_i386(shot, vm, sp);
		if (!shot_find_irq_stack(shot, vm, sp))
			return SHOT_STACK_IRQ;
	}
	if (shot->kernel_word == 4)
		return SHOT_STACK_NONE;
	return shot_find_entry_stack(shot, vm->guest.kernel_start, sp);
}

/* The CPU entry area, with the exceptions' stacks: CPU_ENTRY_AREA_PGD, since v4.15. */
#define SHOT_ENTRY_AREA(address) ((address) >> 39 == (u64)-4 << 39 >> 39)

/*
 * __switch_to_asm() takes the next task's stack, __switch_to() makes that task the current one a
 * little later (arch/x86/kernel/process_64.c). In between the stack pointer is on a stack that is
 * not the current task's. The next task is in a register there: the one whose stack this is. Puts
 * it into .next_task and returns 1, else 0.
 */
SHOT_FN int shot_find_next_task(struct shot *shot)
{
	const struct shot_vm *vm;
	u64 sp, stack;

	if (!shot || shot->wire.regs.user || !(shot->wire.flags & WIRE_F_TASK))
		return 0;
	vm = shot_vm(shot);
	sp = shot->wire.regs.gpr[X86_RSP];
	if (!vm || sp < vm->guest.kernel_start || SHOT_ENTRY_AREA(sp) ||
	    sp - shot->wire.task.stack < vm->guest.thread_size ||
	    (shot->kernel_word == 8 && shot_find_stack(shot, sp) == SHOT_STACK_IRQ))
		return 0;
	/* THREAD_ALIGN, arch/x86/include/asm/page_64_types.h. */
	stack = sp & ~(vm->guest.thread_size - 1ULL);
	for (int i = 0; i <= X86_R15; i++) {
		u64 task = shot->wire.regs.gpr[i];

		if (shot->kernel_word == 4)
			task = shot_extend(task);
		if (task < vm->guest.kernel_start || task & (shot->kernel_word - 1) ||
		    shot_read_pointer(shot, task + vm->guest.task_stack_offset, SHOT_VIEW_KERNEL) ||
		    shot->value != stack)
			continue;
		shot->next_task = task;
		return 1;
	}
	return 0;
}

#endif

/*
 * Leaves out @size bytes of a user stack's page @page, which is not there: mostly the stack has
 * ended, but the frame that its function has just made may have pages that were never touched.
 */
SHOT_INLINE int shot_leave_gap(struct shot *shot, u32 page, u64 size)
{
	shot->gap += size;
	shot->gap_holes |= 1U << page;
	return 0;
}

/* The copy goes on above a gap: so that is a hole. What is in it must not be an older copy's. */
SHOT_INLINE int shot_close_gap(struct shot *shot)
{
	u64 used = shot->used, gap = shot->gap;

	shot_opaque(used);
	shot_opaque(gap);
	if (used > SHOT_DATA_BYTES - WIRE_MAX_STACK_BYTES || gap > WIRE_MAX_STACK_BYTES)
		return STOP_STACK_CUT;
	shot_clear(shot->data + used, gap);
	shot->used = used + gap;
	shot->holes |= shot->gap_holes;
	shot->gap = 0;
	shot->gap_holes = 0;
	return 0;
}

/* Appends @size bytes, that are in one page and one slot, from .hva on to the record. */
SHOT_INLINE int shot_append(struct shot *shot, u64 size)
{
	u64 used;

	if (shot->gap && shot_close_gap(shot))
		return STOP_STACK_CUT;
	used = shot->used;
	shot_opaque(size);
	shot_opaque(used);
	if (used > SHOT_DATA_BYTES - SHOT_PAGE || size > SHOT_PAGE)
		return STOP_STACK_CUT;
	if (shot_read_hva(shot, shot->data + used, size, shot->hva))
		return STOP_HOST_FAULT;
	shot->used = used + size;
	return 0;
}

/*
 * Appends up to @size bytes from @gva on, seen through the view of @kind, to the record. Returns
 * why it ended early, else 0. A user stack's pages that are not there are holes where more of it
 * follows; they count as bytes, so that no more pages are looked for than one without has.
 */
SHOT_FN int shot_copy(struct shot *shot, u64 gva, u32 size, u32 kind)
{
	u64 first = gva / SHOT_PAGE;

	if (!shot)
		return STOP_UNSUPPORTED;
	kind &= SHOT_NR_VIEWS - 1;
	shot->gap = 0;
	shot->gap_holes = 0;
	shot->holes = 0;
	/* Pages of a stack that starts anywhere in one. */
	for (int i = 0; i < WIRE_MAX_STACK_BYTES / SHOT_PAGE + 1 && size; i++) {
		int stop = shot_translate(shot, gva, kind);
		/* Up to the page's end, so that SHOT_PAGE steps suffice for large pages too. */
		u64 chunk = shot_min(size, SHOT_PAGE - gva % SHOT_PAGE);

		if (stop == STOP_NOT_PRESENT && kind == SHOT_VIEW_USER) {
			stop = shot_leave_gap(shot, gva / SHOT_PAGE - first, chunk);
		} else if (!stop) {
			chunk = shot_min(chunk, shot->room);
			stop = shot_append(shot, chunk);
		}
		if (stop)
			return shot->gap ? STOP_NOT_PRESENT : stop;
		gva += chunk;
		size -= chunk;
	}
	if (shot->gap)
		return STOP_NOT_PRESENT;
	return size ? STOP_STACK_CUT : 0;
}

SHOT_INLINE u8 shot_stack_kind(u32 i, enum shot_stack where)
{
	if (!i)
		return WIRE_STACK_AT_SP;
	if (where == SHOT_STACK_IRQ)
		return WIRE_STACK_IRQ;
	return where == SHOT_STACK_THREAD ? WIRE_STACK_THREAD : WIRE_STACK_AT_SP;
}

/* Copies the stack at @sp as the record's stack @i; .next_sp then says where it goes on. */
SHOT_FN int shot_take_stack(struct shot *shot, u64 sp, u32 i)
{
	struct wire_stack *stack;
	u32 start, where, stop;
	u64 size;

	if (!shot || i >= SHOT_KERNEL_STACKS)
		return 0;
	where = shot_find_stack(shot, sp);
	if (!shot->stack_end)
		return 0;
	size = shot_min(shot->stack_end - sp, WIRE_MAX_STACK_BYTES);
	start = shot->used;
	stop = shot_copy(shot, sp, size, SHOT_VIEW_STACK);
	if (!stop && (size < shot->stack_end - sp || where == SHOT_STACK_NONE))
		stop = STOP_STACK_CUT;
	stack = &shot->wire.stacks[i];
	stack->gva = sp;
	stack->offset = sizeof(shot->wire) + start;
	stack->size = shot->used - start;
	stack->kind = shot_stack_kind(i, where);
	stack->stop = stop ? stop : STOP_COMPLETE;
	shot->wire.nr_stacks = i + 1;
	return 0;
}

/* The stack at the stack pointer and those that were left for it. */
SHOT_INLINE void shot_take_stacks(struct shot *shot)
{
	u64 sp = shot->wire.regs.gpr[SHOT_SP];

	for (u32 i = 0; i < SHOT_KERNEL_STACKS && sp; i++) {
		shot_take_stack(shot, sp, i);
#ifdef SHOT_ARM64
		shot_leave_stack(shot, i);
#endif
		sp = shot->next_sp;
	}
}

#endif
