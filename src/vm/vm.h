/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The KVM guests of this host: VMM processes, their VMs, vCPUs and memory slots, read from the
 * host kernel's own structures, so that every VMM looks the same.
 */
#ifndef VM_VM_H
#define VM_VM_H

#include "base/types.h"
#include "base/vec.h"
#include "mem/slots.h"
#include "model/regs.h"

#define VM_NAME_LEN 128

enum vm_vendor {
	VM_VENDOR_UNKNOWN,
	VM_VENDOR_AMD,
	VM_VENDOR_INTEL,
	VM_VENDOR_ARM,
};

struct vm_vcpu {
	u32 id;			/* KVM's vcpu_id */
	pid_t tid;		/* host thread; 0 until it first runs */
	u64 kvm_vcpu;		/* kernel address of its struct kvm_vcpu */
	u64 run_hva;		/* its kvm_run page in the VMM; 0 when not found */
};

/* One VM. */
struct vm {
	pid_t pid;		/* VMM process */
	u64 kvm;		/* kernel address of its struct kvm; identifies the VM */
	char name[VM_NAME_LEN];	/* VMM's own (-name), else "VMM-PID" */
	char vmm[32];		/* "qemu", "firecracker", … or the program's name */
	int kick_signal;	/* 0: not known for this VMM */
	bool confidential;	/* SEV, TDX, …: refused */
	const char *confidential_kind;
	VEC(struct vm_vcpu) vcpus;
	struct mem_slots slots;
	u64 memory;		/* bytes in its slots that are RAM */
};

/*
 * The host kernel's view: finds VMs. Needs root. Two sources for kernel memory: BPF, or
 * /proc/kcore where BPF does not work.
 */
struct vm_host;

int vm_host_open(struct vm_host **ret, const char **ret_why);
void vm_host_close(struct vm_host *host);
enum vm_vendor vm_host_vendor(const struct vm_host *host);

/* All VMs now, or those of VMM @pid when it is not 0. The caller frees with vm_list_deinit(). */
struct vm_list {
	VEC(struct vm *) vms;
};
int vm_host_scan(struct vm_host *host, pid_t pid, struct vm_list *ret);
void vm_list_deinit(struct vm_list *list);
void vm_destroy(struct vm *vm);

/* Reads the slots again. 0; *@ret_changed says whether they differ; -ESRCH when the VM is gone. */
int vm_host_refresh_slots(struct vm_host *host, struct vm *vm, bool *ret_changed);

/*
 * The vCPU's registers as they were when it last left guest mode, for finding the guest's kernel.
 * Not for samples: nobody holds the vCPU still.
 */
int vm_host_peek_regs(struct vm_host *host, const struct vm_vcpu *vcpu, struct vcpu_regs *ret);

#endif
