/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which guest task runs: per-CPU base, current task, and what of the task goes into the record.
 */
#ifndef BPF_SHOT_TASK_H
#define BPF_SHOT_TASK_H

#include "bpf/shot-mem.h"

#ifdef SHOT_ARM64
#include "bpf/shot-arm64.h"
#else

/*
 * With page-table isolation user mode runs on tables that lack most of the kernel: the second page
 * of an 8 KiB pair (PTI_USER_PGTABLE_BIT, arch/x86/entry/calling.h, since v4.15).
 */
#define SHOT_PTI_USER_ROOT 0x1000ULL

/*
 * The per-CPU base is in GS in the kernel and in the other base in user mode. For the few
 * instructions around SWAPGS it is the other way round, told by the half of the address. Where
 * the other base is not to be had, the base seen in an earlier sample of this vCPU is.
 */
SHOT_INLINE u64 shot_percpu(struct shot *shot, u64 kernel_start)
{
	const struct x86_system_regs *sys = &shot->wire.regs.x86;
	u64 likely_base = shot->wire.regs.user ? sys->kernel_gs_base : sys->gs_base;
	u64 other_base = shot->wire.regs.user ? 0 : sys->kernel_gs_base;

	if (likely_base >= kernel_start)
		shot->percpu = likely_base;
	else if (other_base >= kernel_start)
		shot->percpu = other_base;
	return shot->percpu;
}

/* Reads the current task's address into .value, in the kernel's tables. */
SHOT_INLINE int shot_current(struct shot *shot, u64 address)
{
	int stop = shot_read_pointer(shot, address, SHOT_VIEW_KERNEL);

	if (stop != STOP_NOT_PRESENT || !(shot->space.root & SHOT_PTI_USER_ROOT))
		return stop;
	shot_set_root(shot, shot->space.root & ~SHOT_PTI_USER_ROOT);
	stop = shot_read_pointer(shot, address, SHOT_VIEW_KERNEL);
	if (stop)
		shot_set_root(shot, shot->space.root | SHOT_PTI_USER_ROOT);
	return stop;
}

/* A descriptor of the GDT: the bytes of its base are apart. */
#define SHOT_GDT_PERCPU 27		/* GDT_ENTRY_PERCPU, arch/x86/include/asm/segment.h, i386 */
#define SHOT_GDT_BASE_LOW(d) ((d) >> 16 & 0xffffff)
#define SHOT_GDT_BASE_HIGH(d) ((d) >> 56)

/*
 * i386: the base of the segment that FS selects in the kernel, of the CPU's own GDT. By itself, and
 * before the task is looked for: the stacks of what calls each other add up.
 */
SHOT_FN int shot_find_percpu(struct shot *shot)
{
	const struct shot_vm *vm;
	u64 place, entry;

	if (!shot)
		return 0;
	vm = shot_vm(shot);
	if (!vm || vm->guest.word != 4)
		return 0;
	shot->kernel_word = 4;
	place = shot->wire.regs.x86.gdt_base + SHOT_GDT_PERCPU * 8;
	if (shot->percpu || shot_read(shot, shot_extend(place), 8, SHOT_VIEW_KERNEL))
		return 0;
	entry = *(const u64 *)shot_bytes(shot);
	shot->percpu = SHOT_GDT_BASE_LOW(entry) | SHOT_GDT_BASE_HIGH(entry) << 24;
	return 0;
}

/* The task's address into .value: the current one's, unless another is on the CPU already. */
SHOT_INLINE int shot_find_task(struct shot *shot, const struct wire_guest *guest)
{
	u64 percpu;
	int stop;

	if (shot->next_task) {
		shot->value = shot->next_task;
		return 0;
	}
	percpu = shot->kernel_word == 8 ? shot_percpu(shot, guest->kernel_start) : shot->percpu;
	if (!percpu)
		return STOP_BAD_POINTER;
	percpu += guest->current_task_offset;
	stop = shot_current(shot, shot->kernel_word == 8 ? percpu : shot_extend(percpu));
	if (!stop && (shot->value < guest->kernel_start || shot->value & (shot->kernel_word - 1)))
		stop = STOP_BAD_POINTER;
	return stop;
}

#endif

/* Reads 4 bytes of the task into *@ret. */
SHOT_INLINE int shot_read_id(struct shot *shot, u64 gva, s32 *ret)
{
	int stop = shot_read(shot, gva, sizeof(*ret), SHOT_VIEW_KERNEL);

	if (!stop)
		*ret = *(const s32 *)shot_bytes(shot);
	return stop;
}

/*
 * The task's alternate signal stack: sas_ss_sp and behind it sas_ss_size (include/linux/sched.h,
 * since 2.5). They are near comm, so that mostly no read is needed. Without them none is known; nor
 * is one with SS_AUTODISARM, for while a handler is on it the task has none.
 */
SHOT_INLINE void shot_read_alt_stack(struct shot *shot, const struct wire_guest *guest,
				     u64 address)
{
	const u64 *words;

	shot->alt_size = 0;
	if (!guest->task_alt_stack_offset ||
	    shot_read(shot, address + guest->task_alt_stack_offset, 16, SHOT_VIEW_KERNEL))
		return;
	words = shot_bytes(shot);
	shot->alt_stack = words[0];
	shot->alt_size = words[1];
}

/* In the order that the members have in struct task_struct, so that reading ahead pays. */
SHOT_INLINE int shot_read_task(struct shot *shot, const struct wire_guest *guest, u64 address)
{
	struct wire_task *task = &shot->wire.task;
	int stop = shot_read_pointer(shot, address + guest->task_stack_offset, SHOT_VIEW_KERNEL);

	if (stop)
		return stop;
	task->task = address;
	task->stack = shot->value;
	stop = shot_read_pointer(shot, address + guest->task_mm_offset, SHOT_VIEW_KERNEL);
	if (stop)
		return stop;
	task->mm = shot->value;
	stop = shot_read_id(shot, address + guest->task_pid_offset, &task->tid);
	if (!stop)
		stop = shot_read_id(shot, address + guest->task_tgid_offset, &task->pid);
	if (!stop)
		stop = shot_read(shot, address + guest->task_comm_offset, WIRE_COMM_LEN,
				 SHOT_VIEW_KERNEL);
	if (stop)
		return stop;
	__builtin_memcpy(task->comm, shot_bytes(shot), WIRE_COMM_LEN);
	if (shot->user_stack)
		shot_read_alt_stack(shot, guest, address);
	return 0;
}

/* Fills .wire.task and sets WIRE_F_TASK, WIRE_F_KTHREAD or WIRE_F_TASK_FAULT. */
SHOT_FN int shot_take_task(struct shot *shot)
{
	const struct shot_vm *vm;
	int stop;

	if (!shot)
		return STOP_UNSUPPORTED;
	vm = shot_vm(shot);
	if (!vm || !vm->guest.valid)
		return STOP_NO_KERNEL;
	shot->wire.flags &= ~(u32)(WIRE_F_TASK | WIRE_F_KTHREAD);
	stop = shot_find_task(shot, &vm->guest);
	if (!stop)
		stop = shot_read_task(shot, &vm->guest, shot->value);
	if (stop) {
		shot->wire.flags |= WIRE_F_TASK_FAULT;
		return stop;
	}
	shot->wire.flags |= WIRE_F_TASK;
	if (!shot->wire.task.mm)
		shot->wire.flags |= WIRE_F_KTHREAD;
	return 0;
}

#endif
