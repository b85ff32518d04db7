/* SPDX-License-Identifier: GPL-2.0-only */
/* Offsets in the host kernel's structures, by its BTF. */
#include "vm/layout.h"

#include <bpf/btf.h>
#include <string.h>

#define MAX_NESTING 16	/* of anonymous members */

struct place {
	u32 bits;	/* offset from the outermost struct */
	u32 type;	/* of the member */
};

static const struct btf_type *strip(const struct btf *btf, u32 id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type) || btf_is_type_tag(type)))
		type = btf__type_by_id(btf, type->type);
	return type;
}

static bool same_name(const char *name, const char *want, size_t len)
{
	return name && strlen(name) == len && !memcmp(name, want, len);
}

/* Looks in @type and in its anonymous members; adds to @place when found. */
static int find_in(const struct btf *btf, const struct btf_type *type, const char *name, size_t len,
		   unsigned int depth, struct place *place)
{
	if (!type || !btf_is_composite(type) || depth > MAX_NESTING)
		return -ENOENT;
	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = btf_members(type) + i;
		const char *member_name = btf__name_by_offset(btf, member->name_off);
		struct place inner = {
			.bits = place->bits + btf_member_bit_offset(type, i),
			.type = member->type,
		};

		if (same_name(member_name, name, len)) {
			if (btf_member_bitfield_size(type, i))
				return -EOPNOTSUPP;
			*place = inner;
			return 0;
		}
		if (!member_name || !*member_name) {
			const struct btf_type *nested = strip(btf, member->type);

			if (!find_in(btf, nested, name, len, depth + 1, &inner)) {
				*place = inner;
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* One step into an array, for "numbers.nr" of numbers[]: its first element. */
static const struct btf_type *into_element(const struct btf *btf, const struct btf_type *type)
{
	if (type && btf_is_array(type))
		return strip(btf, btf_array(type)->type);
	return type;
}

int vm_layout_member(const struct btf *btf, const char *type, const char *path, u32 *ret_offset,
		     u32 *ret_size)
{
	s32 id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	struct place place = { .type = id };
	s64 size;

	if (id < 0)
		return -ENOENT;
	for (const char *name = path;; name++) {
		size_t len = strcspn(name, ".");
		const struct btf_type *inside = into_element(btf, strip(btf, place.type));
		int err = find_in(btf, inside, name, len, 0, &place);

		if (err)
			return err;
		name += len;
		if (!*name)
			break;
	}
	size = btf__resolve_size(btf, place.type);
	*ret_offset = place.bits / 8;
	if (ret_size)
		*ret_size = size > 0 ? size : 0;
	return 0;
}

int vm_layout_percpu(const struct btf *btf, const char *name, u32 *ret_offset)
{
	s32 id = btf__find_by_name_kind(btf, ".data..percpu", BTF_KIND_DATASEC);
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(btf, id);

	for (unsigned int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *variable = btf_var_secinfos(section) + i;
		const struct btf_type *type = btf__type_by_id(btf, variable->type);

		if (type && !strcmp(btf__name_by_offset(btf, type->name_off), name)) {
			*ret_offset = variable->offset;
			return 0;
		}
	}
	return -ENOENT;
}

static u32 struct_size(const struct btf *btf, const char *type)
{
	s32 id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id < 0 ? LAYOUT_ABSENT : btf__type_by_id(btf, id)->size;
}

struct wanted {
	const char *type;
	const char *path;
	size_t field;		/* in struct vm_layout */
	size_t size_field;	/* where its size goes; 0: nowhere */
	bool optional;
};

#define WANT(type_, path_, field_, ...) \
	{ .type = (type_), .path = (path_), .field = offsetof(struct vm_layout, field_),        \
	  ##__VA_ARGS__ }

#define WANT_PMCS(path_, which)                                                              \
	WANT("kvm_vcpu", path_, vcpu_pmcs[which], .optional = true,                             \
	     .size_field = offsetof(struct vm_layout, vcpu_pmcs_size[which]))

static const struct wanted kvm_members[] = {
	WANT("kvm", "mm", kvm_mm),
	WANT("kvm", "memslots", kvm_memslots),
	WANT("kvm", "vcpu_array", kvm_vcpu_array, .optional = true),
	WANT("kvm", "vcpus", kvm_vcpus, .optional = true),
	WANT("kvm", "online_vcpus", kvm_online_vcpus),
	WANT("kvm", "vm_list", kvm_vm_list),
	WANT("kvm", "userspace_pid", kvm_userspace_pid, .optional = true),
	WANT("kvm", "arch.vm_type", kvm_vm_type, .optional = true,
	     .size_field = offsetof(struct vm_layout, kvm_vm_type_size)),
	WANT("kvm_vcpu", "kvm", vcpu_kvm),
	WANT("kvm_vcpu", "vcpu_id", vcpu_id),
	WANT("kvm_vcpu", "pid", vcpu_pid),
	WANT("kvm_vcpu", "arch.regs", vcpu_regs, .optional = true),
	WANT("kvm_vcpu", "arch.rip", vcpu_rip, .optional = true),
	WANT("kvm_vcpu", "arch.cr0", vcpu_cr0, .optional = true),
	WANT("kvm_vcpu", "arch.cr3", vcpu_cr3, .optional = true),
	WANT("kvm_vcpu", "arch.cr4", vcpu_cr4, .optional = true),
	WANT("kvm_vcpu", "arch.efer", vcpu_efer, .optional = true),
	WANT("kvm_vcpu", "arch.ctxt.regs", vcpu_ctxt_regs, .optional = true),
	WANT("kvm_vcpu", "arch.ctxt.sys_regs", vcpu_sys_regs, .optional = true),
	WANT("kvm_vcpu", "arch.hcr_el2", vcpu_hcr, .optional = true),
	WANT("kvm_vcpu", "stat.generic.halt_wait_ns", vcpu_halt_wait_ns, .optional = true),
	WANT("kvm_vcpu", "stat.generic.halt_poll_success_ns", vcpu_halt_poll_success_ns,
	     .optional = true),
	WANT("kvm_vcpu", "stat.generic.halt_poll_fail_ns", vcpu_halt_poll_fail_ns,
	     .optional = true),
	WANT("kvm_vcpu", "stat.generic.blocking", vcpu_blocking, .optional = true),
	WANT_PMCS("arch.pmu.gp_counters", LAYOUT_PMC_GENERAL),
	WANT_PMCS("arch.pmu.fixed_counters", LAYOUT_PMC_FIXED),
	WANT_PMCS("arch.pmu.pmc", LAYOUT_PMC_ARM64),
	WANT("kvm_pmc", "perf_event", pmc_perf_event, .optional = true),
	WANT("perf_event", "state", event_state, .optional = true),
	WANT("perf_event", "total_time_enabled", event_enabled, .optional = true),
	WANT("perf_event", "total_time_running", event_running, .optional = true),
	WANT("pid", "numbers.nr", pid_nr),
	WANT("kvm_memslots", "generation", slots_generation),
	WANT("kvm_memslots", "gfn_tree.rb_node", slots_gfn_tree, .optional = true),
	WANT("kvm_memslots", "node_idx", slots_node_idx, .optional = true),
	WANT("kvm_memslots", "memslots", slots_array, .optional = true),
	WANT("kvm_memslots", "used_slots", slots_used, .optional = true),
	WANT("kvm_memory_slot", "gfn_node", slot_gfn_node, .optional = true),
	WANT("kvm_memory_slot", "base_gfn", slot_base_gfn),
	WANT("kvm_memory_slot", "npages", slot_npages),
	WANT("kvm_memory_slot", "userspace_addr", slot_userspace_addr),
	WANT("kvm_memory_slot", "flags", slot_flags),
	WANT("kvm_memory_slot", "id", slot_id),
	WANT("rb_node", "rb_left", rb_left),
	WANT("rb_node", "rb_right", rb_right),
	WANT("xarray", "xa_head", xa_head),
	WANT("xa_node", "shift", xa_node_shift),
	WANT("xa_node", "slots", xa_node_slots,
	     .size_field = offsetof(struct vm_layout, xa_node_slots_size)),
};

/* All optional: without them there is no peeking at registers. */
static const struct wanted svm_members[] = {
	WANT("kvm_svm", "sev_info.active", sev_active, .optional = true),
	WANT("kvm_svm", "sev_info.es_active", sev_es_active, .optional = true),
	WANT("vcpu_svm", "vmcb", svm_vmcb, .optional = true),
	WANT("vcpu_svm", "vmcb", svm_vmcb_used, .optional = true),
	/* 4995a3685f1b ("KVM: SVM: Use a separate vmcb for the nested L2 guest"), 5.13: better */
	WANT("vcpu_svm", "vmcb01.ptr", svm_vmcb, .optional = true),
	WANT("vmcb", "save.cs.attrib", vmcb_cs_attrib, .optional = true),
	WANT("vmcb", "save.cs.base", vmcb_cs_base, .optional = true),
	WANT("vmcb", "save.ss.base", vmcb_ss_base, .optional = true),
	WANT("vmcb", "save.fs.base", vmcb_fs_base, .optional = true),
	WANT("vmcb", "save.gs.base", vmcb_gs_base, .optional = true),
	WANT("vmcb", "save.gdtr.base", vmcb_gdt_base, .optional = true),
	WANT("vmcb", "save.cpl", vmcb_cpl, .optional = true),
	WANT("vmcb", "save.efer", vmcb_efer, .optional = true),
	WANT("vmcb", "save.cr0", vmcb_cr0, .optional = true),
	WANT("vmcb", "save.cr3", vmcb_cr3, .optional = true),
	WANT("vmcb", "save.cr4", vmcb_cr4, .optional = true),
	WANT("vmcb", "save.rflags", vmcb_rflags, .optional = true),
	WANT("vmcb", "save.lstar", vmcb_lstar, .optional = true),
	WANT("vmcb", "save.kernel_gs_base", vmcb_kernel_gs_base, .optional = true),
};

/* The same on Intel. */
static const struct wanted vmx_members[] = {
	WANT("vcpu_vmx", "msr_guest_kernel_gs_base", vmx_kernel_gs_base, .optional = true),
	WANT("vcpu_vmx", "guest_uret_msrs", vmx_uret_msrs, .optional = true),
	WANT("vmx_uret_msr", "data", vmx_uret_data, .optional = true),
	WANT("vcpu_vmx", "loaded_vmcs", vmx_loaded, .optional = true),
	WANT("vcpu_vmx", "vmcs01", vmx_vmcs01, .optional = true),
};

static int load_members(struct vm_layout *layout, const struct btf *btf,
			const struct wanted *wanted, size_t nr)
{
	for (const struct wanted *w = wanted; w < wanted + nr; w++) {
		u32 *field = (u32 *)((char *)layout + w->field);
		u32 *size = w->size_field ? (u32 *)((char *)layout + w->size_field) : NULL;

		if (vm_layout_member(btf, w->type, w->path, field, size) && !w->optional)
			return -EOPNOTSUPP;
	}
	return 0;
}

/* Their numbers in KVM's array are an enum's, and differ between releases. */
static void load_sysregs(struct vm_layout *layout, const struct btf *btf)
{
	static const char *const names[LAYOUT_NR_SYSREGS] = {
		[LAYOUT_SCTLR_EL1] = "SCTLR_EL1", [LAYOUT_TTBR0_EL1] = "TTBR0_EL1",
		[LAYOUT_TTBR1_EL1] = "TTBR1_EL1", [LAYOUT_TCR_EL1] = "TCR_EL1",
		[LAYOUT_VBAR_EL1] = "VBAR_EL1",	  [LAYOUT_TPIDR_EL0] = "TPIDR_EL0",
		[LAYOUT_TPIDR_EL1] = "TPIDR_EL1", [LAYOUT_SP_EL1] = "SP_EL1",
		[LAYOUT_ELR_EL1] = "ELR_EL1",	  [LAYOUT_TPIDRRO_EL0] = "TPIDRRO_EL0",
	};
	s32 id = btf__find_by_name_kind(btf, "vcpu_sysreg", BTF_KIND_ENUM);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, id);

	for (u32 i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_enum(type)[i].name_off);

		for (u32 reg = 0; reg < LAYOUT_NR_SYSREGS; reg++)
			if (!strcmp(name, names[reg]))
				layout->sysregs[reg] = btf_enum(type)[i].val;
	}
}

/* How many slot ids there can be: SHRT_MAX with the tree, the old index by id knows its own. */
static u32 count_slot_ids(const struct btf *btf)
{
	u32 offset, size;

	if (vm_layout_member(btf, "kvm_memslots", "id_to_index", &offset, &size))
		return INT16_MAX;
	return size / sizeof(s16);
}

int vm_layout_load(struct vm_layout *layout, const struct btf *kvm, const struct btf *vendor,
		   const char **ret_why)
{
	struct vm_layout l;
	bool tree, array;
	u32 offset, size;

	memset(&l, 0xff, sizeof(l));	/* LAYOUT_ABSENT */
	*ret_why = "this kernel's KVM structures are not ones that kvmprof knows";
	if (load_members(&l, kvm, kvm_members, ARRAY_SIZE(kvm_members)))
		return -EOPNOTSUPP;
	tree = l.slots_gfn_tree != LAYOUT_ABSENT && l.slots_node_idx != LAYOUT_ABSENT &&
	       l.slot_gfn_node != LAYOUT_ABSENT;
	array = l.slots_array != LAYOUT_ABSENT && l.slots_used != LAYOUT_ABSENT;
	if (!tree && !array)
		return -EOPNOTSUPP;
	if (l.kvm_vcpu_array == LAYOUT_ABSENT && l.kvm_vcpus == LAYOUT_ABSENT)
		return -EOPNOTSUPP;
	l.slot_size = struct_size(kvm, "kvm_memory_slot");
	l.rb_size = struct_size(kvm, "rb_node");
	l.pmc_size = struct_size(kvm, "kvm_pmc");
	l.slots_max_id = count_slot_ids(kvm);
	load_sysregs(&l, kvm);
	if (vendor) {
		load_members(&l, vendor, svm_members, ARRAY_SIZE(svm_members));
		if (!vm_layout_member(vendor, "vmcb", "save", &offset, &size))
			l.vmcb_size = offset + size;
		load_members(&l, vendor, vmx_members, ARRAY_SIZE(vmx_members));
		l.vmx_uret_size = struct_size(vendor, "vmx_uret_msr");
	}
	*layout = l;
	return 0;
}
