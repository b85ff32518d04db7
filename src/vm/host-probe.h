/* SPDX-License-Identifier: GPL-2.0-only */
/* The host kernel through BPF: kernel memory, and the vCPU files that processes have open. */
#ifndef VM_HOST_PROBE_H
#define VM_HOST_PROBE_H

#include "base/types.h"
#include "vm/host-wire.h"
#include "vm/kernel.h"

struct host_probe;

/* @vcpu_release is the address of kvm_vcpu_release(). -EOPNOTSUPP in a build without BPF. */
int host_probe_open(u64 vcpu_release, struct host_probe **ret);
void host_probe_close(struct host_probe *probe);

/* Valid as long as @probe is; closing it closes @probe. */
struct kernel_mem *host_probe_kernel(struct host_probe *probe);

/* Calls @fn for each vCPU file that is open, once for each process and descriptor. */
int host_probe_vcpu_files(struct host_probe *probe,
			  int (*fn)(const struct host_vcpu_file *file, void *arg), void *arg);

#endif
