/* SPDX-License-Identifier: GPL-2.0-only */
/* A host kernel with a VM in it. The structures are shortened; sizes and offsets are made up. */
#include "build-kvm.h"

#include <bpf/btf.h>
#include <string.h>

#define KERNEL_BASE 0xffff888000100000ULL
#define PAGE_SHIFT 12
#define XA_FANOUT 64

/* Types by name while the BTF is written. */
struct ids {
	int u8, u16, u32, u64, s16, pointer;
};

struct field {
	const char *name;
	int type;
	u32 offset;	/* bytes */
};

static int add_struct(struct btf *btf, const char *name, u32 size, const struct field *fields)
{
	int id = btf__add_struct(btf, name, size);

	for (const struct field *f = fields; f->type; f++)
		btf__add_field(btf, f->name, f->type, f->offset * 8, 0);
	return id;
}

#define STRUCT(btf, name, size, ...) \
	add_struct(btf, name, size, (const struct field[]){ __VA_ARGS__, { 0 } })

static int add_array(struct btf *btf, int type, u32 nr)
{
	return btf__add_array(btf, btf__add_int(btf, "index", 4, 0), type, nr);
}

static void add_scalars(struct btf *btf, struct ids *ids)
{
	ids->u8 = btf__add_int(btf, "unsigned char", 1, 0);
	ids->u16 = btf__add_int(btf, "unsigned short", 2, 0);
	ids->u32 = btf__add_int(btf, "unsigned int", 4, 0);
	ids->u64 = btf__add_int(btf, "unsigned long", 8, 0);
	ids->s16 = btf__add_int(btf, "short", 2, BTF_INT_SIGNED);
	ids->pointer = btf__add_ptr(btf, 0);
}

static void add_pid(struct btf *btf, const struct ids *t)
{
	int upid = STRUCT(btf, "upid", 16, { "nr", t->u32, 0 }, { "ns", t->pointer, 8 });

	STRUCT(btf, "pid", 0x40, { "count", t->u32, 0 },
	       { "numbers", add_array(btf, upid, 0), 0x30 });
}

/* Returns the id of struct kvm_memslots, to embed or to point to. */
static void add_slots(struct btf *btf, const struct ids *t, enum build_kvm_form form)
{
	int node = STRUCT(btf, "rb_node", 24, { "__rb_parent_color", t->u64, 0 },
			  { "rb_right", t->pointer, 8 }, { "rb_left", t->pointer, 16 });
	int root = STRUCT(btf, "rb_root", 8, { "rb_node", t->pointer, 0 });
	int slot;

	if (form == BUILD_KVM_TREES) {
		STRUCT(btf, "kvm_memory_slot", 0xb0, { "gfn_node", add_array(btf, node, 2), 0x40 },
		       { "base_gfn", btf__add_typedef(btf, "gfn_t", t->u64), 0x70 },
		       { "npages", t->u64, 0x78 }, { "userspace_addr", t->u64, 0x90 },
		       { "flags", t->u32, 0x98 }, { "id", t->s16, 0x9c },
		       { "as_id", t->u16, 0x9e });
		STRUCT(btf, "kvm_memslots", 0x430, { "generation", t->u64, 0 },
		       { "gfn_tree", root, 0x20 }, { "node_idx", t->u32, 0x428 });
		return;
	}
	slot = STRUCT(btf, "kvm_memory_slot", 0x50, { "base_gfn", t->u64, 0 },
		      { "npages", t->u64, 8 }, { "userspace_addr", t->u64, 0x30 },
		      { "flags", t->u32, 0x38 }, { "id", t->s16, 0x3c });
	STRUCT(btf, "kvm_memslots", 0x450, { "generation", t->u64, 0 },
	       { "id_to_index", add_array(btf, t->s16, 512), 8 }, { "used_slots", t->u32, 0x40c },
	       { "memslots", add_array(btf, slot, 0), 0x410 });
}

