/* SPDX-License-Identifier: GPL-2.0-only */
/* One VM's structures in the host kernel. */
#include "vm/kvm.h"

#include <string.h>

#define MAX_VCPUS 8192		/* KVM_MAX_VCPUS is 4096 at most, in 6.8 */
#define MAX_XA_DEPTH 11		/* 64 bits by 6 */
#define MAX_TREE_STACK 64	/* a red-black tree of 32767 nodes is at most 30 deep */
#define MAX_SLOT_BYTES 1024	/* of struct kvm_memory_slot; about 200 */
#define READ_ATTEMPTS 8
#define INTERNAL_SLOTS 3	/* KVM_INTERNAL_MEM_SLOTS on x86: TSS, identity map, APIC page */
#define SLOT_INVALID (1U << 16)	/* KVM_MEMSLOT_INVALID: being moved or removed */
#define PAGE_SHIFT 12

/* Upstream values of kvm->arch.vm_type, arch/x86/include/uapi/asm/kvm.h, 6.16 */
enum {
	VM_TYPE_DEFAULT = 0,
	VM_TYPE_SW_PROTECTED = 1,
	VM_TYPE_SEV = 2,
	VM_TYPE_SEV_ES = 3,
	VM_TYPE_SNP = 4,
	VM_TYPE_TDX = 5,
};

/* Slots as they are found, in no order. */
typedef VEC(struct mem_slot) slot_vec;

static int compare_slots(const void *a, const void *b)
{
	const struct mem_slot *x = a, *y = b;

	return x->gpa < y->gpa ? -1 : x->gpa > y->gpa;
}

static void get(const u8 *bytes, u32 offset, void *out, size_t size)
{
	memcpy(out, bytes + offset, size);
}

/* Takes the struct kvm_memory_slot in @bytes, unless it is none of the VMM's. */
static int take_slot(const struct vm_layout *l, const u8 *bytes, slot_vec *slots)
{
	u64 base_gfn, npages, hva;
	u32 flags;
	s16 id;

	get(bytes, l->slot_base_gfn, &base_gfn, sizeof(base_gfn));
	get(bytes, l->slot_npages, &npages, sizeof(npages));
	get(bytes, l->slot_userspace_addr, &hva, sizeof(hva));
	get(bytes, l->slot_flags, &flags, sizeof(flags));
	get(bytes, l->slot_id, &id, sizeof(id));
	if (!npages || flags & SLOT_INVALID || (u32)(u16)id >= l->slots_max_id - INTERNAL_SLOTS)
		return 0;
	if (base_gfn >> (64 - PAGE_SHIFT) || npages > (UINT64_MAX >> PAGE_SHIFT) - base_gfn)
		return -EAGAIN;
	return vec_push(slots, (struct mem_slot){
		.gpa = base_gfn << PAGE_SHIFT,
		.size = npages << PAGE_SHIFT,
		.hva = hva,
		.flags = flags,
	});
}

static int read_slot_bytes(const struct kvm_reader *reader, u64 slot, u8 *bytes)
{
	int err;

	if (reader->layout->slot_size > MAX_SLOT_BYTES)
		return -EOPNOTSUPP;
	err = kernel_read(reader->kernel, slot, bytes, reader->layout->slot_size);
	/* It was there a moment ago: somebody is changing the set. */
	return err == -EFAULT ? -EAGAIN : err;
}

/* Since 5.17: a red-black tree by guest frame number, of which each set has its own nodes. */
static int read_slot_tree(const struct kvm_reader *reader, u64 memslots, slot_vec *slots)
{
	const struct vm_layout *l = reader->layout;
	u64 stack[MAX_TREE_STACK], node_offset;
	u32 depth = 0, node_idx, budget = l->slots_max_id;
	int err;

	err = kernel_read_u32(reader->kernel, memslots + l->slots_node_idx, &node_idx);
	err = err ?: kernel_read_u64(reader->kernel, memslots + l->slots_gfn_tree, &stack[0]);
	if (err)
		return err;
	if (node_idx > 1)
		return -EAGAIN;
	node_offset = l->slot_gfn_node + node_idx * l->rb_size;
	depth = stack[0] ? 1 : 0;
	while (depth) {
		u8 bytes[MAX_SLOT_BYTES];
		u64 left, right;

		if (!budget--)
			return -EAGAIN;
		err = read_slot_bytes(reader, stack[--depth] - node_offset, bytes);
		err = err ?: take_slot(l, bytes, slots);
		if (err)
			return err;
		if (depth + 2 > MAX_TREE_STACK)
			return -EAGAIN;
		get(bytes, node_offset + l->rb_left, &left, sizeof(left));
		get(bytes, node_offset + l->rb_right, &right, sizeof(right));
		if (left)
			stack[depth++] = left;
		if (right)
			stack[depth++] = right;
	}
	return 0;
}

