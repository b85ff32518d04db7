/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Offsets in the structures of processes, mappings and files. A table: what has moved or got
 * another name has several rows, and the first that the BTF knows counts.
 */
#include "guest/layout.h"

#include <string.h>

#define NO_BYTES UINT32_MAX

/* One member. @field is where in struct user_layout its offset goes. */
struct row {
	const char *path;
	u32 size;
	u32 field;
};

struct table {
	const char *type;
	u32 bytes;	/* where the bytes to read go, or NO_BYTES */
	struct row rows[20];
};

#define AT(field) offsetof(struct user_layout, field)

static const struct table tables[] = {
	{ "task_struct", NO_BYTES, {
		{ "start_boottime", 8, AT(task_start_time) },
		{ "real_start_time", 8, AT(task_start_time) },	/* its name before 5.5 */
		{ "group_leader", 8, AT(task_leader) },
		{ "self_exec_id", 4, AT(task_exec_id) },	/* 8 bytes from 5.7 */
		{ "real_parent", 8, AT(task_parent) },
		{ "exit_state", 4, AT(task_exit_state) },
		{ "fs", 8, AT(task_fs) },
		{ "tasks.next", 8, AT(task_list) },
		{ "stack_vm_area", 8, AT(task_stack_area) },
	} },
	{ "vm_struct", NO_BYTES, {
		{ "addr", 8, AT(area_address) },
		{ "pages", 8, AT(area_pages) },
	} },
	{ "fs_struct", NO_BYTES, { { "root", 16, AT(fs_root) } } },
	{ "mm_struct", AT(mm_bytes), {
		{ "mm_mt.ma_root", 8, AT(mm_tree) },
		{ "mmap", 8, AT(mm_list) },
		{ "mm_lock_seq", 4, AT(mm_lock_seq) },
		{ "vmacache_seqnum", 8, AT(mm_unmap_seq) },
		{ "map_count", 4, AT(mm_map_count) },
		{ "total_vm", 8, AT(mm_total_vm) },
		{ "data_vm", 8, AT(mm_data_vm) },
		{ "exec_vm", 8, AT(mm_exec_vm) },
		{ "stack_vm", 8, AT(mm_stack_vm) },
		{ "start_brk", 8, AT(mm_start_brk) },
		{ "brk", 8, AT(mm_brk) },
		{ "start_stack", 8, AT(mm_start_stack) },
		{ "task_size", 8, AT(mm_task_size) },
		{ "context.vdso", 8, AT(mm_vdso) },
		{ "context.vdso_image", 8, AT(mm_vdso_image) },
		{ "exe_file", 8, AT(mm_exe_file) },
	} },
	{ "vm_area_struct", AT(vma_bytes), {
		{ "vm_start", 8, AT(vma_start) },
		{ "vm_end", 8, AT(vma_end) },
		{ "vm_mm", 8, AT(vma_mm) },
		{ "vm_flags", 8, AT(vma_flags) },
		{ "vm_pgoff", 8, AT(vma_pgoff) },
		{ "vm_file", 8, AT(vma_file) },
		{ "vm_ops", 8, AT(vma_ops) },
		{ "vm_private_data", 8, AT(vma_private) },
		{ "vm_next", 8, AT(vma_next) },
	} },
	{ "vdso_image", NO_BYTES, {
		{ "data", 8, AT(vdso_data) },
		{ "size", 8, AT(vdso_size) },
	} },
	{ "vm_special_mapping", NO_BYTES, { { "name", 8, AT(special_name) } } },
	{ "maple_range_64", NO_BYTES, {
		{ "pivot", 8, AT(range_pivot) },
		{ "slot", 8, AT(range_slot) },
	} },
	{ "maple_arange_64", NO_BYTES, {
		{ "pivot", 8, AT(arange_pivot) },
		{ "slot", 8, AT(arange_slot) },
	} },
	{ "file", AT(file_bytes), {
		{ "f_path", 16, AT(file_path) },
		{ "f_inode", 8, AT(file_inode) },
		{ "f_mode", 4, AT(file_mode) },
	} },
	{ "backing_file", NO_BYTES, {
		{ "user_path", 16, AT(backing_user_path) },
		{ "user_path_file.f_path", 16, AT(backing_user_path) },	/* its form of 2026 */
	} },
	{ "path", NO_BYTES, {
		{ "mnt", 8, AT(path_mnt) },
		{ "dentry", 8, AT(path_dentry) },
	} },
	{ "dentry", AT(dentry_bytes), {
		{ "d_parent", 8, AT(dentry_parent) },
		{ "d_name.name", 8, AT(dentry_name) },
		{ "d_name.len", 4, AT(dentry_name_len) },
		{ "d_hash.pprev", 8, AT(dentry_hashed) },
	} },
	{ "mount", AT(mount_bytes), {
		{ "mnt_parent", 8, AT(mount_parent) },
		{ "mnt_mountpoint", 8, AT(mount_mountpoint) },
		{ "mnt", 8, AT(mount_mnt) },
		{ "mnt.mnt_root", 8, AT(mount_root) },
	} },
	{ "inode", AT(inode_bytes), {
		{ "i_mode", 4, AT(inode_mode) },
		{ "i_ino", 8, AT(inode_number) },
		{ "i_size", 8, AT(inode_size) },
		{ "i_generation", 4, AT(inode_generation) },
		{ "i_sb", 8, AT(inode_sb) },
		{ "i_mapping", 8, AT(inode_mapping) },
	} },
	{ "super_block", NO_BYTES, {
		{ "s_dev", 4, AT(sb_dev) },
		{ "s_magic", 8, AT(sb_magic) },
	} },
	{ "address_space", NO_BYTES, {
		{ "i_pages.xa_head", 8, AT(mapping_pages) },	/* a radix tree before 4.20 */
	} },
	{ "xa_node", AT(xa_bytes), {
		{ "shift", 1, AT(xa_shift) },
		{ "parent", 8, AT(xa_parent) },
		{ "slots", 512, AT(xa_slots) },
	} },
	{ "page", NO_BYTES, {
		{ "flags", 8, AT(page_flags) },
		{ "mapping", 8, AT(page_mapping) },
		{ "index", 8, AT(page_index) },
		{ "__folio_index", 8, AT(page_index) },		/* its name of late */
		{ "compound_head", 8, AT(page_head) },
	} },
	{ "bpf_ksym", AT(ksym_bytes), {
		{ "start", 8, AT(ksym_start) },
		{ "end", 8, AT(ksym_end) },
		{ "name", 1, AT(ksym_name) },
		{ "lnode.next", 8, AT(ksym_list) },
	} },
	{ "ftrace_ops", NO_BYTES, {
		{ "trampoline", 8, AT(ftrace_trampoline) },
		{ "trampoline_size", 8, AT(ftrace_trampoline_size) },
		{ "list.next", 8, AT(ftrace_list) },
	} },
	{ "kprobe_insn_cache", NO_BYTES, {
		{ "pages.next", 8, AT(insn_cache_pages) },
	} },
	{ "kprobe_insn_page", NO_BYTES, {
		{ "list.next", 8, AT(insn_page_list) },
		{ "insns", 8, AT(insn_page_code) },
	} },
};

