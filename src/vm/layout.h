/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the host kernel keeps what we read, by its own BTF. Member names are facts of the kernel;
 * what was renamed or moved between releases is looked for in each form, never by version number.
 */
#ifndef VM_LAYOUT_H
#define VM_LAYOUT_H

#include "base/types.h"

struct btf;

#define LAYOUT_ABSENT UINT32_MAX	/* this kernel has no such member */

/* Of an arm64 guest's system registers, those that are read. */
enum layout_sysreg {
	LAYOUT_SCTLR_EL1,
	LAYOUT_TTBR0_EL1,
	LAYOUT_TTBR1_EL1,
	LAYOUT_TCR_EL1,
	LAYOUT_VBAR_EL1,
	LAYOUT_TPIDR_EL0,
	LAYOUT_TPIDR_EL1,
	LAYOUT_SP_EL1,
	LAYOUT_ELR_EL1,
	LAYOUT_TPIDRRO_EL0,
	LAYOUT_NR_SYSREGS,
};

/* Arrays of struct kvm_pmc: a processor has the one or the others. */
enum layout_pmcs {
	LAYOUT_PMC_GENERAL,	/* x86 */
	LAYOUT_PMC_FIXED,
	LAYOUT_PMC_ARM64,
	LAYOUT_NR_PMCS,
};

/* Byte offsets, or LAYOUT_ABSENT; "size of" where it says so. */
struct vm_layout {
	/* struct kvm */
	u32 kvm_mm;
	u32 kvm_memslots;
	/* since c5b077549136 ("KVM: Convert the kvm->vcpus array to a xarray"), 5.17 */
	u32 kvm_vcpu_array;
	u32 kvm_vcpus;		/* before: array of pointers */
	u32 kvm_online_vcpus;
	u32 kvm_vm_list;
	u32 kvm_userspace_pid;
	u32 kvm_vm_type;	/* kvm->arch.vm_type, x86 since 6.8 */
	u32 kvm_vm_type_size;	/* size of it */

	/* struct kvm_svm */
	u32 sev_active;
	u32 sev_es_active;

	/* struct kvm_vcpu */
	u32 vcpu_kvm;
	u32 vcpu_id;
	u32 vcpu_pid;
	u32 vcpu_regs;		/* vcpu->arch.regs, x86 */
	/* since 3b4ec7dcdf89 ("KVM: x86: Add dedicated storage for guest RIP"), 7.2 */
	u32 vcpu_rip;
	u32 vcpu_cr0;
	u32 vcpu_cr3;
	u32 vcpu_cr4;
	u32 vcpu_efer;
	/* arm64, in vcpu->arch */
	u32 vcpu_ctxt_regs;	/* .ctxt.regs */
	u32 vcpu_sys_regs;	/* .ctxt.sys_regs */
	u32 vcpu_hcr;		/* .hcr_el2 */
	u32 sysregs[LAYOUT_NR_SYSREGS];	/* indices into it */

	/* in vcpu->stat.generic, of Linux 5.15 and later */
	u32 vcpu_halt_wait_ns;
	u32 vcpu_halt_poll_success_ns;
	u32 vcpu_halt_poll_fail_ns;
	u32 vcpu_blocking;

	/* vcpu->arch.pmu, struct kvm_pmc: counters of the guest's own */
	u32 vcpu_pmcs[LAYOUT_NR_PMCS];
	u32 vcpu_pmcs_size[LAYOUT_NR_PMCS];	/* sizes of the arrays */
	u32 pmc_size;		/* size of the struct */
	u32 pmc_perf_event;

	/* struct perf_event */
	u32 event_state;
	u32 event_enabled;	/* total_time_enabled */
	u32 event_running;	/* total_time_running */

	/* struct pid */
	u32 pid_nr;		/* numbers[0].nr: in the first namespace */

	/* struct kvm_memslots */
	u32 slots_generation;
	/* since a54d806688fe ("KVM: Keep memslots in tree-based structures…"), 5.17 */
	u32 slots_gfn_tree;
	u32 slots_node_idx;
	u32 slots_array;	/* before: memslots[], the first used_slots of them */
	u32 slots_used;
	u32 slots_max_id;	/* number of slot ids that there can be */

	/* struct kvm_memory_slot */
	u32 slot_size;		/* size of the struct */
	u32 slot_gfn_node;
	u32 slot_base_gfn;
	u32 slot_npages;
	u32 slot_userspace_addr;
	u32 slot_flags;
	u32 slot_id;

	/* struct rb_node */
	u32 rb_size;		/* size of the struct */
	u32 rb_left;
	u32 rb_right;

	/* struct xarray, struct xa_node */
	u32 xa_head;
	u32 xa_node_shift;
	u32 xa_node_slots;
	u32 xa_node_slots_size;	/* size of the array */

	/* struct vcpu_svm, struct vmcb; all in vmcb->save */
	u32 svm_vmcb;		/* pointer to the VMCB of the guest itself, not of its guests */
	u32 svm_vmcb_used;	/* to the one in use */
	u32 vmcb_size;		/* size of the save area, from the VMCB's start */
	u32 vmcb_cs_attrib;
	u32 vmcb_cs_base;
	u32 vmcb_ss_base;
	u32 vmcb_fs_base;
	u32 vmcb_gs_base;
	u32 vmcb_gdt_base;
	u32 vmcb_cpl;
	u32 vmcb_efer;
	u32 vmcb_cr0;
	u32 vmcb_cr3;
	u32 vmcb_cr4;
	u32 vmcb_rflags;
	u32 vmcb_lstar;
	u32 vmcb_kernel_gs_base;

	/* struct vcpu_vmx, struct vmx_uret_msr */
	u32 vmx_kernel_gs_base;	/* msr_guest_kernel_gs_base */
	u32 vmx_uret_msrs;	/* array of MSRs that are the guest's until user space runs */
	u32 vmx_uret_data;	/* the value in one of them */
	u32 vmx_uret_size;	/* size of one */
	u32 vmx_loaded;		/* pointer to the VMCS in use */
	u32 vmx_vmcs01;		/* the guest's own */
};

/*
 * Fills @layout from @btf, the kernel's with that of its KVM modules on top. -EOPNOTSUPP when
 * something that every supported kernel has is missing: *@ret_why says so, as a constant.
 */
int vm_layout_load(struct vm_layout *layout, const struct btf *kvm, const struct btf *vendor,
		   const char **ret_why);

/*
 * Finds the member @path ("arch.regs", through anonymous members too) of struct @type in @btf: its
 * offset and size in bytes. -ENOENT when there is none, -EOPNOTSUPP for a bit field.
 */
int vm_layout_member(const struct btf *btf, const char *type, const char *path, u32 *ret_offset,
		     u32 *ret_size);

/* Where a CPU's variable @name is in that CPU's area. -ENOENT: @btf does not say. */
int vm_layout_percpu(const struct btf *btf, const char *name, u32 *ret_offset);

#endif
