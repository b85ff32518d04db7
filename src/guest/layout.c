/* SPDX-License-Identifier: GPL-2.0-only */
/* Offsets in kernel structures, from BTF. */
#include "guest/layout.h"

#include <string.h>

#define IRQ_STACK_SIZE_DEFAULT 16384	/* PAGE_SIZE << IRQ_STACK_ORDER, x86-64 without KASAN */
#define MODULE_MAX_BYTES 16384

void layout_init(struct kernel_layout *layout)
{
	memset(layout, 0xff, sizeof(*layout));
	layout->irq_stack_size = IRQ_STACK_SIZE_DEFAULT;
	layout->pt_regs_size = 0;
	layout->module_bytes = 0;
	layout->orc_format = ORC_FORMAT_UNKNOWN;
	layout_init_user(&layout->user);
}

/* A struct that members are taken from. */
struct holder {
	const struct btf *btf;
	u32 type;
	u32 end;	/* one past the last byte of all members that were found */
};

static bool open_struct(struct holder *holder, const struct btf *btf, const char *name)
{
	*holder = (struct holder){ .btf = btf };
	return !btf_find(btf, BTF_STRUCT, name, &holder->type);
}

/* The offset of @path plus @add, for something of @size bytes. No bit fields. */
static u32 place_of(struct holder *holder, const char *path, u32 add, u32 size)
{
	struct btf_member member;
	u64 offset;

	if (btf_find_member(holder->btf, holder->type, path, &member) || member.bit_size ||
	    member.bit_offset % 8)
		return LAYOUT_NONE;
	offset = (u64)member.bit_offset / 8 + add;
	if (offset + size > UINT32_MAX / 2)
		return LAYOUT_NONE;
	holder->end = MAX(holder->end, (u32)offset + size);
	return offset;
}

static u32 place(struct holder *holder, const char *path, u32 size)
{
	return place_of(holder, path, 0, size);
}

static void read_task(struct kernel_layout *layout, const struct btf *btf)
{
	struct holder task;

	if (!open_struct(&task, btf, "task_struct"))
		return;
	layout->task_pid = place(&task, "pid", 4);
	layout->task_tgid = place(&task, "tgid", 4);
	layout->task_comm = place(&task, "comm", 16);
	layout->task_stack = place(&task, "stack", 8);
	layout->task_mm = place(&task, "mm", 8);
	layout->task_flags = place(&task, "flags", 4);
	layout->task_alt_stack = place(&task, "sas_ss_sp", 8);
	if (place(&task, "sas_ss_size", 8) - layout->task_alt_stack != 8)
		layout->task_alt_stack = LAYOUT_NONE;
}

/* Which address space is loaded, and where one has its tables: 4.9 and 2.6, unchanged since. */
static void read_mm(struct kernel_layout *layout, const struct btf *btf)
{
	struct holder mm, state;

	if (open_struct(&mm, btf, "mm_struct"))
		layout->mm_pgd = place(&mm, "pgd", 8);
	if (open_struct(&state, btf, "tlb_state"))
		layout->loaded_mm = place(&state, "loaded_mm", 8);
}

/*
 * Per-CPU variables of their own to 6.1, in struct pcpu_hot from 6.2 (e57ef2ed97c1 "x86: Put hot
 * per CPU variables into a struct") to 6.14, and again of their own after that.
 */
static void read_percpu(struct kernel_layout *layout, const struct btf *btf)
{
	struct holder hot;
	u64 size;
	u32 type;

	if (open_struct(&hot, btf, "pcpu_hot")) {
		layout->hot_current_task = place(&hot, "current_task", 8);
		layout->hot_irq_stack = place(&hot, "hardirq_stack_ptr", 8);
	}
	if (!btf_find(btf, BTF_STRUCT, "irq_stack", &type) && !btf_size(btf, type, &size) &&
	    size >= 4096 && size <= 1 << 20)
		layout->irq_stack_size = size;
	if (!btf_find(btf, BTF_STRUCT, "pt_regs", &type) && !btf_size(btf, type, &size) &&
	    size <= 1024)
		layout->pt_regs_size = size;
}

/* The place of @member of element @index, by name of an enumerator, of module::mem[]. */
static u32 memory_place(struct holder *module, const char *index, const char *member, u32 size)
{
	struct btf_member mem;
	u32 type, element, nr;
	u64 element_size;
	char path[32] = "mem";
	struct holder of_element;
	s64 i;
	u32 inside;

	if (btf_find(module->btf, BTF_ENUM, "mod_mem_type", &type) ||
	    btf_enum_value(module->btf, type, index, &i) ||
	    btf_find_member(module->btf, module->type, path, &mem) ||
	    btf_array(module->btf, mem.type, &element, &nr) ||
	    btf_size(module->btf, element, &element_size) || i < 0 || i >= nr ||
	    element_size > MODULE_MAX_BYTES)
		return LAYOUT_NONE;
	of_element = (struct holder){ .btf = module->btf, .type = element };
	inside = place(&of_element, member, size);
	if (inside == LAYOUT_NONE)
		return LAYOUT_NONE;
	return place_of(module, "mem", i * element_size + inside, size);
}

