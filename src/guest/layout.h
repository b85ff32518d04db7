/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where things are in the structures of one kernel build, read from the BTF that it carries. All
 * offsets and sizes in bytes.
 */
#ifndef GUEST_LAYOUT_H
#define GUEST_LAYOUT_H

#include "base/types.h"
#include "objfile/btf.h"
#include "unwind/orc.h"

#define LAYOUT_NONE UINT32_MAX	/* this kernel has no such member, or its BTF does not say */

#define PAGE_STRUCT_MAX 256	/* bytes; a struct page has 64 */
#define LAYOUT_STRUCT_MAX 4096	/* no struct below is read beyond that */

/*
 * What processes and their files are made of. Where there is a .foo_bytes, that many bytes from the
 * start of a struct foo hold all members of it that are known. Only u32, like the rest.
 */
struct user_layout {
	/* struct task_struct, struct fs_struct */
	u32 task_start_time, task_leader, task_exec_id, task_fs;
	u32 task_parent;		/* the one that is waited by, not a debugger */
	u32 task_exit_state;		/* 0 while it runs */
	u32 task_list;			/* of all processes */
	u32 task_stack_area;		/* struct vm_struct of its kernel stack */
	u32 fs_root;			/* a struct path */

	/* struct mm_struct */
	u32 mm_bytes;
	u32 mm_tree;			/* the maple tree's root, from 6.1 */
	u32 mm_list;			/* the first mapping, before 6.1 */
	u32 mm_lock_seq;		/* counts write locks, from 6.4 */
	u32 mm_unmap_seq;		/* counts unmappings, before 6.1 */
	u32 mm_map_count, mm_total_vm, mm_data_vm, mm_exec_vm, mm_stack_vm;
	u32 mm_start_brk, mm_brk, mm_start_stack, mm_task_size, mm_vdso, mm_exe_file;
	u32 mm_vdso_image, vdso_data, vdso_size;	/* the latter of struct vdso_image */

	/* struct vm_area_struct */
	u32 vma_bytes;
	u32 vma_start, vma_end, vma_mm, vma_flags, vma_pgoff, vma_file, vma_ops, vma_private;
	u32 vma_next;			/* before 6.1 */
	u32 special_name;		/* struct vm_special_mapping */

	/* The two kinds of struct maple_node; counts of slots, there is one pivot less. */
	u32 range_pivot, range_slot, range_slots;
	u32 arange_pivot, arange_slot, arange_slots;
	u32 maple_leaf, maple_range, maple_arange;	/* enum maple_type */

	/* struct file, struct backing_file, struct path */
	u32 file_bytes;
	u32 file_path, file_inode, file_mode;
	u32 backing_user_path;		/* from 6.7 */
	u32 path_mnt, path_dentry;

	/* struct dentry, struct mount, struct vfsmount */
	u32 dentry_bytes;
	u32 dentry_parent, dentry_name, dentry_name_len, dentry_hashed;
	u32 mount_bytes;
	u32 mount_parent, mount_mountpoint, mount_mnt, mount_root;

	/* struct inode, struct super_block, struct address_space */
	u32 inode_bytes;
	u32 inode_mode, inode_number, inode_size, inode_generation, inode_sb, inode_mapping;
	u32 sb_dev, sb_magic;
	u32 mapping_pages;		/* the head of its xarray */

	/* struct xa_node */
	u32 xa_bytes;
	u32 xa_shift, xa_parent, xa_slots;

	/* struct page; .page_bytes is its size, .page_head not in every kernel. */
	u32 page_bytes;
	u32 page_flags, page_mapping, page_index, page_head, page_uptodate;

	/* struct vm_struct */
	u32 area_address, area_pages;

	/* struct bpf_ksym */
	u32 ksym_bytes;
	u32 ksym_start, ksym_end, ksym_name, ksym_name_size, ksym_list;

	/* struct ftrace_ops; struct kprobe_insn_cache and struct kprobe_insn_page */
	u32 ftrace_trampoline, ftrace_trampoline_size, ftrace_list;
	u32 insn_cache_pages, insn_page_list, insn_page_code;
};

/* Only u32: the cache stores it as an array of them. */
struct kernel_layout {
	/* struct task_struct */
	u32 task_pid, task_tgid, task_comm, task_stack, task_mm, task_flags;
	u32 task_alt_stack;		/* sas_ss_sp, with sas_ss_size behind it */

	/* struct mm_struct, struct tlb_state */
	u32 mm_pgd, loaded_mm;

	/* struct pcpu_hot, 6.2 to 6.14 */
	u32 hot_current_task, hot_irq_stack;

	u32 irq_stack_size;
	u32 pt_regs_size;	/* of struct pt_regs; 0: not known */

	/* struct module; .module_bytes are enough to hold all the others. */
	u32 module_bytes;
	u32 module_state, module_list, module_name, module_kallsyms, module_build_id;
	u32 module_text, module_text_size;		/* a pointer and a u32 */
	u32 module_init_text, module_init_text_size;
	u32 module_rodata, module_rodata_size;
	u32 module_orc_ip, module_orc, module_nr_orcs;

	/* struct mod_kallsyms */
	u32 symtab, nr_symtab, strtab, typetab;

	u32 orc_format;					/* enum orc_format; 0: BTF did not say */

	struct user_layout user;
};

/* Everything LAYOUT_NONE, sizes at x86-64's defaults. */
void layout_init(struct kernel_layout *layout);

/* Fills in what @btf knows. Never fails: what is not there stays as it is. */
void layout_read(struct kernel_layout *layout, const struct btf *btf);

/* Whether what the capture of the current task takes is known; its per-CPU place apart. */
bool layout_has_task(const struct kernel_layout *layout);

/* Whether modules can be listed. */
bool layout_has_modules(const struct kernel_layout *layout);

/* The part of layout_init() and layout_read() that is about processes. */
void layout_init_user(struct user_layout *user);
void layout_read_user(struct user_layout *user, const struct btf *btf);

/* Whether a process's mappings can be listed, with their files; the bytes of files. */
bool layout_has_mappings(const struct user_layout *user);
bool layout_has_pages(const struct user_layout *user);

#endif
