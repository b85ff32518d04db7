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

/* In KVM's array, and in the mask of those that it has fetched: enum kvm_reg. */
#define VMX_REG_RIP 16
#define VMX_AVAIL_RIP (1U << VMX_REG_RIP)

/* Basic exit reasons, Intel SDM volume 3, appendix C. */
#define VMX_EXIT_BASIC 0xffff
#define VMX_EXIT_EXCEPTION_NMI 0
#define VMX_EXIT_INTERRUPT 1
#define VMX_EXIT_INTERRUPT_WINDOW 7
#define VMX_EXIT_PREEMPTION_TIMER 52

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
	u64 valid;		/* of kvm_run, not on a stack that is short */
	u16 run_flags;
};

/* Whether the event ended guest mode of @vcpu, which this CPU has loaded. */
static __always_inline int in_guest(struct kvm_vcpu *vcpu)
{
	return BPF_CORE_READ(vcpu, arch.handling_intr_from_guest) &&
	       BPF_CORE_READ(vcpu, cpu) == (int)bpf_get_smp_processor_id();
}

/* Whether the clock that @ctx is of came due in the guest: what ended guest mode did. */
static __always_inline int clock_in_guest(const void *ctx, struct capture_vcpu *vcpu)
{
	(void)ctx;
	(void)vcpu;
	return 1;
}

/* At the exit to user space: whether the clocks that wait came due in the host after all. */
static __always_inline int clock_taken_back(struct capture_vcpu *vcpu)
{
	(void)vcpu;
	return 0;
}

/*
 * Bits of .hflags. Until 6.4, HF_SMM_MASK was behind those that were AMD's alone ("KVM: x86: Move
 * HF_NMI_MASK and HF_IRET_MASK into "struct vcpu_svm"", which has a member since).
 */
#define HFLAGS_SMM (1 << 1)
#define HFLAGS_SMM_BEFORE_6_4 (1 << 6)

/* Whether @vcpu is in system management mode now. For AMD: elsewhere .run says so at an exit. */
static __always_inline int in_smm(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = (struct vcpu_svm *)vcpu;
	u32 mask = HFLAGS_SMM_BEFORE_6_4;

	if (bpf_core_field_exists(svm->awaiting_iret_completion))
		mask = HFLAGS_SMM;
	return BPF_CORE_READ(vcpu, arch.hflags) & mask;
}

/* The registers of the VMCB, which are those of the last exit. As regs_at_event(). */
static __always_inline int read_vmcb(struct regs_work *work, const struct capture_vcpu *vcpu,
				     struct vcpu_regs *regs)
{
	int nested;

	if (!amd || !bpf_core_type_exists(struct vcpu_svm))
		return -1;
	nested = regs_read_amd((struct kvm_vcpu *)vcpu->kvm_vcpu, &work->amd, regs);
	return nested > 0 ? WIRE_F_NESTED : nested;
}

/*
 * The registers at the event. 0; WIRE_F_NESTED or WIRE_F_SMM: they are not the guest's kernel's,
 * and nothing is to be walked; negative: not to be had.
 */
static __always_inline int regs_at_event(struct regs_work *work, const struct capture_vcpu *vcpu,
					 struct vcpu_regs *regs)
{
	int outside = read_vmcb(work, vcpu, regs);

	if (outside)
		return outside;
	return in_smm((struct kvm_vcpu *)vcpu->kvm_vcpu) ? WIRE_F_SMM : 0;
}

/*
 * Intel: the pc where KVM has fetched it since the exit, else 0. perf makes KVM do so for an event
 * with PERF_SAMPLE_IP, and before it runs the event's program since "perf/core: Call
 * perf_prepare_sample() before running BPF" (Linux 6.3).
 */
static __always_inline u64 event_pc_intel(struct kvm_vcpu *vcpu)
{
	struct kvm_vcpu_arch___rip *arch = (void *)__builtin_preserve_access_index(&vcpu->arch);

	if (bpf_core_field_exists(arch->rip)) {
		if (!bpf_core_field_exists(arch->regs_avail) ||
		    !(BPF_CORE_READ(arch, regs_avail[0]) & VMX_AVAIL_RIP))
			return 0;
		return BPF_CORE_READ(arch, rip);
	}
	if (!bpf_core_field_exists(vcpu->arch.regs_avail) ||
	    !(BPF_CORE_READ(vcpu, arch.regs_avail) & VMX_AVAIL_RIP))
		return 0;
	return BPF_CORE_READ(vcpu, arch.regs[VMX_REG_RIP]);
}

