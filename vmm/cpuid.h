/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's processors say of themselves: all that KVM supports. */
#ifndef VMM_CPUID_H
#define VMM_CPUID_H

struct vpmu_vm;

/*
 * Sets it for the vCPU with APIC id @id; each is a package of its own. With the PMU @pmu; NULL:
 * with what KVM says of one. Negative errno.
 */
int cpuid_set(int kvm_fd, int vcpu_fd, unsigned int id, const struct vpmu_vm *pmu);

#endif
