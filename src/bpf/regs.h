/* SPDX-License-Identifier: GPL-2.0-only */
/* Common to all sources of x86 registers. Compiled into BPF and user space. */
#ifndef BPF_REGS_H
#define BPF_REGS_H

#include "model/regs.h"

#define REGS_EFER_LMA (1ULL << 10)
#define REGS_CR0_PE (1ULL << 0)

/* The width of the code that runs: in long mode by CS.L, else by CS.D. */
static inline u8 regs_code_bits(u64 efer, int cs_long, int cs_default)
{
	if (efer & REGS_EFER_LMA && cs_long)
		return 64;
	return cs_default ? 32 : 16;
}

#endif
