/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vCPU on arm64 as the capture programs see it.
 *
 * General registers, SP_EL0, the pc and PSTATE are in memory from each exit on (__guest_exit() and
 * __sysreg_save_el2_return_state() in arch/arm64/kvm/hyp). What is left of the guest's state, its
 * EL1 system registers, the kernel's stack pointer among them, comes to memory at each exit, too,
 * where the host runs in EL1; a host in EL2 (VHE) leaves it in the CPU until the vCPU is put
 * (kvm_vcpu_put_sysregs_vhe()), which it is before it goes out to user space.
 */
#ifndef BPF_VCPU_ARM64_H
#define BPF_VCPU_ARM64_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/host-types.h"
#include "arch/arm64-kvm.h"
#include "bpf/entry.h"
#include "bpf/shared.h"

#define HOST_PF_VCPU 1		/* PF_VCPU, include/linux/sched.h */

/* Room for the registers as KVM has them. */
struct regs_work {
	struct regs_arm64 regs;
};

/*
 * Whether the event ended guest mode of @vcpu, which this CPU has loaded. KVM has interrupts off
 * from before it enters the guest to after it has left it, but for one moment in which it takes
 * those that are due, behind an exit by an interrupt only; just as long the task is said to run a
 * vCPU (guest_timing_exit_irqoff()). What comes due around another exit is taken behind that.
 */
static __always_inline int in_guest(struct kvm_vcpu *vcpu)
{
	const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, flags) & HOST_PF_VCPU &&
	       BPF_CORE_READ(vcpu, cpu) == (int)bpf_get_smp_processor_id();
}

/* The pc at the event. */
static __always_inline u64 event_pc(const struct capture_vcpu *vcpu)
{
	const struct kvm_vcpu *kvm_vcpu = (const struct kvm_vcpu *)vcpu->kvm_vcpu;
	u64 pc = 0;

	bpf_core_read(&pc, sizeof(pc), &kvm_vcpu->arch.ctxt.regs.pc);
	return pc;
}

/* Bytes from a CPU's hrtimer_bases to its kstat, set before loading; 0: not known. */
const volatile s64 irqs_from_timers;

/* This CPU's hrtimer_bases, as a clock that came due on it has shown; 0: none has yet. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} cpu_timers SEC(".maps");

/* How many interrupts the CPU of @timers has served, with the one that it is at. 0: not known. */
static __always_inline u64 served_irqs(u64 timers)
{
	const struct kernel_stat *stat = (const struct kernel_stat *)(timers + irqs_from_timers);

	return timers && irqs_from_timers ? BPF_CORE_READ(stat, irqs_sum) : 0;
}

/* When its timer is due, for whichever of the kernel's. */
static __always_inline u64 next_timer(u64 timers)
{
	const struct hrtimer_cpu_base *base = (const struct hrtimer_cpu_base *)timers;

	if (!timers || !bpf_core_field_exists(base->expires_next))
		return ~0ULL;
	return BPF_CORE_READ(base, expires_next);
}

/* KVM enters the guest at @pc. */
static __always_inline void note_entry(struct capture_vcpu *vcpu, u64 pc)
{
	u32 zero = 0;
	const u64 *timers = bpf_map_lookup_elem(&cpu_timers, &zero);

	if (timers)
		entry_note(&vcpu->entry, pc, next_timer(*timers), served_irqs(*timers),
			   bpf_ktime_get_ns());
}

/*
 * Whether the clock that @ctx is of came due in the guest, where in_guest() holds. A function of
 * its own, whose part of the stack is free again when the shot is taken.
 */
static __attribute__((noinline)) int clock_in_guest(const void *ctx, struct capture_vcpu *vcpu)
{
	const struct bpf_perf_event_data_kern *kern = ctx;
	struct perf_event *event = NULL;
	struct entry_event at = { .pc = event_pc(vcpu), .last = vcpu->timer_last };
	u32 zero = 0;
	u64 *timers = bpf_map_lookup_elem(&cpu_timers, &zero);

	if (!timers || !bpf_core_field_exists(event->hw.hrtimer.node.expires) ||
	    bpf_core_read(&event, sizeof(event), &kern->event))
		return 1;
	*timers = (u64)BPF_CORE_READ(event, hw.hrtimer.base, cpu_base);
	at.due = BPF_CORE_READ(event, hw.hrtimer.node.expires);
	at.irqs = served_irqs(*timers);
	at.now = bpf_ktime_get_ns();
	vcpu->entry_cpu = bpf_get_smp_processor_id();
	return entry_is_guests(&vcpu->entry, &at);
}

/* At the exit to user space: whether the clocks that wait came due in the host after all. */
static __attribute__((noinline)) int clock_taken_back(struct capture_vcpu *vcpu)
{
	u32 zero = 0;
	const u64 *timers = bpf_map_lookup_elem(&cpu_timers, &zero);

	return timers && vcpu->entry_cpu == bpf_get_smp_processor_id() &&
	       entry_take_back(&vcpu->entry, served_irqs(*timers));
}

/* One system register, out of memory; 0 when it cannot be read. */
static __always_inline u64 read_sysreg(const struct kvm_vcpu *vcpu, s64 nr)
{
	const char *regs = (const char *)__builtin_preserve_access_index(&vcpu->arch.ctxt.sys_regs);
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), regs + nr * 8);
	return value;
}

/* The numbers differ between releases. */
#define READ_SYSREG(vcpu, name) read_sysreg(vcpu, bpf_core_enum_value(enum vcpu_sysreg, name))

static __always_inline int read_state(struct regs_work *work, const struct kvm_vcpu *vcpu,
				      struct vcpu_regs *regs)
{
	struct arm64_system_regs *sys = &regs->arm64;

	if (bpf_core_read(&work->regs, sizeof(work->regs), &vcpu->arch.ctxt.regs))
		return -1;
	sys->ttbr0 = READ_SYSREG(vcpu, TTBR0_EL1);
	sys->ttbr1 = READ_SYSREG(vcpu, TTBR1_EL1);
	sys->tcr = READ_SYSREG(vcpu, TCR_EL1);
	sys->sctlr = READ_SYSREG(vcpu, SCTLR_EL1);
	sys->vbar = READ_SYSREG(vcpu, VBAR_EL1);
	sys->tpidr_el0 = READ_SYSREG(vcpu, TPIDR_EL0);
	sys->tpidr_el1 = READ_SYSREG(vcpu, TPIDR_EL1);
	sys->sp_el1 = READ_SYSREG(vcpu, SP_EL1);
	sys->elr_el1 = READ_SYSREG(vcpu, ELR_EL1);
	sys->tpidrro_el0 = READ_SYSREG(vcpu, TPIDRRO_EL0);
	regs_set_arm64(regs, &work->regs);
	return 0;
}

/* Registers at the event. 0, or negative: not to be had. */
static __always_inline int regs_at_event(struct regs_work *work, const struct capture_vcpu *vcpu,
					 struct vcpu_regs *regs)
{
	return read_state(work, (const struct kvm_vcpu *)vcpu->kvm_vcpu, regs);
}

/* Whether the pc goes on before the exit to user space: it says so itself. */
static __always_inline int event_moves(const struct capture_vcpu *vcpu)
{
	(void)vcpu;
	return 0;
}

/* The same registers at an exit to user space, when the vCPU has been put. */
static __always_inline int regs_at_exit(struct regs_work *work, const struct capture_vcpu *vcpu,
					struct vcpu_regs *regs)
{
	return regs_at_event(work, vcpu, regs);
}

#endif