/* Before 5.17: an array, the used ones first. */
static int read_slot_array(const struct kvm_reader *reader, u64 memslots, slot_vec *slots)
{
	const struct vm_layout *l = reader->layout;
	u32 used;
	int err;

	err = kernel_read_u32(reader->kernel, memslots + l->slots_used, &used);
	if (err)
		return err;
	if (used > l->slots_max_id)
		return -EAGAIN;
	for (u32 i = 0; !err && i < used; i++) {
		u8 bytes[MAX_SLOT_BYTES];

		err = read_slot_bytes(reader, memslots + l->slots_array + (u64)i * l->slot_size,
				      bytes);
		err = err ?: take_slot(l, bytes, slots);
	}
	return err;
}

static bool in_order(const slot_vec *slots)
{
	for (size_t i = 1; i < slots->nr; i++)
		if (slots->data[i].gpa - slots->data[i - 1].gpa < slots->data[i - 1].size)
			return false;
	return true;
}

/* The set that is active now, and the generation that it has. */
static int read_active_set(const struct kvm_reader *reader, u64 kvm, u64 *ret_memslots,
			   u64 *ret_generation)
{
	const struct vm_layout *l = reader->layout;
	int err = kernel_read_u64(reader->kernel, kvm + l->kvm_memslots, ret_memslots);

	err = err ?: kernel_read_u64(reader->kernel, *ret_memslots + l->slots_generation,
				     ret_generation);
	*ret_generation &= ~MEM_SLOTS_UPDATING;
	return err;
}

int kvm_slots_generation(const struct kvm_reader *reader, u64 kvm, u64 *ret)
{
	u64 memslots, generation;
	int err = read_active_set(reader, kvm, &memslots, &generation);

	if (!err)
		*ret = generation;
	return err;
}

/* -EAGAIN when the set changed while it was read. */
static int read_slots_once(const struct kvm_reader *reader, u64 kvm, slot_vec *slots,
			   u64 *ret_generation)
{
	u64 memslots, generation, memslots_after, generation_after;
	int err;

	slots->nr = 0;
	err = read_active_set(reader, kvm, &memslots, &generation);
	if (err)
		return err;
	if (reader->layout->slots_gfn_tree != LAYOUT_ABSENT)
		err = read_slot_tree(reader, memslots, slots);
	else
		err = read_slot_array(reader, memslots, slots);
	if (err)
		return err;
	err = read_active_set(reader, kvm, &memslots_after, &generation_after);
	if (err)
		return err;
	if (slots->nr)
		qsort(slots->data, slots->nr, sizeof(*slots->data), compare_slots);
	if (memslots != memslots_after || generation != generation_after || !in_order(slots))
		return -EAGAIN;
	*ret_generation = generation;
	return 0;
}

int kvm_read_slots(const struct kvm_reader *reader, u64 kvm, struct mem_slots *ret)
{
	slot_vec slots = VEC_INIT;
	u64 generation = 0;
	int err = -EAGAIN;

	for (int i = 0; i < READ_ATTEMPTS && err == -EAGAIN; i++)
		err = read_slots_once(reader, kvm, &slots, &generation);
	if (!err) {
		ret->generation = generation;
		ret->nr = MIN(slots.nr, (size_t)MEM_MAX_SLOTS);
		ret->cut = slots.nr - ret->nr;
		if (ret->nr)
			memcpy(ret->slots, slots.data, ret->nr * sizeof(*slots.data));
	}
	vec_deinit(&slots);
	return err;
}

/* An entry that points to a node has 2 in its low bits; Documentation/core-api/xarray.rst. */
static bool xa_is_node(u64 entry)
{
	return (entry & 3) == 2 && entry > 4096;
}

/* The entry at @index of an xarray; 0 when there is none. */
static int xa_load(const struct kvm_reader *reader, u64 xarray, u64 index, u64 *ret)
{
	const struct vm_layout *l = reader->layout;
	u32 fanout = l->xa_node_slots_size / sizeof(u64);
	u64 entry;
	int err = kernel_read_u64(reader->kernel, xarray + l->xa_head, &entry);

	/* Without a node the head is the entry at 0. */
	if (!err && !xa_is_node(entry) && index)
		entry = 0;
	for (int depth = 0; !err && xa_is_node(entry); depth++) {
		u64 node = entry - 2;
		u8 shift = 0;

		if (depth == MAX_XA_DEPTH)
			return -EAGAIN;
		err = kernel_read_u8(reader->kernel, node + l->xa_node_shift, &shift);
		if (err)
			break;
		if (shift >= 64)
			return -EAGAIN;
		err = kernel_read_u64(reader->kernel, node + l->xa_node_slots +
				      (index >> shift) % fanout * sizeof(u64), &entry);
	}
	if (!err)
		*ret = entry;
	return err;
}

