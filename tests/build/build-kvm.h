/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host kernel with a VM in it: BTF that describes KVM's structures in the form of one release or
 * another, and the structures themselves in a fake memory, laid out by that BTF.
 */
#ifndef BUILD_KVM_H
#define BUILD_KVM_H

#include "mem/fake.h"
#include "mem/slots.h"
#include "vm/kvm.h"

struct btf;

enum build_kvm_form {
	BUILD_KVM_ARRAYS,	/* as in 5.10: sorted array of slots, array of vCPUs */
	BUILD_KVM_TREES,	/* as since 5.17: red-black tree, xarray */
};

struct build_kvm {
	enum build_kvm_form form;
	struct btf *btf;
	struct vm_layout layout;
	struct mem_fake *memory;
	struct kernel_mem kernel;
	struct kvm_reader reader;
	u64 kvm;		/* address of the VM's struct kvm */
	u64 next;		/* where the next structure goes */
	u32 nr_vcpus;
};

/* 0 or negative errno; the BTF, the layout by it, and a VM without vCPUs and slots. */
int build_kvm_init(struct build_kvm *kvm, enum build_kvm_form form);
void build_kvm_deinit(struct build_kvm *kvm);

/* The address of a new zeroed structure of @size bytes. */
u64 build_kvm_alloc(struct build_kvm *kvm, size_t size);

/* Writes a value into kernel memory. */
void build_kvm_put(struct build_kvm *kvm, u64 addr, u64 value, size_t size);

/* Replaces the VM's slots. @ids may be NULL: 0, 1, 2… Only gpa, size, hva and flags are used. */
void build_kvm_slots(struct build_kvm *kvm, u64 generation, const struct mem_slot *slots,
		     const s16 *ids, u32 nr);

/* Adds a vCPU that runs in thread @tid, or has not run yet: 0. Returns its address. */
u64 build_kvm_vcpu(struct build_kvm *kvm, u32 id, u32 tid);

/* The address of a member in BTF terms, for what has no function here. */
u64 build_kvm_member(const struct build_kvm *kvm, u64 base, const char *type, const char *path);

#endif
