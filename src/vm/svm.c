/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of an AMD vCPU: most are in its VMCB, which is plain memory. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "vm/kvm.h"

#define VMCB_BYTES 4096
#define NR_KVM_REGS 17

/* Where the VMCB says whether nested paging is on; AMD APM volume 2, appendix B. */
#define VMCB_NESTED_CONTROL 0x90
#define NESTED_PAGING (1U << 0)

#define EFER_LMA (1ULL << 10)
#define EFER_SVME (1ULL << 12)
#define CR0_PE (1ULL << 0)
/* Bits of a segment's attributes as the VMCB packs them; AMD APM volume 2, 15.5.1. */
#define ATTRIB_LONG (1U << 9)
#define ATTRIB_DEFAULT_32 (1U << 10)

/*
 * KVM keeps the registers by their numbers in instructions: enum kvm_reg, VCPU_REGS_RAX = 0, then
 * VCPU_REGS_RIP, or RIP in a place of its own.
 */
#define KVM_RIP 16
static const u8 dwarf_number[KVM_RIP] = {
	X86_RAX, X86_RCX, X86_RDX, X86_RBX, X86_RSP, X86_RBP, X86_RSI, X86_RDI,
	X86_R8, X86_R9, X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15,
};

static u64 get(const u8 *vmcb, u32 offset, size_t size)
{
	u64 value = 0;

	memcpy(&value, vmcb + offset, size);
	return value;
}

static u8 code_bits(u64 efer, u64 cr0, u16 cs_attrib)
{
	if (efer & EFER_LMA && cs_attrib & ATTRIB_LONG)
		return 64;
	return cr0 & CR0_PE && cs_attrib & ATTRIB_DEFAULT_32 ? 32 : 16;
}

static void fill(const struct vm_layout *l, const u8 *vmcb, const u64 *kvm_regs,
		 struct vcpu_regs *regs)
{
	struct x86_system_regs *x86 = &regs->x86;

	*regs = (struct vcpu_regs){ .arch = VCPU_ARCH_X86_64 };
	for (unsigned int i = 0; i < KVM_RIP; i++)
		regs->gpr[dwarf_number[i]] = kvm_regs[i];
	/* Not those in the VMCB: they are older when KVM has emulated an instruction since. */
	regs->pc = kvm_regs[KVM_RIP];
	regs->flags = get(vmcb, l->vmcb_rflags, 8);
	x86->cr0 = get(vmcb, l->vmcb_cr0, 8);
	x86->cr3 = get(vmcb, l->vmcb_cr3, 8);
	x86->cr4 = get(vmcb, l->vmcb_cr4, 8);
	/* A guest runs only with SVME set: that is KVM's, not what the guest sees. */
	x86->efer = get(vmcb, l->vmcb_efer, 8) & ~EFER_SVME;
	x86->lstar = get(vmcb, l->vmcb_lstar, 8);
	x86->gs_base = get(vmcb, l->vmcb_gs_base, 8);
	if (l->vmcb_gdt_base != LAYOUT_ABSENT)
		x86->gdt_base = get(vmcb, l->vmcb_gdt_base, 8);
	x86->kernel_gs_base = get(vmcb, l->vmcb_kernel_gs_base, 8);
	x86->fs_base = get(vmcb, l->vmcb_fs_base, 8);
	regs->user = get(vmcb, l->vmcb_cpl, 1) == 3;
	regs->bits = code_bits(x86->efer, x86->cr0, get(vmcb, l->vmcb_cs_attrib, 2));
	if (regs->bits != 64) {
		x86->cs_base = get(vmcb, l->vmcb_cs_base, 8);
		x86->ss_base = get(vmcb, l->vmcb_ss_base, 8);
	}
}

/* The members are found or missing together with these. */
static bool layout_known(const struct vm_layout *l)
{
	return l->svm_vmcb != LAYOUT_ABSENT && l->vcpu_regs != LAYOUT_ABSENT &&
	       l->vmcb_kernel_gs_base != LAYOUT_ABSENT && l->vmcb_cs_attrib != LAYOUT_ABSENT &&
	       l->vmcb_cr3 != LAYOUT_ABSENT && l->vmcb_size <= VMCB_BYTES;
}

int kvm_peek_svm(const struct kvm_reader *reader, u64 kvm_vcpu, struct vcpu_regs *ret)
{
	const struct vm_layout *l = reader->layout;
	u64 kvm_regs[NR_KVM_REGS], address;
	u32 rip = l->vcpu_rip != LAYOUT_ABSENT ? l->vcpu_rip : l->vcpu_regs + KVM_RIP * 8;
	u8 vmcb[VMCB_BYTES];
	int err;

	if (!layout_known(l))
		return -EOPNOTSUPP;
	/* struct vcpu_svm begins with its struct kvm_vcpu. */
	err = kernel_read_u64(reader->kernel, kvm_vcpu + l->svm_vmcb, &address);
	err = err ?: kernel_read(reader->kernel, address, vmcb, l->vmcb_size);
	err = err ?: kernel_read(reader->kernel, kvm_vcpu + l->vcpu_regs, kvm_regs,
				 KVM_RIP * sizeof(*kvm_regs));
	err = err ?: kernel_read_u64(reader->kernel, kvm_vcpu + rip, &kvm_regs[KVM_RIP]);
	if (err)
		return err;
	/* With shadow paging CR3 and CR0 are KVM's own. */
	if (!(get(vmcb, VMCB_NESTED_CONTROL, 8) & NESTED_PAGING))
		return -EOPNOTSUPP;
	fill(l, vmcb, kvm_regs, ret);
	return 0;
}

bool kvm_svm_shadows(const char *sysfs)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t size;

	if (asprintf(&path, "%s/module/kvm_amd/parameters/npt", sysfs) < 0) {
		path = NULL;
		return false;
	}
	if (file_read(AT_FDCWD, path, 16, &text, &size))
		return false;
	/* A bool; a number in older kernels. */
	return *text == 'N' || *text == '0';
}
