/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's CPUID, but for what tells one processor from the other. */
#include "cpuid.h"

#include <errno.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#define MAX_ENTRIES 256
#define HYPERVISOR (1U << 31)	/* 1.ecx */
#define TSC_DEADLINE (1U << 24)	/* 1.ecx; KVM leaves it to who has its APIC in the kernel */
#define HTT (1U << 28)		/* 1.edx */

static void set_features(struct kvm_cpuid_entry2 *entry, unsigned int id, bool deadline)
{
	entry->ebx = (entry->ebx & 0xff00) | id << 24 | 1 << 16;
	entry->ecx |= HYPERVISOR | (deadline ? TSC_DEADLINE : 0);
	entry->edx &= ~HTT;
}

static void set_entry(struct kvm_cpuid_entry2 *entry, unsigned int id, bool deadline)
{
	switch (entry->function) {
	case 1:
		set_features(entry, id, deadline);
		break;
	case 0xb:
	case 0x1f:
		/* No levels: the guest takes leaf 1 for its topology. */
		entry->eax = entry->ebx = 0;
		entry->edx = id;
		break;
	case 4:
		entry->eax &= 0x3fff;	/* no caches or cores that are shared */
		break;
	case 0x80000008:
		entry->ecx &= ~0xf0ffU;	/* one core a package */
		break;
	case 0x8000001e:
		entry->eax = id;
		entry->ebx = id;
		break;
	}
}

int cpuid_set(int kvm_fd, int vcpu_fd, unsigned int id)
{
	bool deadline = ioctl(kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_TSC_DEADLINE_TIMER) > 0;
	struct kvm_cpuid2 *cpuid;
	int err = 0;

	cpuid = calloc(1, sizeof(*cpuid) + MAX_ENTRIES * sizeof(cpuid->entries[0]));
	if (!cpuid)
		return -ENOMEM;
	cpuid->nent = MAX_ENTRIES;
	if (ioctl(kvm_fd, KVM_GET_SUPPORTED_CPUID, cpuid))
		err = -errno;
	for (unsigned int i = 0; !err && i < cpuid->nent; i++)
		set_entry(&cpuid->entries[i], id, deadline);
	if (!err && ioctl(vcpu_fd, KVM_SET_CPUID2, cpuid))
		err = -errno;
	free(cpuid);
	return err;
}
