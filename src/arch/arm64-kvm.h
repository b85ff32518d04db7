/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The general registers of an arm64 vCPU as KVM keeps them, in its struct kvm_cpu_context: in the
 * layout of the user ABI's struct user_pt_regs. Compiled into BPF and user space.
 */
#ifndef ARCH_ARM64_KVM_H
#define ARCH_ARM64_KVM_H

#include "model/regs.h"

/* struct user_pt_regs, arch/arm64/include/uapi/asm/ptrace.h; of other machines, too. */
struct regs_arm64 {
	u64 regs[31];
	u64 sp;		/* KVM's: SP_EL0, whichever is in use */
	u64 pc;
	u64 pstate;
};

/* PSTATE, arch/arm64/include/uapi/asm/ptrace.h */
#define REGS_PSTATE_32 (1ULL << 4)	/* AArch32 */
#define REGS_PSTATE_EL(pstate) ((pstate) >> 2 & 3)
#define REGS_PSTATE_SP_ELX (1ULL << 0)	/* the stack pointer of the exception level, not SP_EL0 */

/* Fills @regs, in which the system registers are. */
static inline void regs_set_arm64(struct vcpu_regs *regs, const struct regs_arm64 *kvm)
{
	u64 pstate = kvm->pstate;

	for (int i = 0; i < 31; i++)
		regs->gpr[i] = kvm->regs[i];
	regs->pc = kvm->pc;
	regs->flags = pstate;
	regs->arm64.sp_el0 = kvm->sp;
	if (pstate & REGS_PSTATE_32) {
		/* Linux runs it for programs only. R13 is the stack pointer. */
		regs->bits = 32;
		regs->user = (pstate & 0xf) == 0;
		regs->gpr[ARM64_SP] = kvm->regs[13];
		return;
	}
	regs->bits = 64;
	regs->user = REGS_PSTATE_EL(pstate) == 0;
	regs->gpr[ARM64_SP] = !regs->user && pstate & REGS_PSTATE_SP_ELX ? regs->arm64.sp_el1 :
									    kvm->sp;
}

#endif