static int read_vcpu_address(const struct kvm_reader *reader, u64 kvm, u32 index, u64 *ret)
{
	const struct vm_layout *l = reader->layout;

	if (l->kvm_vcpu_array != LAYOUT_ABSENT)
		return xa_load(reader, kvm + l->kvm_vcpu_array, index, ret);
	return kernel_read_u64(reader->kernel, kvm + l->kvm_vcpus + index * sizeof(u64), ret);
}

/* vcpu->pid is NULL until the vCPU first runs. */
static int read_tid(const struct kvm_reader *reader, u64 kvm_vcpu, pid_t *ret)
{
	u64 pid;
	u32 nr;
	int err = kernel_read_u64(reader->kernel, kvm_vcpu + reader->layout->vcpu_pid, &pid);

	if (err)
		return err;
	if (!pid) {
		*ret = 0;
		return 0;
	}
	err = kernel_read_u32(reader->kernel, pid + reader->layout->pid_nr, &nr);
	if (!err)
		*ret = nr;
	return err;
}

static int read_vcpu(const struct kvm_reader *reader, u64 kvm, u64 address, struct vm *vm)
{
	struct vm_vcpu vcpu = { .kvm_vcpu = address };
	u64 owner;
	int err;

	err = kernel_read_u64(reader->kernel, address + reader->layout->vcpu_kvm, &owner);
	err = err ?: kernel_read_u32(reader->kernel, address + reader->layout->vcpu_id, &vcpu.id);
	err = err ?: read_tid(reader, address, &vcpu.tid);
	if (err)
		return err;
	return owner == kvm ? vec_push(&vm->vcpus, vcpu) : -EAGAIN;
}

int kvm_read_vcpus(const struct kvm_reader *reader, u64 kvm, struct vm *vm)
{
	u32 online;
	int err = kernel_read_u32(reader->kernel, kvm + reader->layout->kvm_online_vcpus, &online);

	if (err)
		return err;
	if (online > MAX_VCPUS)
		return -EAGAIN;
	for (u32 i = 0; !err && i < online; i++) {
		u64 address = 0;

		err = read_vcpu_address(reader, kvm, i, &address);
		if (!err && address)
			err = read_vcpu(reader, kvm, address, vm);
	}
	return err;
}

int kvm_read_nested(const struct kvm_reader *reader, u64 kvm_vcpu, enum vm_vendor vendor,
		    bool *ret)
{
	const struct vm_layout *l = reader->layout;
	bool amd = vendor == VM_VENDOR_AMD;
	u32 used_at = amd ? l->svm_vmcb_used : l->vmx_loaded;
	u32 own_at = amd ? l->svm_vmcb : l->vmx_vmcs01;
	u64 used, own = kvm_vcpu + own_at;
	int err;

	if ((!amd && vendor != VM_VENDOR_INTEL) || used_at == LAYOUT_ABSENT ||
	    own_at == LAYOUT_ABSENT)
		return -EOPNOTSUPP;
	err = kernel_read_u64(reader->kernel, kvm_vcpu + used_at, &used);
	/* On AMD it is a pointer, too. */
	if (!err && amd)
		err = kernel_read_u64(reader->kernel, kvm_vcpu + own_at, &own);
	if (!err)
		*ret = used != own;
	return err;
}

static int read_flag(const struct kvm_reader *reader, u64 kvm, u32 offset, u8 *ret)
{
	*ret = 0;
	return offset == LAYOUT_ABSENT ? 0 : kernel_read_u8(reader->kernel, kvm + offset, ret);
}

static int read_vm_type(const struct kvm_reader *reader, u64 kvm, u8 *ret)
{
	/* A byte or a long; little endian and small either way. */
	return read_flag(reader, kvm, reader->layout->kvm_vm_type, ret);
}

static const char *sev_kind(u8 type, u8 active, u8 es_active)
{
	if (type == VM_TYPE_SNP)
		return "SEV-SNP";
	if (type == VM_TYPE_SEV_ES || es_active)
		return "SEV-ES";
	return type == VM_TYPE_SEV || active ? "SEV" : NULL;
}

int kvm_read_confidential(const struct kvm_reader *reader, u64 kvm, enum vm_vendor vendor,
			  const char **ret_kind)
{
	u8 type, active = 0, es_active = 0;
	int err = read_vm_type(reader, kvm, &type);

	/* struct kvm_svm begins with its struct kvm; other vendors have something else behind. */
	if (vendor == VM_VENDOR_AMD) {
		err = err ?: read_flag(reader, kvm, reader->layout->sev_active, &active);
		err = err ?: read_flag(reader, kvm, reader->layout->sev_es_active, &es_active);
	}
	if (err)
		return err;
	if (type == VM_TYPE_TDX)
		*ret_kind = "TDX";
	else if (type == VM_TYPE_SW_PROTECTED)
		*ret_kind = "software-protected";
	else if (type > VM_TYPE_TDX)
		*ret_kind = "of an unknown VM type";
	else
		*ret_kind = sev_kind(type, active, es_active);
	return 0;
}
