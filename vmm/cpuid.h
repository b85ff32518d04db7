/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's processors say of themselves: all that KVM supports. */
#ifndef VMM_CPUID_H
#define VMM_CPUID_H

/* Sets it for the vCPU with APIC id @id; each is a package of its own. Negative errno. */
int cpuid_set(int kvm_fd, int vcpu_fd, unsigned int id);

#endif