static u32 *field_at(struct user_layout *user, u32 field)
{
	return (u32 *)((u8 *)user + field);
}

/* One past the row's last byte, 0 when there is nothing like it. */
static u32 read_row(struct user_layout *user, const struct btf *btf, u32 type,
		    const struct row *row)
{
	struct btf_member member;
	u32 *field = field_at(user, row->field);

	if (*field != LAYOUT_NONE || btf_find_member(btf, type, row->path, &member) ||
	    member.bit_size || member.bit_offset % 8 ||
	    member.bit_offset / 8 > LAYOUT_STRUCT_MAX - row->size)
		return 0;
	*field = member.bit_offset / 8;
	return *field + row->size;
}

static void read_table(struct user_layout *user, const struct btf *btf, const struct table *table)
{
	u32 type, end = 0;

	if (btf_find(btf, BTF_STRUCT, table->type, &type))
		return;
	for (const struct row *row = table->rows; row->path; row++) {
		u32 row_end = read_row(user, btf, type, row);

		end = MAX(end, row_end);
	}
	if (table->bytes != NO_BYTES)
		*field_at(user, table->bytes) = end;
}

/* How many elements the array @path of struct @name has; 0: not known. */
static u32 array_length(const struct btf *btf, const char *name, const char *path)
{
	struct btf_member member;
	u32 type, element, nr;

	if (btf_find(btf, BTF_STRUCT, name, &type) ||
	    btf_find_member(btf, type, path, &member) ||
	    btf_array(btf, member.type, &element, &nr))
		return 0;
	return nr;
}

