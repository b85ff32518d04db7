/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * struct pt_regs of arm64 Linux, what entry code stores (arch/arm64/include/asm/ptrace.h): its
 * beginning is user ABI (struct user_pt_regs), and somewhere in it is a frame record that the chain
 * of frame records leads through. And addresses as the processor signs them.
 */
#ifndef ARCH_ARM64_REGS_H
#define ARCH_ARM64_REGS_H

#include "base/types.h"
#include "model/regs.h"

/* Index of each 8-byte slot. */
enum arm64_pt_regs_slot {
	ARM64_PT_X0,
	ARM64_PT_FP = 29,
	ARM64_PT_LR,
	ARM64_PT_SP,
	ARM64_PT_PC,
	ARM64_PT_PSTATE,
	ARM64_PT_NR,
};

/*
 * Where its frame record is: at 0x130, a multiple of 16, up to 6.12; from 6.13 on at 0x128, with a
 * word behind it that says what it is (c2c6b27b5aa1 "arm64: stacktrace: unwind exception
 * boundaries"). Stacks are aligned to 16, so the address says which of the two it is.
 */
#define ARM64_PT_RECORD 0x130
#define ARM64_PT_META 0x128

/* The word: enum of struct frame_record_meta. */
#define ARM64_META_FINAL 1
#define ARM64_META_PT_REGS 2

#define ARM64_PSTATE_MODE 0x1f
#define ARM64_PSTATE_32 0x10
#define ARM64_PSTATE_EL 0x0c

static inline bool arm64_is_user(u64 pstate)
{
	return pstate & ARM64_PSTATE_32 ? !(pstate & 0xf) : !(pstate & ARM64_PSTATE_EL);
}

/* @address without the authentication code and the tag that its upper bits may hold. */
static inline u64 arm64_strip(u64 address, u64 tcr)
{
	bool high = address >> 55 & 1;
	u64 size = tcr >> (high ? 16 : 0) & 63;
	u64 above = size >= 12 && size <= 48 ? ~(UINT64_MAX >> size) : 0xffff000000000000ULL;

	return high ? address | above : address & ~above;
}

#endif