static void add_xarray(struct btf *btf, const struct ids *t)
{
	STRUCT(btf, "xa_node", 576, { "shift", t->u8, 0 },
	       { "slots", add_array(btf, t->pointer, XA_FANOUT), 40 });
}

static void add_vm(struct btf *btf, const struct ids *t, enum build_kvm_form form)
{
	int list = STRUCT(btf, "list_head", 16, { "next", t->pointer, 0 },
			  { "prev", t->pointer, 8 });
	int xarray = STRUCT(btf, "xarray", 16, { "xa_lock", t->u32, 0 },
			    { "xa_head", t->pointer, 8 });
	int arch = STRUCT(btf, "kvm_arch", 0x100, { "vm_type", t->u8, 0x30 });
	int vcpus = form == BUILD_KVM_TREES ? xarray : add_array(btf, t->pointer, 288);
	/* vcpus in an anonymous struct of an anonymous union, for the search of members. */
	int inner = STRUCT(btf, "", 0x900,
			   { form == BUILD_KVM_TREES ? "vcpu_array" : "vcpus", vcpus, 8 });
	int anonymous = btf__add_union(btf, "", 0x900);
	int sev;

	btf__add_field(btf, "", inner, 0, 0);
	STRUCT(btf, "kvm", 0x1400, { "mm", t->pointer, 0x40 },
	       { "memslots", add_array(btf, t->pointer, 2), 0x50 }, { "", anonymous, 0x100 },
	       { "online_vcpus", t->u32, 0xa00 }, { "vm_list", list, 0xa10 },
	       { "arch", btf__add_const(btf, arch), 0xb00 }, { "userspace_pid", t->u32, 0xd00 });
	sev = STRUCT(btf, "kvm_sev_info", 16, { "active", t->u8, 0 }, { "es_active", t->u8, 1 });
	STRUCT(btf, "kvm_svm", 0x1500, { "kvm", t->u64, 0 }, { "sev_info", sev, 0x1400 });
}

static void add_vmx(struct btf *btf, const struct ids *t)
{
	int uret = STRUCT(btf, "vmx_uret_msr", 24, { "load_into_hardware", t->u8, 0 },
			  { "data", t->u64, 8 }, { "mask", t->u64, 16 });

	STRUCT(btf, "vcpu_vmx", 0x500, { "vcpu", t->u64, 0 },
	       { "guest_uret_msrs", add_array(btf, uret, 7), 0x400 },
	       { "msr_guest_kernel_gs_base", t->u64, 0x4c0 });
}

/* Counters of the guest's own: x86's in the newer form, arm64's in the older one. */
static int add_pmu(struct btf *btf, const struct ids *t, enum build_kvm_form form)
{
	int pmc = STRUCT(btf, "kvm_pmc", 0x20, { "idx", t->u8, 0 }, { "counter", t->u64, 8 },
			 { "perf_event", t->pointer, 0x18 });

	STRUCT(btf, "perf_event", 0x200, { "state", t->u32, 0x98 }, { "count", t->u64, 0xa0 },
	       { "total_time_enabled", t->u64, 0xb0 }, { "total_time_running", t->u64, 0xb8 });
	if (form == BUILD_KVM_TREES)
		return STRUCT(btf, "kvm_pmu", 0x280, { "version", t->u8, 0 },
			      { "gp_counters", add_array(btf, pmc, 8), 0x10 },
			      { "fixed_counters", add_array(btf, pmc, 3), 0x120 });
	return STRUCT(btf, "kvm_pmu", 0x280, { "pmc", add_array(btf, pmc, 4), 0x10 });
}

/* The older form has no such statistics. */
static int add_stat(struct btf *btf, const struct ids *t, enum build_kvm_form form)
{
	int generic = STRUCT(btf, "kvm_vcpu_stat_generic", 0x40, { "halt_wakeup", t->u64, 0 },
			     { "halt_poll_success_ns", t->u64, 8 },
			     { "halt_poll_fail_ns", t->u64, 0x10 },
			     { "halt_wait_ns", t->u64, 0x18 }, { "blocking", t->u64, 0x20 });

	return form == BUILD_KVM_TREES ?
		STRUCT(btf, "kvm_vcpu_stat", 0x80, { "generic", generic, 0 }) :
		STRUCT(btf, "kvm_vcpu_stat", 0x80, { "exits", t->u64, 0 });
}

