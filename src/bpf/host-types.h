/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host kernel's structures, as much of each as the capture programs read. Field places come
 * from the running kernel's BTF; what is not in a kernel's BTF is asked for before it is used.
 */
#ifndef BPF_HOST_H
#define BPF_HOST_H

#include "base/addr.h"

#define HOST_TYPE __attribute__((preserve_access_index))

struct kvm_memslots {
	u64 generation;
} HOST_TYPE;

struct kvm {
	struct kvm_memslots *memslots[1];
} HOST_TYPE;

#ifdef __TARGET_ARCH_arm64

#include "arch/arm64-kvm.h"

/* Of those there are, the ones that are read; values are the running kernel's. */
enum vcpu_sysreg {
	SCTLR_EL1,
	TTBR0_EL1,
	TTBR1_EL1,
	TCR_EL1,
	VBAR_EL1,
	TPIDR_EL0,
	TPIDR_EL1,
	SP_EL1,
	ELR_EL1,
	TPIDRRO_EL0,
};

struct kvm_cpu_context {
	struct regs_arm64 regs;		/* a struct user_pt_regs */
	u64 sys_regs[1];
} HOST_TYPE;

struct kvm_vcpu_arch {
	struct kvm_cpu_context ctxt;
} HOST_TYPE;

#else

struct kvm_vcpu_arch {
	/*
	 * By the x86 instruction set's numbers, and up to 3b4ec7dcdf89 ("KVM: x86: Add dedicated
	 * storage for guest RIP", Linux 7.2) RIP as the next. Intel: bits of .regs_avail say which
	 * are the guest's of now; the others KVM has not fetched since the guest ran.
	 */
	unsigned long regs[17];
	unsigned long cr3;
	u32 hflags;
	u32 regs_avail;
	u8 handling_intr_from_guest;
} HOST_TYPE;

/* The same of Linux 7.2 and later: RIP has a place of its own, and .regs_avail is a bitmap. */
struct kvm_vcpu_arch___rip {
	unsigned long rip;
	unsigned long regs_avail[1];
} HOST_TYPE;

#endif

/* Of an event that is a clock: its timer. */
struct timerqueue_node {
	s64 expires;		/* ns */
} HOST_TYPE;

/* A CPU's timers. */
struct hrtimer_cpu_base {
	s64 expires_next;	/* ns: when the CPU's own timer is due, for the first of them */
} HOST_TYPE;

struct hrtimer_clock_base {
	struct hrtimer_cpu_base *cpu_base;
} HOST_TYPE;

struct hrtimer {
	struct timerqueue_node node;
	struct hrtimer_clock_base *base;
} HOST_TYPE;

/* A CPU's. */
struct kernel_stat {
	unsigned long irqs_sum;		/* interrupts that it has served */
} HOST_TYPE;

struct hw_perf_event {
	struct hrtimer hrtimer;
} HOST_TYPE;

struct perf_event {
	struct hw_perf_event hw;
} HOST_TYPE;

/* What the context of a program on a perf event is in the kernel. */
struct bpf_perf_event_data_kern {
	struct perf_event *event;
} HOST_TYPE;

struct task_struct {
	unsigned int flags;
} HOST_TYPE;

/* Whole types, for libbpf takes no forward declarations in a function of the kernel's. */
struct bpf_map {
	void *key;
} HOST_TYPE;

struct kvm_run;

struct kvm_vcpu {
	struct kvm *kvm;
	int cpu;
	struct kvm_run *run;
	struct kvm_vcpu_arch arch;
} HOST_TYPE;

/* Layout of hardware: see bpf/regs-amd.h. */
struct vmcb;

struct kvm_vmcb_info {
	struct vmcb *ptr;
} HOST_TYPE;

struct vcpu_svm {
	struct kvm_vcpu vcpu;
	struct vmcb *vmcb;		/* in use */
	struct kvm_vmcb_info vmcb01;	/* the guest's own, not that of a guest nested in it */
	u8 awaiting_iret_completion;	/* is there since 6.4: see in_smm() */
} HOST_TYPE;

/* Intel: is the guest that runs a nested one? */
struct loaded_vmcs {
	void *vmcs;
} HOST_TYPE;

union vmx_exit_reason {
	u32 full;
} HOST_TYPE;

struct vcpu_vt {
	union vmx_exit_reason exit_reason;
} HOST_TYPE;

struct vcpu_vmx {
	struct kvm_vcpu vcpu;
	struct loaded_vmcs vmcs01;
	struct loaded_vmcs *loaded_vmcs;
	union vmx_exit_reason exit_reason;
} HOST_TYPE;

/* Since VMX and TDX share some of it (Linux 6.15). */
struct vcpu_vmx___vt {
	struct vcpu_vt vt;
} HOST_TYPE;

#endif
