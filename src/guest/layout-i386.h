/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few places that the current task takes, of an i386 kernel that carries neither types nor
 * symbols of data, as Debian's. They are found by what is in them:
 *
 *  - the current task's address is what the kernel's code loads most by FS that is a task there; FS
 *    selects the GDT's per-CPU segment;
 *  - a task's stack ends in a mark (STACK_END_MAGIC, include/uapi/linux/magic.h);
 *  - the first task is called "swapper", is in the kernel's own data, and heads a list: of process
 *    1, of process 2, which is always "kthreadd", and of all others. What is 0, 1 and 2 in these
 *    three, twice in a row, is pid and tgid; what kthreadd has not and 1 has twice in a row is
 *    mm and active_mm;
 *  - in process 1's mm there is the address of its page table, whose upper half is the one in use.
 *
 * The order in which these members come is relied on to a degree: "swapper" is behind all of them.
 */
#ifndef GUEST_LAYOUT_I386_H
#define GUEST_LAYOUT_I386_H

#include "guest/image.h"
#include "guest/layout.h"
#include "model/regs.h"

/* THREAD_SIZE, arch/x86/include/asm/page_32_types.h. */
#define LAYOUT_I386_THREAD_SIZE 8192

/* What was found. Offsets in struct task_struct, the last one in struct mm_struct. */
struct layout_i386 {
	u64 current_task;	/* address; the per-CPU segment's base is added to it */
	u32 task_stack, task_flags, task_mm, task_pid, task_tgid, task_comm;
	u32 mm_pgd;		/* LAYOUT_NONE: not found */
};

/*
 * Looks for them. @image has been read; @regs are those of a vCPU of that guest. The data is in the
 * 32 MiB behind the image. -ENOENT when something is not found, which at another moment may be
 * otherwise: before process 2 is there nothing is.
 */
int layout_i386_find(const struct image *image, const struct mmu_space *space,
		     const struct mem_reader *mem, const struct vcpu_regs *regs,
		     struct layout_i386 *ret);

#endif
