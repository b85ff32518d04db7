/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One VM's own structures in the host kernel: struct kvm, its vCPUs and memory slots. The kernel
 * changes them while we read; what does not hold together is read again.
 */
#ifndef VM_KVM_H
#define VM_KVM_H

#include "mem/slots.h"
#include "vm/kernel.h"
#include "vm/layout.h"
#include "vm/vm.h"

struct kvm_reader {
	struct kernel_mem *kernel;
	const struct vm_layout *layout;
};

/* The slots of address space 0, without those that KVM made for itself. */
int kvm_read_slots(const struct kvm_reader *reader, u64 kvm, struct mem_slots *ret);

/* KVM's generation of them, which every change raises. */
int kvm_slots_generation(const struct kvm_reader *reader, u64 kvm, u64 *ret);

/* Appends the VM's vCPUs to @vm: id, thread and address. */
int kvm_read_vcpus(const struct kvm_reader *reader, u64 kvm, struct vm *vm);

/* The kind of protection that keeps us out, a constant; NULL when there is none. */
int kvm_read_confidential(const struct kvm_reader *reader, u64 kvm, enum vm_vendor vendor,
			  const char **ret_kind);

/* vm_host_vcpu_halt() and vm_host_vcpu_counters() of the vCPU at @kvm_vcpu. */
int kvm_read_halt(const struct kvm_reader *reader, u64 kvm_vcpu, struct vm_vcpu_halt *ret);
int kvm_read_counters(const struct kvm_reader *reader, u64 kvm_vcpu, struct vm_vcpu_counters *ret);

/*
 * Whether a vCPU runs a guest of its guest. -EOPNOTSUPP: for other vendors than AMD and Intel, or
 * the layout is not known.
 */
int kvm_read_nested(const struct kvm_reader *reader, u64 kvm_vcpu, enum vm_vendor vendor,
		    bool *ret);

/*
 * Registers of an AMD vCPU, out of its VMCB and what KVM keeps beside. -EOPNOTSUPP: the layout is
 * not known, or with shadow paging (kvm_amd.npt=0).
 */
int kvm_peek_svm(const struct kvm_reader *reader, u64 kvm_vcpu, struct vcpu_regs *ret);

/*
 * The same of an Intel vCPU, for finding the guest's kernel only: nothing but how it pages memory,
 * the system-call entry and the GS base that is not in use, as if in user mode. CR3 may be an old
 * one. @lstar is from kvm_vmx_find_lstar(). -EOPNOTSUPP: the layout is not known.
 */
int kvm_peek_vmx(const struct kvm_reader *reader, u64 kvm_vcpu, u32 lstar, struct vcpu_regs *ret);

bool kvm_vmx_peekable(const struct vm_layout *layout);

/*
 * Where in its struct vcpu_vmx the guest's LSTAR is; LAYOUT_ABSENT when that is not known.
 * @uret_list is the address of KVM's kvm_uret_msrs_list, which numbers such MSRs; 0: not known.
 */
u32 kvm_vmx_find_lstar(const struct kvm_reader *reader, u64 uret_list);

/*
 * Registers of an arm64 vCPU, of which the system registers are old while the vCPU is loaded where
 * kvm_arm64_lazy() says so. -EOPNOTSUPP: the layout is not known.
 */
int kvm_peek_arm64(const struct kvm_reader *reader, u64 kvm_vcpu, struct vcpu_regs *ret);

/*
 * Whether a guest's system registers stay in the CPU after an exit, until the vCPU is put: where
 * the host's kernel runs in EL2.
 */
int kvm_arm64_lazy(const struct kvm_reader *reader, u64 kvm_vcpu, bool *ret);

/*
 * Whether KVM on AMD shadows its guests' page tables, by the parameter npt of kvm_amd under @sysfs
 * ("/sys"). Not when there is no such parameter.
 */
bool kvm_svm_shadows(const char *sysfs);

#endif