static void add_vcpu(struct btf *btf, const struct ids *t, enum build_kvm_form form)
{
	int pmu = add_pmu(btf, t, form), stat = add_stat(btf, t, form);
	/* The newer form has RIP in a place of its own. */
	int arch = form == BUILD_KVM_TREES ?
		STRUCT(btf, "kvm_vcpu_arch", 0x580, { "regs", add_array(btf, t->u64, 16), 0x10 },
		       { "rip", t->u64, 0xa0 }, { "cr0", t->u64, 0xb0 }, { "cr3", t->u64, 0xb8 },
		       { "cr4", t->u64, 0xc0 }, { "efer", t->u64, 0xc8 }, { "pmu", pmu, 0x300 }) :
		STRUCT(btf, "kvm_vcpu_arch", 0x580, { "regs", add_array(btf, t->u64, 17), 0x10 },
		       { "pmu", pmu, 0x300 });
	int vmcb01 = STRUCT(btf, "kvm_vmcb_info", 16, { "ptr", t->pointer, 0 });

	STRUCT(btf, "kvm_vcpu", 0x800, { "kvm", t->pointer, 0 }, { "vcpu_id", t->u32, 0x18 },
	       { "pid", t->pointer, 0x60 }, { "arch", arch, 0x200 }, { "stat", stat, 0x780 });
	STRUCT(btf, "vcpu_svm", 0x500, { "vcpu", t->u64, 0 }, { "vmcb", t->pointer, 0x400 },
	       { "vmcb01", vmcb01, 0x410 });
	add_vmx(btf, t);
}

/* The save area as AMD's manual has it, appendix B: these offsets are real. */
static void add_vmcb(struct btf *btf, const struct ids *t)
{
	int seg = STRUCT(btf, "vmcb_seg", 16, { "selector", t->u16, 0 }, { "attrib", t->u16, 2 },
			 { "limit", t->u32, 4 }, { "base", t->u64, 8 });
	int save = STRUCT(btf, "vmcb_save_area", 0x2e8, { "cs", seg, 0x10 }, { "ss", seg, 0x20 },
			  { "fs", seg, 0x40 }, { "gs", seg, 0x50 }, { "cpl", t->u8, 0xcb },
			  { "efer", t->u64, 0xd0 }, { "cr4", t->u64, 0x148 },
			  { "cr3", t->u64, 0x150 }, { "cr0", t->u64, 0x158 },
			  { "rflags", t->u64, 0x170 }, { "rip", t->u64, 0x178 },
			  { "rsp", t->u64, 0x1d8 }, { "lstar", t->u64, 0x208 },
			  { "kernel_gs_base", t->u64, 0x220 });

	STRUCT(btf, "vmcb", 0x6e8, { "save", save, 0x400 });
}

static int build_btf(struct build_kvm *kvm)
{
	struct ids ids;

	kvm->btf = btf__new_empty();
	if (!kvm->btf)
		return -ENOMEM;
	add_scalars(kvm->btf, &ids);
	add_pid(kvm->btf, &ids);
	add_slots(kvm->btf, &ids, kvm->form);
	add_xarray(kvm->btf, &ids);
	add_vm(kvm->btf, &ids, kvm->form);
	add_vcpu(kvm->btf, &ids, kvm->form);
	add_vmcb(kvm->btf, &ids);
	return 0;
}

static int kernel_mem_read(struct kernel_mem *kernel, u64 addr, void *out, size_t size)
{
	struct build_kvm *kvm = container_of(kernel, struct build_kvm, kernel);

	return mem_read(mem_fake_reader(kvm->memory), GPA(addr), out, size);
}