static u32 enum_value(const struct btf *btf, const char *name, const char *enumerator)
{
	s64 value;
	u32 type;

	if (btf_find(btf, BTF_ENUM, name, &type) ||
	    btf_enum_value(btf, type, enumerator, &value) || value < 0 || value > 255)
		return LAYOUT_NONE;
	return value;
}

void layout_init_user(struct user_layout *user)
{
	memset(user, 0xff, sizeof(*user));
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (tables[i].bytes != NO_BYTES)
			*field_at(user, tables[i].bytes) = 0;
	user->range_slots = user->arange_slots = 0;
	user->page_bytes = user->ksym_name_size = 0;
}

void layout_read_user(struct user_layout *user, const struct btf *btf)
{
	u64 size;
	u32 type;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		read_table(user, btf, &tables[i]);
	user->range_slots = array_length(btf, "maple_range_64", "slot");
	user->arange_slots = array_length(btf, "maple_arange_64", "slot");
	user->maple_leaf = enum_value(btf, "maple_type", "maple_leaf_64");
	user->maple_range = enum_value(btf, "maple_type", "maple_range_64");
	user->maple_arange = enum_value(btf, "maple_type", "maple_arange_64");
	user->page_uptodate = enum_value(btf, "pageflags", "PG_uptodate");
	user->ksym_name_size = array_length(btf, "bpf_ksym", "name");
	if (!btf_find(btf, BTF_STRUCT, "page", &type) && !btf_size(btf, type, &size) &&
	    size >= 32 && size <= 256)
		user->page_bytes = size;
}

static bool all_known(const u32 *fields, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (fields[i] == LAYOUT_NONE)
			return false;
	return true;
}

static bool has_tree(const struct user_layout *user)
{
	const u32 needed[] = { user->mm_tree, user->range_pivot, user->range_slot,
			       user->arange_pivot, user->arange_slot, user->maple_leaf,
			       user->maple_range, user->maple_arange };

	return all_known(needed, ARRAY_SIZE(needed)) && user->range_slots && user->arange_slots;
}

static bool has_list(const struct user_layout *user)
{
	return user->mm_list != LAYOUT_NONE && user->vma_next != LAYOUT_NONE;
}

bool layout_has_mappings(const struct user_layout *user)
{
	const u32 needed[] = { user->vma_start, user->vma_end, user->vma_mm, user->vma_flags,
			       user->vma_pgoff, user->vma_file, user->file_path,
			       user->file_inode, user->path_mnt, user->path_dentry,
			       user->dentry_parent, user->dentry_name, user->dentry_name_len,
			       user->dentry_hashed, user->mount_parent, user->mount_mountpoint,
			       user->mount_mnt, user->mount_root, user->inode_number,
			       user->inode_sb, user->inode_mode, user->inode_size, user->sb_dev };

	return all_known(needed, ARRAY_SIZE(needed)) && (has_tree(user) || has_list(user));
}

/* Whether a struct page has a word there. */
static bool page_has(const struct user_layout *user, u32 offset)
{
	return user->page_bytes >= 8 && offset <= user->page_bytes - 8;
}

bool layout_has_pages(const struct user_layout *user)
{
	const u32 needed[] = { user->inode_number, user->inode_sb, user->inode_size,
			       user->inode_mapping, user->sb_dev, user->mapping_pages,
			       user->xa_shift, user->xa_parent, user->xa_slots,
			       user->page_flags, user->page_mapping, user->page_index,
			       user->page_uptodate };

	return all_known(needed, ARRAY_SIZE(needed)) && user->page_bytes <= PAGE_STRUCT_MAX &&
	       page_has(user, user->page_flags) && page_has(user, user->page_mapping) &&
	       page_has(user, user->page_index) &&
	       (user->page_head == LAYOUT_NONE || page_has(user, user->page_head));
}
