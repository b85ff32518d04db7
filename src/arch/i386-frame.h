/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an x86 processor of 32 bits pushes at an interrupt, as i386 Linux has it on its stacks.
 * Compiled into BPF and user space.
 */
#ifndef ARCH_I386_FRAME_H
#define ARCH_I386_FRAME_H

#include "base/addr.h"

struct i386_frame {
	u32 ip, cs, flags;
	u32 sp, ss;	/* only where it came from user mode; SDM volume 3, 6.12.1 */
};

#define I386_KERNEL_CS 0x60		/* arch/x86/include/asm/segment.h */
#define I386_FLAGS_ONE 0x2		/* always set; SDM volume 1, 3.4.3 */
#define I386_FLAGS_ZERO 0xffc08028	/* never */

/*
 * The CPU entry area lies at the end of all addresses, sign-extended here. Interrupts from user
 * mode arrive on a stack of one page in it, at whose end this frame is (struct entry_stack, arch/
 * x86/include/asm/processor.h, and cpu_init_exception_handling(), arch/x86/kernel/cpu/common.c;
 * as Debian's kernels from 5.10 on have it).
 */
#define I386_ENTRY_AREA 0xffffffffff000000ULL
#define I386_ENTRY_STACK_BYTES 4096ULL

static inline int i386_frame_has_flags(const struct i386_frame *frame)
{
	return frame->flags & I386_FLAGS_ONE && !(frame->flags & I386_FLAGS_ZERO);
}

/* Segments of user mode, the LDT's too; the upper half of CS may have the kernel's own marks. */
static inline int i386_frame_is_user(const struct i386_frame *frame)
{
	return (frame->cs & 3) == 3 && (frame->ss & 3) == 3 && frame->ss < 0x10000 &&
	       i386_frame_has_flags(frame);
}

static inline int i386_frame_is_kernel(const struct i386_frame *frame)
{
	return frame->cs == I386_KERNEL_CS && i386_frame_has_flags(frame);
}

#endif
