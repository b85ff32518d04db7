/* SPDX-License-Identifier: GPL-2.0-only */
/* What bpf/host.bpf.c and the user of it have in common. */
#ifndef VM_HOST_WIRE_H
#define VM_HOST_WIRE_H

#include "base/addr.h"

#define HOST_READ_MAX 4096	/* bytes that one run of read_kernel reads at most */

/* One open vCPU file, as the iterator writes it. */
struct host_vcpu_file {
	u64 kvm_vcpu;	/* its struct kvm_vcpu */
	u64 mm;		/* of the task that has the file open */
	u32 pid;	/* thread group of that task, in the first pid namespace */
	u32 pad;
};

#endif
