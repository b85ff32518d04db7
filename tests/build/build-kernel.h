/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A make-believe kernel for the step loop: functions 0x100 bytes apart, one for each form that a
 * rule can have, and the callbacks that describe it.
 */
#ifndef BUILD_BUILD_KERNEL_H
#define BUILD_BUILD_KERNEL_H

#include "build-orc.h"
#include "unwind/unwind.h"

#define BUILD_KERNEL_TEXT 0xffffffff81000000ULL
#define BUILD_KERNEL_JIT 0xffffffffc0000000ULL	/* code that no table covers */

/* The functions, by their rule. Offsets are from the stack pointer unless said otherwise. */
enum build_kernel_fn {
	FN_END,			/* outermost */
	FN_LEAF,		/* nothing pushed: caller's at +8 */
	FN_LOCALS,		/* RBP and one word pushed: +24, RBP saved at CFA - 16 */
	FN_FRAME,		/* keeps a frame pointer */
	FN_REGS,		/* entry code: pt_regs at +0 */
	FN_REGS_TRAP,		/* the same, but the address there is after a trap */
	FN_IRET,		/* entry code: only the processor's frame, at +0 */
	FN_NMI,			/* the same, over two copies of it and more: +0xb0 */
	FN_NMI_USER,		/* the same, 8 above RDX */
	FN_SWITCH,		/* on another stack, whose top word links to its own: *RSP + 16 */
	FN_DRAP,		/* realigned its stack: *(RBP - 8), RBP at RBP + 0 */
	FN_R10,			/* the same, earlier: R10 */
	FN_R13,			/* and with another register */
	FN_DOWN,		/* as only a liar has it: -64 */
	FN_UNDEFINED,		/* said to have no rule */
	FN_ENTRY,		/* as FN_IRET, and as FN_REGS behind its call */
	FN_BAD,			/* malformed entry */
	FN_NR,
};

/* An instruction of @fn, and the address that its call returns to. */
#define FN_PC(fn) (BUILD_KERNEL_TEXT + (fn) * 0x100 + 0x20)
#define FN_RETURN(fn) (BUILD_KERNEL_TEXT + (fn) * 0x100 + 0x50)
/* One after a call whose bytes cannot be read, one after no call. */
#define FN_RETURN_UNREADABLE(fn) (BUILD_KERNEL_TEXT + (fn) * 0x100 + 0x60)
#define FN_RETURN_BAD(fn) (BUILD_KERNEL_TEXT + (fn) * 0x100 + 0x70)

struct build_kernel {
	struct build_orc orc;
	struct orc_table *table;
	int row_error;		/* what find_row() says instead of looking; 0: it looks */
};

int build_kernel_init(struct build_kernel *kernel, enum orc_format format);
void build_kernel_deinit(struct build_kernel *kernel);

/* Context: struct build_kernel. In user space calls are judged by the last byte too. */
extern const struct unwind_ops build_kernel_ops;

#endif
