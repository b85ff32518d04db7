/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest stopped at one moment, for taking shots of: page tables, per-CPU area, a task with its
 * kernel stack, an interrupt, an exception and an entry stack, and a user stack with a chain of
 * frames. The first BUILD_SHOT_PAGES pages of guest memory hold all of it.
 */
#ifndef BUILD_BUILD_SHOT_H
#define BUILD_BUILD_SHOT_H

#include "bpf/shot.h"
#include "build-pagetable.h"
#include "capture/user-shot.h"

#define BUILD_SHOT_PAGES 80
#define BUILD_SHOT_HVA 0x7f0000000000ULL	/* where the VMM has guest memory */

#define BUILD_SHOT_DIRECT 0xffff888000000000ULL	/* the kernel's map of all memory */
#define BUILD_SHOT_PERCPU (BUILD_SHOT_DIRECT + 0x1000)
#define BUILD_SHOT_TASK (BUILD_SHOT_DIRECT + 0x2f40)	/* its comm crosses a page */
#define BUILD_SHOT_MM (BUILD_SHOT_DIRECT + 0xf040)	/* the task's struct mm_struct */
#define BUILD_SHOT_THREAD 0xffffc90000000000ULL	/* lowest addresses of the stacks */
#define BUILD_SHOT_IRQ 0xffffc90000010000ULL
#define BUILD_SHOT_NMI 0xfffffe0000002000ULL
#define BUILD_SHOT_ENTRY 0xfffffe0000004000ULL
#define BUILD_SHOT_USER 0x7ffc00000000ULL
#define BUILD_SHOT_USER_BYTES 0x4000
#define BUILD_SHOT_USER_GPA 0x10000	/* of its first page; the others are below, falling */
#define BUILD_SHOT_STACK_BYTES 0x4000	/* thread and interrupt */
#define BUILD_SHOT_ALT 0x7f0000000800ULL	/* the alternate signal stack, above other things */
#define BUILD_SHOT_ALT_BYTES 0x2000
#define BUILD_SHOT_ALT_MAPPED 0x4000	/* around it */
#define BUILD_SHOT_ALT_GPA 0x18000
#define BUILD_SHOT_RESTORER 0x401800ULL

#define BUILD_SHOT_FRAMES 20
#define BUILD_SHOT_FRAME_BYTES 0x2f8	/* one user frame to the next; 5 to 6 a page */
#define BUILD_SHOT_FIRST_FRAME (BUILD_SHOT_USER + 0x40)
#define BUILD_SHOT_USER_PC 0x401234ULL
#define BUILD_SHOT_KERNEL_PC 0xffffffff81234567ULL

struct build_shot {
	struct mem_fake *mem;
	struct build_pagetable pt;
	struct shot_vm vm;
	struct shot_env env;
	struct vcpu_regs regs;	/* in user mode, innermost frame */
	u32 user_stack;		/* bytes to be copied at most; 0: none */
	u64 fault_hva;		/* the page at this address is not on the host; 0: all are */
	u64 failing_read;	/* the read of this number, from 1, fails; 0: none does */
	u64 reads;		/* so far */
	/* Called before each read with its number from 0; may be NULL. */
	void (*before_read)(struct build_shot *build, u64 nr);
};

int build_shot_init(struct build_shot *build, u8 mode);
void build_shot_deinit(struct build_shot *build);

/* The return address of user frame @i. */
static inline u64 build_shot_return(unsigned int i)
{
	return 0x400100 + 0x100 * (u64)i;
}

/* Where user frame @i is. */
static inline u64 build_shot_frame(unsigned int i)
{
	return BUILD_SHOT_FIRST_FRAME + i * (u64)BUILD_SHOT_FRAME_BYTES;
}

/* Writes 8 bytes at a virtual address of the guest, across pages too. */
int build_shot_set(struct build_shot *build, u64 gva, u64 value);

/* Puts the vCPU into the kernel with stack pointer @sp. */
void build_shot_enter_kernel(struct build_shot *build, u64 sp);

/* Loads tables of another address space, as the guest does before it switches tasks. */
int build_shot_switch_mm(struct build_shot *build);

/* Gives the task an alternate signal stack, and other memory around it. */
int build_shot_alt_stack(struct build_shot *build);

/* Writes the frame of a signal that came at @sp, its return address at @frame. */
int build_shot_signal(struct build_shot *build, u64 frame, u64 sp);

/* Writes what the CPU pushes at the top of the stack that ends at @top. */
int build_shot_hw_frame(struct build_shot *build, u64 top, u64 cs, u64 ip, u64 sp);

/* Takes the shot. */
void build_shot_take(struct build_shot *build, struct shot *shot);

#endif