/* The pc at the event, where it can be read there; else 0. */
static __always_inline u64 event_pc(const struct capture_vcpu *vcpu)
{
	const struct vcpu_svm *svm = (const struct vcpu_svm *)vcpu->kvm_vcpu;
	u64 pc = 0;

	if (!amd)
		return event_pc_intel((struct kvm_vcpu *)vcpu->kvm_vcpu);
	if (!bpf_core_type_exists(struct vcpu_svm))
		return 0;
	bpf_probe_read_kernel(&pc, sizeof(pc), (char *)BPF_CORE_READ(svm, vmcb) + VMCB_SAVE +
			      __builtin_offsetof(struct vmcb_save, rip));
	return pc;
}

/*
 * Intel: whether KVM goes on to emulate the instruction that exited, after which the registers are
 * later than the event. One that comes on the way out of the guest may find any exit there, not
 * only that of its own interrupt, with which the guest stands still.
 */
static __always_inline int event_moves(const struct capture_vcpu *vcpu)
{
	struct vcpu_vmx *vmx = (struct vcpu_vmx *)vcpu->kvm_vcpu;
	struct vcpu_vmx___vt *vt = (struct vcpu_vmx___vt *)vmx;
	u32 reason = VMX_EXIT_INTERRUPT;

	if (amd || !bpf_core_type_exists(struct vcpu_vmx))
		return 0;
	if (bpf_core_field_exists(vmx->exit_reason))
		reason = BPF_CORE_READ(vmx, exit_reason.full);
	else if (bpf_core_field_exists(vt->vt.exit_reason))
		reason = BPF_CORE_READ(vt, vt.exit_reason.full);
	switch (reason & VMX_EXIT_BASIC) {
	case VMX_EXIT_EXCEPTION_NMI:
	case VMX_EXIT_INTERRUPT:
	case VMX_EXIT_INTERRUPT_WINDOW:
	case VMX_EXIT_PREEMPTION_TIMER:
		return 0;
	default:
		return 1;
	}
}

/* KVM has stored the registers in @run. 0, or negative when it has not. */
static __always_inline int read_run(struct regs_work *work, const char *run, struct vcpu_regs *regs)
{
	if (bpf_probe_read_kernel(&work->valid, sizeof(work->valid),
				  run + __builtin_offsetof(struct kvm_run, kvm_valid_regs)) ||
	    (work->valid & REGS_RUN_WANTED) != REGS_RUN_WANTED ||
	    bpf_probe_read_kernel(&work->run_flags, sizeof(work->run_flags),
				  run + __builtin_offsetof(struct kvm_run, flags)) ||
	    bpf_probe_read_kernel(&work->run, sizeof(work->run),
				  run + __builtin_offsetof(struct kvm_run, s.regs)))
		return -1;
	regs_set_kvm_regs(regs, &work->run.regs);
	regs_set_kvm_sregs(regs, &work->run.sregs);
	return 0;
}

/*
 * What kvm_run lacks on Intel. The other GS base is in the processor while the vCPU runs; by the
 * exit to user space KVM has put it away. 0 or WIRE_F_NESTED.
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
	return BPF_CORE_READ(vmx, loaded_vmcs) == __builtin_preserve_access_index(&vmx->vmcs01) ?
		       0 : WIRE_F_NESTED;
}

/*
 * The same at the exit to user space: those that KVM has stored, and first what kvm_run lacks,
 * LSTAR and the other GS base.
 */
static __always_inline int regs_at_exit(struct regs_work *work, const struct capture_vcpu *vcpu,
					struct vcpu_regs *regs)
{
	struct kvm_vcpu *kvm_vcpu = (struct kvm_vcpu *)vcpu->kvm_vcpu;
	int outside = amd ? read_vmcb(work, vcpu, regs) : read_intel(vcpu, regs);

	if (outside < 0 || read_run(work, (const char *)BPF_CORE_READ(kvm_vcpu, run), regs))
		return -1;
	/* Which KVM says there. */
	return work->run_flags & KVM_RUN_X86_SMM ? WIRE_F_SMM : outside;
}

#endif