int build_kvm_init(struct build_kvm *kvm, enum build_kvm_form form)
{
	const char *why;
	int err;

	*kvm = (struct build_kvm){ .form = form, .next = KERNEL_BASE };
	kvm->memory = mem_fake_create();
	if (!kvm->memory)
		return -ENOMEM;
	kvm->kernel.read = kernel_mem_read;
	err = build_btf(kvm);
	err = err ?: vm_layout_load(&kvm->layout, kvm->btf, kvm->btf, &why);
	kvm->reader = (struct kvm_reader){ &kvm->kernel, &kvm->layout };
	kvm->kvm = build_kvm_alloc(kvm, 0x1500);
	return err;
}

void build_kvm_deinit(struct build_kvm *kvm)
{
	btf__free(kvm->btf);
	mem_fake_destroy(kvm->memory);
}

u64 build_kvm_alloc(struct build_kvm *kvm, size_t size)
{
	u64 addr = kvm->next;

	for (u64 page = addr; page < addr + size; page += MEM_FAKE_PAGE)
		mem_fake_page(kvm->memory, GPA(page));
	mem_fake_page(kvm->memory, GPA(addr + size - 1));
	kvm->next = ALIGN_UP(addr + size, 64);
	return addr;
}

void build_kvm_put(struct build_kvm *kvm, u64 addr, u64 value, size_t size)
{
	mem_fake_set(kvm->memory, GPA(addr), &value, size);
}

u64 build_kvm_member(const struct build_kvm *kvm, u64 base, const char *type, const char *path)
{
	u32 offset = 0;

	if (vm_layout_member(kvm->btf, type, path, &offset, NULL))
		return 0;
	return base + offset;
}

static void put_member(struct build_kvm *kvm, u64 base, const char *type, const char *path,
		       u64 value, size_t size)
{
	build_kvm_put(kvm, build_kvm_member(kvm, base, type, path), value, size);
}

static void put_slot(struct build_kvm *kvm, u64 addr, const struct mem_slot *slot, s16 id)
{
	put_member(kvm, addr, "kvm_memory_slot", "base_gfn", slot->gpa >> PAGE_SHIFT, 8);
	put_member(kvm, addr, "kvm_memory_slot", "npages", slot->size >> PAGE_SHIFT, 8);
	put_member(kvm, addr, "kvm_memory_slot", "userspace_addr", slot->hva, 8);
	put_member(kvm, addr, "kvm_memory_slot", "flags", slot->flags, 4);
	put_member(kvm, addr, "kvm_memory_slot", "id", id, 2);
}

/* A balanced tree of slots[first, last), each at its own address; returns the root's node. */
static u64 put_tree(struct build_kvm *kvm, const u64 *addresses, u32 first, u32 last)
{
	/* node_idx is 1: the second of the slot's nodes. */
	u64 offset = build_kvm_member(kvm, 0, "kvm_memory_slot", "gfn_node") + 24;
	u32 middle = first + (last - first) / 2;
	u64 node;

	if (first == last)
		return 0;
	node = addresses[middle] + offset;
	put_member(kvm, node, "rb_node", "rb_left", put_tree(kvm, addresses, first, middle), 8);
	put_member(kvm, node, "rb_node", "rb_right", put_tree(kvm, addresses, middle + 1, last), 8);
	return node;
}

static u64 put_slot_tree(struct build_kvm *kvm, const struct mem_slot *slots, const s16 *ids,
			 u32 nr)
{
	u64 memslots = build_kvm_alloc(kvm, 0x430);
	_cleanup_free_ u64 *addresses = calloc(nr + 1, sizeof(*addresses));

	for (u32 i = 0; addresses && i < nr; i++) {
		addresses[i] = build_kvm_alloc(kvm, 0xb0);
		put_slot(kvm, addresses[i], &slots[i], ids ? ids[i] : (s16)i);
	}
	put_member(kvm, memslots, "kvm_memslots", "node_idx", 1, 4);
	put_member(kvm, memslots, "kvm_memslots", "gfn_tree", put_tree(kvm, addresses, 0, nr), 8);
	return memslots;
}

