/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU's registers as KVM stores them in the kvm_run page at an exit to user space, when asked
 * to by kvm_valid_regs. Stable ABI. Compiled into BPF and user space.
 */
#ifndef BPF_REGS_RUN_H
#define BPF_REGS_RUN_H

#include <linux/kvm.h>

#include "bpf/regs.h"

#ifdef KVM_SYNC_X86_REGS

#define REGS_RUN_WANTED (KVM_SYNC_X86_REGS | KVM_SYNC_X86_SREGS)

static inline void regs_set_kvm_regs(struct vcpu_regs *regs, const struct kvm_regs *kvm)
{
	regs->gpr[X86_RAX] = kvm->rax;
	regs->gpr[X86_RDX] = kvm->rdx;
	regs->gpr[X86_RCX] = kvm->rcx;
	regs->gpr[X86_RBX] = kvm->rbx;
	regs->gpr[X86_RSI] = kvm->rsi;
	regs->gpr[X86_RDI] = kvm->rdi;
	regs->gpr[X86_RBP] = kvm->rbp;
	regs->gpr[X86_RSP] = kvm->rsp;
	regs->gpr[X86_R8] = kvm->r8;
	regs->gpr[X86_R9] = kvm->r9;
	regs->gpr[X86_R10] = kvm->r10;
	regs->gpr[X86_R11] = kvm->r11;
	regs->gpr[X86_R12] = kvm->r12;
	regs->gpr[X86_R13] = kvm->r13;
	regs->gpr[X86_R14] = kvm->r14;
	regs->gpr[X86_R15] = kvm->r15;
	regs->pc = kvm->rip;
	regs->flags = kvm->rflags;
}

/* The MSRs that are not in sregs stay as they are. */
static inline void regs_set_kvm_sregs(struct vcpu_regs *regs, const struct kvm_sregs *kvm)
{
	regs->x86.cr0 = kvm->cr0;
	regs->x86.cr3 = kvm->cr3;
	regs->x86.cr4 = kvm->cr4;
	regs->x86.efer = kvm->efer;
	regs->x86.gs_base = kvm->gs.base;
	regs->x86.fs_base = kvm->fs.base;
	regs->x86.gdt_base = kvm->gdt.base;
	regs->x86.ldt_base = kvm->ldt.base;
	regs->bits = regs_code_bits(kvm->efer, kvm->cs.l, kvm->cs.db);
	if (regs->bits != 64) {
		regs->x86.cs_base = kvm->cs.base;
		regs->x86.ss_base = kvm->ss.base;
	}
	/* SS.DPL is the CPL, in KVM as in hardware. */
	regs->user = kvm->ss.dpl == 3;
}

#else

/* Nothing is asked for: on arm64 they are in KVM's own memory at each exit to user space. */
#define REGS_RUN_WANTED 0

#endif

#endif
