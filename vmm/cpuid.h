/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's processors say of themselves: all that KVM supports. */
#ifndef VMM_CPUID_H
#define VMM_CPUID_H

#include <stdbool.h>

struct kvm_cpuid2;
struct vpmu_vm;

/* Leaves that may come to those of KVM. */
#define CPUID_MORE 2

/*
 * Changes what KVM supports, in @cpuid, which has room for CPUID_MORE entries more, into what the
 * vCPU with APIC id @id says. @deadline: its APIC's timer has a deadline mode.
 */
void cpuid_make(struct kvm_cpuid2 *cpuid, unsigned int id, bool deadline,
		const struct vpmu_vm *pmu);

/*
 * Sets it for the vCPU with APIC id @id; each is a package of its own. With the PMU @pmu; NULL:
 * with what KVM says of one. Where that is of another vendor than the host's processor, the
 * guest's is of that vendor, too: by its name, and by a family and model for which Linux' driver
 * of the PMU has nothing in particular but what it takes from CPUID. Negative errno.
 */
int cpuid_set(int kvm_fd, int vcpu_fd, unsigned int id, const struct vpmu_vm *pmu);

#endif
