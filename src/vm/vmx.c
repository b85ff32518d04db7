/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What KVM on Intel keeps of a vCPU in memory. The guest's registers are in the VMCS, which only
 * the processor reads; KVM fetches each when it needs it and keeps what it fetched, so CR3 here is
 * that of some moment in the past. It mostly leads to the guest's kernel for all that, which every
 * process has mapped. CR0 and CR4 are right but for bits that have nothing to do with paging.
 */
#include "vm/kvm.h"

#define MSR_LSTAR 0xc0000082U
#define EFER_LMA (1ULL << 10)

/* KVM_MAX_NR_USER_RETURN_MSRS, arch/x86/include/asm/kvm_host.h */
#define MAX_URET_MSRS 16

u32 kvm_vmx_find_lstar(const struct kvm_reader *reader, u64 uret_list)
{
	const struct vm_layout *l = reader->layout;
	u32 msrs[MAX_URET_MSRS];

	if (!uret_list || l->vmx_uret_msrs == LAYOUT_ABSENT ||
	    l->vmx_uret_data == LAYOUT_ABSENT || l->vmx_uret_size == LAYOUT_ABSENT ||
	    kernel_read(reader->kernel, uret_list, msrs, sizeof(msrs)))
		return LAYOUT_ABSENT;
	for (u32 i = 0; i < MAX_URET_MSRS; i++)
		if (msrs[i] == MSR_LSTAR)
			return l->vmx_uret_msrs + i * l->vmx_uret_size + l->vmx_uret_data;
	return LAYOUT_ABSENT;
}

bool kvm_vmx_peekable(const struct vm_layout *l)
{
	return l->vcpu_cr0 != LAYOUT_ABSENT && l->vcpu_cr3 != LAYOUT_ABSENT &&
	       l->vcpu_cr4 != LAYOUT_ABSENT && l->vcpu_efer != LAYOUT_ABSENT;
}

static int read_member(const struct kvm_reader *reader, u64 kvm_vcpu, u32 offset, u64 *ret)
{
	if (offset == LAYOUT_ABSENT)
		return 0;
	return kernel_read_u64(reader->kernel, kvm_vcpu + offset, ret);
}

int kvm_peek_vmx(const struct kvm_reader *reader, u64 kvm_vcpu, u32 lstar, struct vcpu_regs *ret)
{
	const struct vm_layout *l = reader->layout;
	struct vcpu_regs regs = { .arch = VCPU_ARCH_X86_64, .user = 1, .bits = 32 };
	int err;

	if (!kvm_vmx_peekable(l))
		return -EOPNOTSUPP;
	/* struct vcpu_vmx begins with its struct kvm_vcpu. */
	err = read_member(reader, kvm_vcpu, l->vcpu_cr0, &regs.x86.cr0);
	err = err ?: read_member(reader, kvm_vcpu, l->vcpu_cr3, &regs.x86.cr3);
	err = err ?: read_member(reader, kvm_vcpu, l->vcpu_cr4, &regs.x86.cr4);
	err = err ?: read_member(reader, kvm_vcpu, l->vcpu_efer, &regs.x86.efer);
	err = err ?: read_member(reader, kvm_vcpu, lstar, &regs.x86.lstar);
	err = err ?: read_member(reader, kvm_vcpu, l->vmx_kernel_gs_base,
				 &regs.x86.kernel_gs_base);
	if (err)
		return err;
	if (regs.x86.efer & EFER_LMA)
		regs.bits = 64;
	*ret = regs;
	return 0;
}
