/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU on x86 as the capture programs see it: whether an event came in its guest, and where its
 * registers are then and at an exit to user space.
 */
#ifndef BPF_VCPU_X86_H
#define BPF_VCPU_X86_H

#include "bpf/regs-amd.h"
#include "bpf/regs-run.h"
#include "bpf/shared.h"

/* Set before loading. */
const volatile u32 amd;			/* registers are in a VMCB */
const volatile u32 vmx_lstar;		/* Intel: see struct vm_vmx_msrs */
const volatile u32 vmx_kernel_gs_base;

/* Room for them as KVM has them. */
struct regs_work {
	union {
		struct amd_work amd;
		struct {
			struct kvm_regs regs;
			struct kvm_sregs sregs;
		} run;
	};
};

/* Whether the event ended guest mode of @vcpu, which this CPU has loaded. */
static __always_inline int in_guest(struct kvm_vcpu *vcpu)
{
	return BPF_CORE_READ(vcpu, arch.handling_intr_from_guest) &&
	       BPF_CORE_READ(vcpu, cpu) == (int)bpf_get_smp_processor_id();
}

/* Whether the event that @ctx is of came due before the guest was entered, and waited. */
static __always_inline int before_entry(const void *ctx, const struct capture_vcpu *vcpu)
{
	(void)ctx;
	(void)vcpu;
	return 0;
}

/*
 * The registers of the VMCB, which are those of the last exit. 0; 1: of a nested guest; negative:
 * not to be had.
 */
static __always_inline int regs_at_event(struct regs_work *work, const struct capture_vcpu *vcpu,
					 struct vcpu_regs *regs)
{
	if (!amd || !bpf_core_type_exists(struct vcpu_svm))
		return -1;
	return regs_read_amd((struct kvm_vcpu *)vcpu->kvm_vcpu, &work->amd, regs);
}

/* The pc at the event, where it can be read there; else 0. */
static __always_inline u64 event_pc(const struct capture_vcpu *vcpu)
{
	const struct vcpu_svm *svm = (const struct vcpu_svm *)vcpu->kvm_vcpu;
	u64 pc = 0;

	if (!amd || !bpf_core_type_exists(struct vcpu_svm))
		return 0;
	bpf_probe_read_kernel(&pc, sizeof(pc), (char *)BPF_CORE_READ(svm, vmcb) + VMCB_SAVE +
			      __builtin_offsetof(struct vmcb_save, rip));
	return pc;
}

/* KVM has stored the registers in @run. 0, or negative when it has not. */
static __always_inline int read_run(struct regs_work *work, const char *run, struct vcpu_regs *regs)
{
	u64 valid = 0;

	if (bpf_probe_read_kernel(&valid, sizeof(valid),
				  run + __builtin_offsetof(struct kvm_run, kvm_valid_regs)) ||
	    (valid & REGS_RUN_WANTED) != REGS_RUN_WANTED ||
	    bpf_probe_read_kernel(&work->run, sizeof(work->run),
				  run + __builtin_offsetof(struct kvm_run, s.regs)))
		return -1;
	regs_set_kvm_regs(regs, &work->run.regs);
	regs_set_kvm_sregs(regs, &work->run.sregs);
	return 0;
}

/*
 * What kvm_run lacks on Intel. The other GS base is in the processor while the vCPU runs; by the
 * exit to user space KVM has put it away. 0; 1: a nested guest runs.
 */
static __always_inline int read_intel(const struct capture_vcpu *vcpu, struct vcpu_regs *regs)
{
	struct vcpu_vmx *vmx = (struct vcpu_vmx *)vcpu->kvm_vcpu;

	if (vmx_lstar)
		bpf_probe_read_kernel(&regs->x86.lstar, sizeof(regs->x86.lstar),
				      (char *)vmx + vmx_lstar);
	if (vmx_kernel_gs_base)
		bpf_probe_read_kernel(&regs->x86.kernel_gs_base, sizeof(regs->x86.kernel_gs_base),
				      (char *)vmx + vmx_kernel_gs_base);
	if (!bpf_core_type_exists(struct vcpu_vmx))
		return 0;
	return BPF_CORE_READ(vmx, loaded_vmcs) != __builtin_preserve_access_index(&vmx->vmcs01);
}

/*
 * The same at the exit to user space: those that KVM has stored, and first what kvm_run lacks,
 * LSTAR and the other GS base.
 */
static __always_inline int regs_at_exit(struct regs_work *work, const struct capture_vcpu *vcpu,
					struct vcpu_regs *regs)
{
	struct kvm_vcpu *kvm_vcpu = (struct kvm_vcpu *)vcpu->kvm_vcpu;
	int nested = amd ? regs_at_event(work, vcpu, regs) : read_intel(vcpu, regs);

	if (nested < 0 || read_run(work, (const char *)BPF_CORE_READ(kvm_vcpu, run), regs))
		return -1;
	return nested;
}

#endif
