/* SPDX-License-Identifier: GPL-2.0-only */
/* The map contents that the capture programs and user space share. */
#ifndef BPF_SHARED_H
#define BPF_SHARED_H

#include "base/addr.h"

#define CAPTURE_MAX_VMS 1024
#define CAPTURE_MAX_VCPUS 16384

/* The value for one vCPU thread; the key is its host tid. */
struct capture_vcpu {
	u64 kvm_vcpu;		/* host kernel's struct kvm_vcpu * */
	u64 percpu;		/* guest's per-CPU base on this vCPU, once it has been seen */
	u32 vm;			/* index */
	u32 id;			/* KVM's vcpu_id */

	/* Deferred mode: the event that waits for its exit. */
	u32 pending;		/* 1: the fields below hold */
	u32 pid;		/* of the VMM */
	u64 pending_time;
	u64 pending_period;
	u64 pending_pc;		/* 0: not known at the event */

	/* Tracepoints. */
	u64 hits;		/* since the last sample */
	u64 last_time;
};

/* Per-CPU counters of one VM; the order of struct capture_counts. */
enum capture_counter {
	COUNT_EVENTS,
	COUNT_SAMPLES,
	COUNT_HOST,
	COUNT_FILTERED,
	COUNT_LOST_RING,
	COUNT_LOST_PENDING,
	COUNT_LOST_SIGNAL,
	COUNT_LOST_EXIT,
	COUNT_LOST_STOP,
	COUNT_LOST_KERNEL,
	COUNT_UNKNOWN_VCPU,
	COUNT_NR,
};

struct capture_vm_counts {
	u64 values[COUNT_NR];
};

#define CAPTURE_NO_VM CAPTURE_MAX_VMS	/* counts what is no VM's that we know */

#endif