static u64 put_slot_array(struct build_kvm *kvm, const struct mem_slot *slots, const s16 *ids,
			  u32 nr)
{
	u64 memslots = build_kvm_alloc(kvm, 0x410 + nr * 0x50);

	/* The kernel keeps the highest first. */
	for (u32 i = 0; i < nr; i++)
		put_slot(kvm, memslots + 0x410 + (nr - 1 - i) * 0x50, &slots[i],
			 ids ? ids[i] : (s16)i);
	put_member(kvm, memslots, "kvm_memslots", "used_slots", nr, 4);
	return memslots;
}

void build_kvm_slots(struct build_kvm *kvm, u64 generation, const struct mem_slot *slots,
		     const s16 *ids, u32 nr)
{
	u64 memslots = kvm->form == BUILD_KVM_TREES ? put_slot_tree(kvm, slots, ids, nr) :
						      put_slot_array(kvm, slots, ids, nr);

	put_member(kvm, memslots, "kvm_memslots", "generation", generation, 8);
	put_member(kvm, kvm->kvm, "kvm", "memslots", memslots, 8);
}

static u64 read_u64(struct build_kvm *kvm, u64 addr)
{
	u64 value = 0;

	mem_read(mem_fake_reader(kvm->memory), GPA(addr), &value, sizeof(value));
	return value;
}

static u64 new_xa_node(struct build_kvm *kvm, u8 shift)
{
	u64 node = build_kvm_alloc(kvm, 576);

	put_member(kvm, node, "xa_node", "shift", shift, 1);
	return node;
}

/* An xarray of at most two levels: the entry in the head, one node, or nodes below a node. */
static void xa_store(struct build_kvm *kvm, u64 xarray, u32 index, u64 entry)
{
	u64 head = build_kvm_member(kvm, xarray, "xarray", "xa_head");
	u64 slots = build_kvm_member(kvm, 0, "xa_node", "slots");
	u64 old = read_u64(kvm, head), node, leaf;

	if (index == 0) {
		build_kvm_put(kvm, head, entry, 8);
		return;
	}
	if (index == 1 || index == XA_FANOUT) {	/* one level more, what was becomes its first */
		node = new_xa_node(kvm, index == 1 ? 0 : 6);
		build_kvm_put(kvm, node + slots, old, 8);
		build_kvm_put(kvm, head, node | 2, 8);
	}
	leaf = read_u64(kvm, head) - 2;
	if (index >= XA_FANOUT) {
		u64 place = leaf + slots + index / XA_FANOUT * 8;

		if (!read_u64(kvm, place))
			build_kvm_put(kvm, place, new_xa_node(kvm, 0) | 2, 8);
		leaf = read_u64(kvm, place) - 2;
	}
	build_kvm_put(kvm, leaf + slots + index % XA_FANOUT * 8, entry, 8);
}

u64 build_kvm_vcpu(struct build_kvm *kvm, u32 id, u32 tid)
{
	u64 vcpu = build_kvm_alloc(kvm, 0x800), pid;
	u32 index = kvm->nr_vcpus++;

	put_member(kvm, vcpu, "kvm_vcpu", "kvm", kvm->kvm, 8);
	put_member(kvm, vcpu, "kvm_vcpu", "vcpu_id", id, 4);
	if (tid) {
		pid = build_kvm_alloc(kvm, 0x40);
		put_member(kvm, pid, "pid", "numbers.nr", tid, 4);
		put_member(kvm, vcpu, "kvm_vcpu", "pid", pid, 8);
	}
	if (kvm->form == BUILD_KVM_TREES)
		xa_store(kvm, build_kvm_member(kvm, kvm->kvm, "kvm", "vcpu_array"), index, vcpu);
	else
		build_kvm_put(kvm, build_kvm_member(kvm, kvm->kvm, "kvm", "vcpus") + index * 8,
			      vcpu, 8);
	put_member(kvm, kvm->kvm, "kvm", "online_vcpus", kvm->nr_vcpus, 4);
	return vcpu;
}
