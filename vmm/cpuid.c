/* SPDX-License-Identifier: GPL-2.0-only */
/* The host's CPUID, but for what tells one processor from the other. */
#include "cpuid.h"

#include <errno.h>
#include <linux/kvm.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vpmu/vpmu.h"

#define MAX_ENTRIES 256
#define HYPERVISOR (1U << 31)	/* 1.ecx */
#define TSC_DEADLINE (1U << 24)	/* 1.ecx; KVM leaves it to who has its APIC in the kernel */
#define HTT (1U << 28)		/* 1.edx */

/*
 * Family, model and stepping. No processor of Intel's family 6 has model 255. AMD's is a K8, of
 * family 15 (0FH, not 15H), as QEMU's qemu64 is one: Linux' PMU driver knows it, by what all
 * processors from K7 on have, and adds more for family 15H and from 17H on only
 * (arch/x86/events/amd/core.c, amd_pmu_event_map() and amd_core_pmu_init()).
 */
#define SIGNATURE_INTEL 0x000f06f0
#define SIGNATURE_AMD 0x00060fb1
#define SIGNATURE 0x0fff3fff
/* What Intel's processors have in 8000_0001H, and how far their leaves go. */
#define INTEL_EXTENDED_ECX 0x121	/* LAHF, LZCNT, PREFETCHW */
#define INTEL_EXTENDED_EDX 0x2c100800	/* SYSCALL, NX, 1 GiB pages, RDTSCP, long mode */
#define INTEL_LAST_EXTENDED 0x80000008
/* KVM's own leaf: what a guest does by hypercalls: waking a CPU, sending IPIs, yielding. */
#define KVM_FEATURES 0x40000001
#define KVM_HYPERCALLS (1U << 7 | 1U << 11 | 1U << 13)

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
	if (!find(cpuid, function))
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

static void set_name(struct kvm_cpuid_entry2 *entry, const char name[12])
{
	memcpy(&entry->ebx, name, 4);
	memcpy(&entry->edx, name + 4, 4);
	memcpy(&entry->ecx, name + 8, 4);
}

static bool has_name(const struct kvm_cpuid_entry2 *entry, const char name[12])
{
	struct kvm_cpuid_entry2 other = { 0 };

	set_name(&other, name);
	return entry->ebx == other.ebx && entry->ecx == other.ecx && entry->edx == other.edx;
}

static void set_signature(struct kvm_cpuid_entry2 *entry, uint32_t signature)
{
	entry->eax = (entry->eax & ~SIGNATURE) | signature;
}

/* Of what both vendors have in these leaves the guest's are for the other one to say. */
static void become_intel(struct kvm_cpuid_entry2 *entry)
{
	switch (entry->function) {
	case 0:
		set_name(entry, "GenuineIntel");
		break;
	case 1:
		set_signature(entry, SIGNATURE_INTEL);
		break;
	case 0x80000000:
		if (entry->eax > INTEL_LAST_EXTENDED)
			entry->eax = INTEL_LAST_EXTENDED;
		entry->ebx = entry->ecx = entry->edx = 0;
		break;
	case 0x80000001:
		entry->eax = entry->ebx = 0;
		entry->ecx &= INTEL_EXTENDED_ECX;
		entry->edx &= INTEL_EXTENDED_EDX;
		break;
	}
}

static void become_amd(struct kvm_cpuid_entry2 *entry)
{
	switch (entry->function) {
	case 0:
	case 0x80000000:
		set_name(entry, "AuthenticAMD");
		break;
	case 1:
	case 0x80000001:
		set_signature(entry, SIGNATURE_AMD);
		break;
	}
}

/*
 * Linux takes the instruction of the vendor that it sees. The processor has the other one, and KVM,
 * which would write that into the guest's kernel, makes a page fault of it: the text is read-only.
 */
static void drop_hypercalls(struct kvm_cpuid_entry2 *entry)
{
	if (entry->function == KVM_FEATURES)
		entry->eax &= ~KVM_HYPERCALLS;
}

static void set_vendor(struct kvm_cpuid2 *cpuid, enum vpmu_vendor vendor)
{
	static const char *const names[] = {
		[VPMU_INTEL] = "GenuineIntel", [VPMU_AMD] = "AuthenticAMD" };
	const struct kvm_cpuid_entry2 *first = find(cpuid, 0);

	if (!first || has_name(first, names[vendor]))
		return;
	for (uint32_t i = 0; i < cpuid->nent; i++) {
		drop_hypercalls(&cpuid->entries[i]);
		if (vendor == VPMU_INTEL)
			become_intel(&cpuid->entries[i]);
		else
			become_amd(&cpuid->entries[i]);
	}
}

void cpuid_make(struct kvm_cpuid2 *cpuid, unsigned int id, bool deadline, const struct vpmu_vm *pmu)
{
	for (unsigned int i = 0; i < cpuid->nent; i++)
		set_entry(&cpuid->entries[i], id, deadline);
	if (!pmu)
		return;
	set_vendor(cpuid, vpmu_vm_vendor(pmu));
	add_pmu(cpuid, pmu);
}

int cpuid_set(int kvm_fd, int vcpu_fd, unsigned int id, const struct vpmu_vm *pmu)
{
	bool deadline = ioctl(kvm_fd, KVM_CHECK_EXTENSION, KVM_CAP_TSC_DEADLINE_TIMER) > 0;
	struct kvm_cpuid2 *cpuid;
	int err = 0;

	cpuid = calloc(1, sizeof(*cpuid) +
			  (MAX_ENTRIES + CPUID_MORE) * sizeof(cpuid->entries[0]));
	if (!cpuid)
		return -ENOMEM;
	cpuid->nent = MAX_ENTRIES;
	if (ioctl(kvm_fd, KVM_GET_SUPPORTED_CPUID, cpuid))
		err = -errno;
	if (!err)
		cpuid_make(cpuid, id, deadline, pmu);
	if (!err && ioctl(vcpu_fd, KVM_SET_CPUID2, cpuid))
		err = -errno;
	free(cpuid);
	return err;
}
