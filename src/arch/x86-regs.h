/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct pt_regs of x86-64 Linux, what entry code pushes: user ABI (arch/x86/include/uapi/asm/
 * ptrace.h), hence the same in every kernel. Its end is what the processor itself pushes.
 */
#ifndef ARCH_X86_REGS_H
#define ARCH_X86_REGS_H

#include "base/types.h"
#include "model/regs.h"

/* Index of each 8-byte slot. */
enum x86_pt_regs_slot {
	X86_PT_R15,
	X86_PT_R14,
	X86_PT_R13,
	X86_PT_R12,
	X86_PT_RBP,
	X86_PT_RBX,
	X86_PT_R11,
	X86_PT_R10,
	X86_PT_R9,
	X86_PT_R8,
	X86_PT_RAX,
	X86_PT_RCX,
	X86_PT_RDX,
	X86_PT_RSI,
	X86_PT_RDI,
	X86_PT_ORIG_RAX,
	X86_PT_RIP,	/* from here on pushed by the processor */
	X86_PT_CS,
	X86_PT_FLAGS,
	X86_PT_RSP,
	X86_PT_SS,
	X86_PT_NR,
};

#define X86_PT_REGS_SIZE (X86_PT_NR * sizeof(u64))
#define X86_PT_IRET_OFFSET (X86_PT_RIP * sizeof(u64))

/* The selectors that Linux runs with: arch/x86/include/asm/segment.h. */
#define X86_KERNEL_CS 0x10
#define X86_KERNEL_DS 0x18
#define X86_USER32_CS 0x23	/* of 32-bit programs */
#define X86_USER_DS 0x2b
#define X86_USER_CS 0x33

/* Of a selector: it is one of the LDT's, whose code has 16 or 32 bits. SDM volume 3, 3.4.2. */
#define X86_SELECTOR_LDT 4

/*
 * Privilege level of the code that a saved CS belongs to. Only the lower 16 bits are CS: FRED
 * (6.9) keeps more of its own above.
 */
static inline unsigned int x86_cs_cpl(u64 cs)
{
	return cs & 3;
}

/* Under a 64-bit kernel: whether the user's code was that of a 32-bit program. */
static inline bool x86_cs_is_32(u64 cs)
{
	return (u16)cs == X86_USER32_CS || cs & X86_SELECTOR_LDT;
}

/* A saved address of user code as a linear one. */
static inline u64 x86_linear_pc(const struct vcpu_regs *regs, u64 cs, u64 ip)
{
	return cs & X86_SELECTOR_LDT ? (u32)(ip + regs->x86.cs_base) : ip;
}

#endif
