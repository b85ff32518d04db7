/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The KVM guests of this host: VMM processes, their VMs, vCPUs and memory slots, read from the
 * host kernel's own structures, so that every VMM looks the same.
 */
#ifndef VM_VM_H
#define VM_VM_H

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"
#include "mem/process.h"
#include "mem/slots.h"
#include "model/regs.h"

struct btf;

#define VM_NAME_LEN 128
#define VM_KICK_WORK (-1)	/* no signal: task work of the host kernel's makes vCPUs exit */

enum vm_vendor {
	VM_VENDOR_UNKNOWN,
	VM_VENDOR_AMD,
	VM_VENDOR_INTEL,
	VM_VENDOR_ARM,
};

struct vm_vcpu {
	u32 id;			/* KVM's vcpu_id */
	pid_t tid;		/* host thread; 0 until it first runs, or when it has ended */
	u64 kvm_vcpu;		/* kernel address of its struct kvm_vcpu */
	u64 run_hva;		/* its kvm_run page in the VMM; 0 when not found */
};

/* One VM. */
struct vm {
	pid_t pid;		/* VMM process, as the host numbers it, in a container or not */
	u64 start_time;		/* of the process; with the pid it names the process for good */
	u64 kvm;		/* kernel address of its struct kvm; identifies the VM */
	char name[VM_NAME_LEN];	/* VMM's own (-name), else "VMM-PID"; the user's text: escape it */
	char vmm[32];		/* "qemu", "firecracker", … or the program's name */
	/* 0: not known for this VMM, or the VMM does not catch it; or VM_KICK_WORK. */
	int kick_signal;
	u64 caught_signals;	/* those that the VMM has handlers for: bit NUMBER - 1 */
	bool confidential;	/* SEV, TDX, guest_memfd, …: refused */
	const char *confidential_kind;	/* which, a constant; NULL when it is not */
	bool lazy;		/* arm64: see kvm_arm64_lazy() */
	VEC(struct vm_vcpu) vcpus;
	struct mem_slots slots;
	u64 memory;		/* bytes in its slots that are RAM */
};

/*
 * The host kernel's view: finds VMs. Needs root. Two sources for kernel memory: BPF, or
 * /proc/kcore where BPF does not work.
 */
struct vm_host;

enum vm_source {
	VM_SOURCE_AUTO,		/* BPF if it works, else kcore */
	VM_SOURCE_BPF,
	VM_SOURCE_KCORE,
};

/* On failure *@ret_why, a constant, says what is missing and what to do about it. */
int vm_host_open(struct vm_host **ret, const char **ret_why);
int vm_host_open_source(enum vm_source source, struct vm_host **ret, const char **ret_why);
void vm_host_close(struct vm_host *host);
DEFINE_CLEANUP(struct vm_host *, vm_host_close)

enum vm_vendor vm_host_vendor(const struct vm_host *host);

/* VM_SOURCE_BPF or VM_SOURCE_KCORE; *@ret_why (may be NULL) says why it is not BPF, or is NULL. */
enum vm_source vm_host_source(const struct vm_host *host, const char **ret_why);

struct vm_unread {
	u64 kvm;
	pid_t pid;
	int error;		/* -EAGAIN: it changed faster than we read */
};
struct vm_list {
	VEC(struct vm *) vms;
	VEC(struct vm_unread) unread;	/* are there, but could not be read */
};

/*
 * All VMs now, or those of VMM @pid when it is not 0, by pid. A VM that goes away meanwhile is left
 * out. The caller frees with vm_list_deinit().
 */
int vm_host_scan(struct vm_host *host, pid_t pid, struct vm_list *ret);
void vm_list_deinit(struct vm_list *list);
void vm_destroy(struct vm *vm);

/* Reads the slots again. 0; *@ret_changed says whether they differ; -ESRCH when the VM is gone. */
int vm_host_refresh_slots(struct vm_host *host, struct vm *vm, bool *ret_changed);

/*
 * Whether @vcpu runs a guest of its guest; false where that is not known. Cheap, as the next one.
 */
bool vm_host_is_nested(struct vm_host *host, const struct vm_vcpu *vcpu);

/*
 * KVM's generation of the slots of @kvm now; where it differs from that of a table of slots, the
 * table is old. Cheap, for use at every sample; does not see that the VM is gone.
 */
int vm_host_slots_generation(struct vm_host *host, u64 kvm, u64 *ret);

/* The VM's memory, by the slots it has now. -EOPNOTSUPP for a confidential one, -ESRCH, -EPERM. */
int vm_open_memory(const struct vm *vm, struct mem_process **ret);

/*
 * The vCPU's registers as they were when it last left guest mode, for finding the guest's kernel.
 * Not for samples: nobody holds the vCPU still. -EOPNOTSUPP where they are not in memory.
 * On Intel: what kvm_peek_vmx() finds.
 */
int vm_host_peek_regs(struct vm_host *host, const struct vm_vcpu *vcpu, struct vcpu_regs *ret);

/* What KVM counts of a vCPU's halts, in ns since the vCPU was made. */
struct vm_vcpu_halt {
	u64 wait;	/* asleep until there was work for it; the sleep that lasts is not in it */
	u64 poll;	/* its thread awake and looking for such work */
	bool blocking;	/* halted now */
};

/* -EOPNOTSUPP before Linux 5.15, which does not count it. */
int vm_host_vcpu_halt(struct vm_host *host, const struct vm_vcpu *vcpu, struct vm_vcpu_halt *ret);

/* The host's perf events that KVM has made for counters that the guest itself has switched on. */
struct vm_vcpu_counters {
	u32 nr;
	u32 failed;	/* another event has the counter: the guest's stands still, untold */
	u64 enabled, running;	/* ns, added up: how long they were to count, and did */
};

/* -EOPNOTSUPP: the layout is not known; -EAGAIN: they changed faster than we read. */
int vm_host_vcpu_counters(struct vm_host *host, const struct vm_vcpu *vcpu,
			  struct vm_vcpu_counters *ret);

/* Whether vCPUs can be kicked without a signal, by BPF's task work. */
bool vm_host_has_task_work(const struct vm_host *host);

/*
 * The same by the kernel's own types: bpf_task_work_schedule_signal() with four arguments, since
 * 7.0. In 6.18 there is only one with another name and one more.
 */
bool vm_kernel_has_task_work(const struct btf *kernel);

/*
 * Bytes from a CPU's hrtimer_bases to its kstat, both of them variables of the kernel's; 0: not
 * known. Kernels without CONFIG_KALLSYMS_ALL, as Debian's 6.1 for arm64, do not say where they are.
 */
s64 vm_host_irqs_from_timers(const struct vm_host *host);

/*
 * Where KVM on Intel keeps of its vCPU what it does not tell of in kvm_run: offsets from the
 * address of the struct kvm_vcpu; 0: not known, or not Intel. They hold while the vCPU's thread is
 * in user space.
 */
struct vm_vmx_msrs {
	u32 lstar;
	u32 kernel_gs_base;
};
void vm_host_vmx_msrs(const struct vm_host *host, struct vm_vmx_msrs *ret);

/* Why vm_host_peek_regs() cannot work on this host, a constant; NULL when it can. */
const char *vm_host_peek_why(const struct vm_host *host);

#endif
