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

/* Only u32: the cache stores it as an array of them. */
struct kernel_layout {
	/* struct task_struct */
	u32 task_pid, task_tgid, task_comm, task_stack, task_mm, task_flags;

	/* struct mm_struct, struct tlb_state */
	u32 mm_pgd, loaded_mm;

	/* struct pcpu_hot, 6.2 to 6.14 */
	u32 hot_current_task, hot_irq_stack;

	u32 irq_stack_size;

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
};

/* Everything LAYOUT_NONE, sizes at x86-64's defaults. */
void layout_init(struct kernel_layout *layout);

/* Fills in what @btf knows. Never fails: what is not there stays as it is. */
void layout_read(struct kernel_layout *layout, const struct btf *btf);

/* Whether what the capture of the current task takes is known; its per-CPU place apart. */
bool layout_has_task(const struct kernel_layout *layout);

/* Whether modules can be listed. */
bool layout_has_modules(const struct kernel_layout *layout);

#endif
