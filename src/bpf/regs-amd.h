/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU's registers on AMD: the VMCB is plain memory and holds the guest's state from each exit
 * on; what it lacks is in KVM's own array.
 */
#ifndef BPF_REGS_AMD_H
#define BPF_REGS_AMD_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/host-types.h"
#include "bpf/regs.h"

#define VMCB_NESTED_CTL 0x90	/* control area; bit 0: nested paging */
#define VMCB_SAVE 0x400
#define VMCB_ATTRIB_L (1 << 9)	/* of a segment: long mode */
#define VMCB_ATTRIB_DB (1 << 10)

struct vmcb_segment {
	u16 selector, attrib;
	u32 limit;
	u64 base;
};

/* State save area, AMD APM volume 2, table B-2. Up to KernelGsBase. */
struct vmcb_save {
	struct vmcb_segment es, cs, ss, ds, fs, gs, gdtr, ldtr, idtr, tr;
	u8 reserved_a0[0xcb - 0xa0];
	u8 cpl;
	u32 reserved_cc;
	u64 efer;
	u8 reserved_d8[0x148 - 0xd8];
	u64 cr4, cr3, cr0, dr7, dr6, rflags, rip;
	u8 reserved_180[0x1d8 - 0x180];
	u64 rsp, s_cet, ssp, isst_addr, rax, star, lstar, cstar, sfmask, kernel_gs_base;
};

_Static_assert(__builtin_offsetof(struct vmcb_save, cpl) == 0xcb, "APM table B-2");
_Static_assert(__builtin_offsetof(struct vmcb_save, rip) == 0x178, "APM table B-2");
_Static_assert(__builtin_offsetof(struct vmcb_save, rsp) == 0x1d8, "APM table B-2");
_Static_assert(__builtin_offsetof(struct vmcb_save, kernel_gs_base) == 0x220, "APM table B-2");

/* Room for the bytes as they are. */
struct amd_work {
	struct vmcb_save save;
	unsigned long gprs[16];
};

/* KVM's array, by instruction-set number, into DWARF's order; RSP and RAX are in the VMCB. */
static __always_inline void regs_set_gprs(struct vcpu_regs *regs, const unsigned long *kvm)
{
	regs->gpr[X86_RCX] = kvm[1];
	regs->gpr[X86_RDX] = kvm[2];
	regs->gpr[X86_RBX] = kvm[3];
	regs->gpr[X86_RBP] = kvm[5];
	regs->gpr[X86_RSI] = kvm[6];
	regs->gpr[X86_RDI] = kvm[7];
	for (int i = 8; i < 16; i++)
		regs->gpr[i] = kvm[i];
}

static __always_inline void regs_set_save(struct vcpu_regs *regs, const struct vmcb_save *save)
{
	regs->gpr[X86_RAX] = save->rax;
	regs->gpr[X86_RSP] = save->rsp;
	regs->pc = save->rip;
	regs->flags = save->rflags;
	regs->x86.cr0 = save->cr0;
	regs->x86.cr3 = save->cr3;
	regs->x86.cr4 = save->cr4;
	regs->x86.efer = save->efer;
	regs->x86.lstar = save->lstar;
	regs->x86.gs_base = save->gs.base;
	regs->x86.kernel_gs_base = save->kernel_gs_base;
	regs->x86.fs_base = save->fs.base;
	regs->x86.gdt_base = save->gdtr.base;
	regs->x86.ldt_base = save->ldtr.base;
	regs->bits = regs_code_bits(save->efer, save->cs.attrib & VMCB_ATTRIB_L,
				    save->cs.attrib & VMCB_ATTRIB_DB);
	if (regs->bits != 64) {
		regs->x86.cs_base = save->cs.base;
		regs->x86.ss_base = save->ss.base;
	}
	regs->user = save->cpl == 3;
}

/*
 * Fills @regs. Returns 0; 1 when a nested guest runs, whose registers these then are; negative
 * when memory was not there.
 */
static __always_inline int regs_read_amd(struct kvm_vcpu *vcpu, struct amd_work *work,
					 struct vcpu_regs *regs)
{
	struct vcpu_svm *svm = (struct vcpu_svm *)vcpu;
	char *vmcb, *vmcb01;
	u64 nested_ctl = 0;

	vmcb = (char *)BPF_CORE_READ(svm, vmcb);
	vmcb01 = (char *)BPF_CORE_READ(svm, vmcb01.ptr);
	if (bpf_probe_read_kernel(&work->save, sizeof(work->save), vmcb + VMCB_SAVE) ||
	    bpf_probe_read_kernel(&nested_ctl, sizeof(nested_ctl), vmcb + VMCB_NESTED_CTL) ||
	    bpf_core_read(work->gprs, sizeof(work->gprs), &vcpu->arch.regs))
		return -1;
	regs_set_gprs(regs, work->gprs);
	regs_set_save(regs, &work->save);
	/* With shadow paging the VMCB's CR3 is KVM's. */
	if (!(nested_ctl & 1))
		regs->x86.cr3 = BPF_CORE_READ(vcpu, arch.cr3);
	return vmcb != vmcb01;
}

#endif