/* 6.4, ac3b43283923 "module: replace module_layout with module_memory". */
static void read_module_memory(struct kernel_layout *layout, struct holder *module)
{
	layout->module_text = memory_place(module, "MOD_TEXT", "base", 8);
	layout->module_text_size = memory_place(module, "MOD_TEXT", "size", 4);
	layout->module_rodata = memory_place(module, "MOD_RODATA", "base", 8);
	layout->module_rodata_size = memory_place(module, "MOD_RODATA", "size", 4);
	layout->module_init_text = memory_place(module, "MOD_INIT_TEXT", "base", 8);
	layout->module_init_text_size = memory_place(module, "MOD_INIT_TEXT", "size", 4);
}

/* 4.5, 7523e4dc5057 "module: use a structure to encapsulate layout." */
static void read_module_layout(struct kernel_layout *layout, struct holder *module)
{
	layout->module_text = place(module, "core_layout.base", 8);
	layout->module_text_size = place(module, "core_layout.text_size", 4);
	layout->module_rodata = layout->module_text;
	layout->module_rodata_size = place(module, "core_layout.size", 4);
	layout->module_init_text = place(module, "init_layout.base", 8);
	layout->module_init_text_size = place(module, "init_layout.text_size", 4);
}

static void read_module(struct kernel_layout *layout, const struct btf *btf)
{
	struct holder module;

	if (!open_struct(&module, btf, "module"))
		return;
	layout->module_state = place(&module, "state", 4);
	layout->module_list = place(&module, "list.next", 8);
	layout->module_name = place(&module, "name", 56);
	layout->module_kallsyms = place(&module, "kallsyms", 8);
	layout->module_build_id = place(&module, "build_id", 20);
	layout->module_orc_ip = place(&module, "arch.orc_unwind_ip", 8);
	layout->module_orc = place(&module, "arch.orc_unwind", 8);
	layout->module_nr_orcs = place(&module, "arch.num_orcs", 4);
	read_module_memory(layout, &module);
	if (layout->module_text == LAYOUT_NONE)
		read_module_layout(layout, &module);
	layout->module_bytes = module.end <= MODULE_MAX_BYTES ? module.end : 0;
}

static void read_module_kallsyms(struct kernel_layout *layout, const struct btf *btf)
{
	struct holder kallsyms;

	if (!open_struct(&kallsyms, btf, "mod_kallsyms"))
		return;
	layout->symtab = place(&kallsyms, "symtab", 8);
	layout->nr_symtab = place(&kallsyms, "num_symtab", 4);
	layout->strtab = place(&kallsyms, "strtab", 8);
	layout->typetab = place(&kallsyms, "typetab", 8);
}

/* The generations differ in their bit fields; see unwind/orc.h. */
static void read_orc_format(struct kernel_layout *layout, const struct btf *btf)
{
	struct btf_member member;
	bool end, signal;
	u32 type;

	if (btf_find(btf, BTF_STRUCT, "orc_entry", &type))
		return;
	end = !btf_find_member(btf, type, "end", &member);
	signal = !btf_find_member(btf, type, "signal", &member);
	if (signal)
		layout->orc_format = end ? ORC_FORMAT_SIGNAL : ORC_FORMAT_TYPES;
	else if (end)
		layout->orc_format = ORC_FORMAT_END;
}

void layout_read(struct kernel_layout *layout, const struct btf *btf)
{
	read_task(layout, btf);
	read_mm(layout, btf);
	read_percpu(layout, btf);
	read_module(layout, btf);
	read_module_kallsyms(layout, btf);
	read_orc_format(layout, btf);
	layout_read_user(&layout->user, btf);
}

bool layout_has_task(const struct kernel_layout *layout)
{
	return layout->task_pid != LAYOUT_NONE && layout->task_tgid != LAYOUT_NONE &&
	       layout->task_comm != LAYOUT_NONE && layout->task_stack != LAYOUT_NONE &&
	       layout->task_mm != LAYOUT_NONE;
}

bool layout_has_modules(const struct kernel_layout *layout)
{
	return layout->module_bytes && layout->module_list != LAYOUT_NONE &&
	       layout->module_name != LAYOUT_NONE && layout->module_text != LAYOUT_NONE &&
	       layout->module_text_size != LAYOUT_NONE;
}
