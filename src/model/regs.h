/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registers of one vCPU at one moment, as much as finding and unwinding its stacks takes.
 * Fixed width: the same bytes in BPF, in the ring buffer and in user space.
 */
#ifndef MODEL_REGS_H
#define MODEL_REGS_H

#include "base/addr.h"

enum vcpu_arch {
	VCPU_ARCH_NONE,
	VCPU_ARCH_X86_64,
	VCPU_ARCH_ARM64,
	VCPU_ARCH_NR,
};

/* General registers by their DWARF numbers, x86-64 psABI table 3.36. */
enum {
	X86_RAX,
	X86_RDX,
	X86_RCX,
	X86_RBX,
	X86_RSI,
	X86_RDI,
	X86_RBP,
	X86_RSP,
	X86_R8,
	X86_R9,
	X86_R10,
	X86_R11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
};

#define ARM64_FP 29
#define ARM64_LR 30
#define ARM64_SP 31

#define VCPU_NR_GPRS 32

/* What address translation and finding the guest's kernel take on x86. */
struct x86_system_regs {
	u64 cr0, cr3, cr4, efer;
	u64 lstar;		/* the guest kernel's system-call entry */
	u64 gs_base;
	u64 kernel_gs_base;	/* the one that SWAPGS would bring */
	u64 fs_base;
	/*
	 * Of code of 16 and 32 bits: where its segment begins. In a sample of the kernel's that of
	 * the user's code below it, where it is in the LDT.
	 */
	u64 cs_base;
	u64 ss_base;
	u64 gdt_base;
	u64 ldt_base;
};

struct arm64_system_regs {
	u64 ttbr0, ttbr1, tcr, sctlr, vbar, sp_el0, tpidr_el0, tpidr_el1;
	u64 sp_el1, elr_el1, tpidrro_el0;
};

struct vcpu_regs {
	u64 gpr[VCPU_NR_GPRS];	/* by DWARF number; the stack pointer among them */
	u64 pc;
	u64 flags;		/* RFLAGS or PSTATE */
	union {
		struct x86_system_regs x86;
		struct arm64_system_regs arm64;
	};
	u8 arch;		/* enum vcpu_arch */
	u8 user;		/* 1: in user mode (CPL 3, EL0) */
	u8 bits;		/* of the code: 16, 32, 64 */
	u8 pad[5];
};

#endif
