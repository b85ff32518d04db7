/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's CPUID, but for what tells one processor from the other. */
#include "cpuid.h"

#include <errno.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "vpmu/vpmu.h"

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

static void set_pmu(struct kvm_cpuid_entry2 *entry, const struct vpmu_vm *pmu)
{
	uint32_t regs[4] = { entry->eax, entry->ebx, entry->ecx, entry->edx };

	vpmu_vm_cpuid(pmu, entry->function, entry->index, regs);
	entry->eax = regs[0];
	entry->ebx = regs[1];
	entry->ecx = regs[2];
	entry->edx = regs[3];
}

static struct kvm_cpuid_entry2 *find(struct kvm_cpuid2 *cpuid, uint32_t function)
{
	for (uint32_t i = 0; i < cpuid->nent; i++)
		if (cpuid->entries[i].function == function)
			return &cpuid->entries[i];
	return NULL;
}

/*
 * A leaf that the PMU needs, also where KVM has none; the range's first leaf says how far it
 * goes.
 */
static void add_leaf(struct kvm_cpuid2 *cpuid, uint32_t function)
{
	struct kvm_cpuid_entry2 *first = find(cpuid, function & 0x80000000);

	if (first && first->eax < function)
		first->eax = function;
	if (!find(cpuid, function) && cpuid->nent < MAX_ENTRIES)
		cpuid->entries[cpuid->nent++] = (struct kvm_cpuid_entry2){ .function = function };
}

static void add_pmu(struct kvm_cpuid2 *cpuid, const struct vpmu_vm *pmu)
{
	static const uint32_t leaves[] = { 0xa, 0x80000022 };

	for (unsigned int i = 0; i < sizeof(leaves) / sizeof(*leaves); i++)
		if (vpmu_vm_cpuid_needs(pmu, leaves[i]))
			add_leaf(cpuid, leaves[i]);
	for (uint32_t i = 0; i < cpuid->nent; i++)
		set_pmu(&cpuid->entries[i], pmu);
}

int cpuid_set(int kvm_fd, int vcpu_fd, unsigned int id, const struct vpmu_vm *pmu)
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
	if (!err && pmu)
		add_pmu(cpuid, pmu);
	if (!err && ioctl(vcpu_fd, KVM_SET_CPUID2, cpuid))
		err = -errno;
	free(cpuid);
	return err;
}
