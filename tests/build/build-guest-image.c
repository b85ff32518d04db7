/* SPDX-License-Identifier: GPL-2.0-only */
/* A small guest in fake memory. */
#include "build-guest-image.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "build-btf.h"
#include "build-orc.h"
#include "build-process.h"
#include "mmu/walk.h"

#define PAGE 4096ULL
#define KASLR_START 0xffffffff9e200000ULL
#define MODULES_START 0xffffffffc0000000ULL
#define ARM64_KASLR_START 0xffffb0de50000000ULL
#define ARM64_MODULES_START 0xffffb0de44000000ULL

#define KERNEL_TABLES (64ULL << 20)
#define KERNEL_IMAGE (128ULL << 20)
#define MODULE_PAGES (256ULL << 20)

#define NR_FIXED 64	/* symbols besides the functions */

/* struct module of the BTF here, with core_layout or with mem[]. */
enum {
	MODULE_STATE = 0,
	MODULE_LIST = 8,
	MODULE_NAME = 24,
	MODULE_KALLSYMS = 80,
	MODULE_LAYOUT = 128,
	MODULE_INIT_LAYOUT = 160,
	MODULE_MEM = 128,
	MODULE_MEM_SIZE = 32,	/* of one element */
	MODULE_ARCH = 384,
	MODULE_BYTES = 448,
};

#define RODATA_SIZE 0x5000
#define RODATA_NOTE (16384 - 20)	/* across the border of what is read at once */

enum { MEM_TEXT, MEM_DATA, MEM_RODATA, MEM_RO_AFTER_INIT, MEM_INIT_TEXT, MEM_NR };

struct build_guest_options build_guest_release(size_t release)
{
	const struct build_kallsyms_format *format = &build_kallsyms_releases[release].format;

	return (struct build_guest_options){
		.kallsyms = *format,
		.orc = format->addressing == KALLSYMS_PLACE ? ORC_FORMAT_REORDERED :
		       format->addresses_last ? ORC_FORMAT_TYPES :
		       format->seq_size ? ORC_FORMAT_SIGNAL : ORC_FORMAT_END,
		.pcpu_hot = format->seq_size && format->addressing == KALLSYMS_BASE_PERCPU,
		.module_memory = format->addresses_last,
		.no_typetab = format->marker_size == 8,
		.fred = format->addressing == KALLSYMS_PLACE,
	};
}

static void check(int err)
{
	if (err)
		abort();
}

void build_guest_poke(struct build_guest *g, u64 gva, const void *data, size_t size)
{
	struct mmu_space space = build_pagetable_space(&g->pages);

	for (size_t done = 0, part; done < size; done += part) {
		struct mmu_mapping at;

		part = MIN(size - done, PAGE - (gva + done) % PAGE);
		check(mmu_translate(&space, mem_fake_reader(g->mem), GVA(gva + done), &at));
		check(mem_fake_set(g->mem, at.gpa, (const u8 *)data + done, part));
	}
}

void build_guest_poke_u64(struct build_guest *g, u64 gva, u64 value)
{
	build_guest_poke(g, gva, &value, sizeof(value));
}

static void poke_u32(struct build_guest *g, u64 gva, u32 value)
{
	build_guest_poke(g, gva, &value, sizeof(value));
}

u64 build_guest_page(const struct build_guest *g)
{
	return g->options.page_shift ? 1ULL << g->options.page_shift : PAGE;
}

u64 build_guest_function(const struct build_guest *g, unsigned int i)
{
	return g->start + BUILD_GUEST_FUNCTION + (u64)i * BUILD_GUEST_FUNCTION_SIZE;
}

static bool percpu_in_image(const struct build_guest *g)
{
	return g->options.kallsyms.addressing == KALLSYMS_BASE ||
	       g->options.kallsyms.addressing == KALLSYMS_PLACE;
}

/* The symbols of the image, collected and sorted. */
struct symbols {
	struct build_guest *g;
	struct build_ksym list[BUILD_GUEST_FUNCTIONS + NR_FIXED];
	char names[BUILD_GUEST_FUNCTIONS][16];
	u32 nr;
};

static void add_symbol(struct symbols *s, u64 offset, char type, const char *name)
{
	bool is_text = type == 'T' || type == 't';

	if (s->g->options.text_symbols_only && !is_text)
		return;
	s->list[s->nr++] = (struct build_ksym){
		.address = s->g->start + offset, .type = type, .name = name,
	};
}

static void add_percpu(struct symbols *s, u64 offset, const char *name)
{
	if (percpu_in_image(s->g))
		add_symbol(s, BUILD_GUEST_PERCPU + offset % 0x1000, 'D', name);
	else if (!s->g->options.text_symbols_only)
		s->list[s->nr++] = (struct build_ksym){
			.address = offset, .type = 'A', .name = name, .absolute = true,
		};
}

static int compare_address(const void *a, const void *b)
{
	const struct build_ksym *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void add_data_symbols(struct symbols *s, u32 nr_orc, size_t btf_size)
{
	bool init_task = s->g->options.kallsyms.marker_size == 8;

	add_symbol(s, BUILD_GUEST_BANNER, 'D', "linux_banner");
	add_symbol(s, BUILD_GUEST_NOTES, 'R', "__start_notes");
	add_symbol(s, BUILD_GUEST_NOTES + 20 + 36, 'R', "__stop_notes");
	add_symbol(s, BUILD_GUEST_BTF, 'R', "__start_BTF");
	add_symbol(s, BUILD_GUEST_BTF + btf_size, 'R', "__stop_BTF");
	add_symbol(s, BUILD_GUEST_ORC_IP, 'R', "__start_orc_unwind_ip");
	add_symbol(s, BUILD_GUEST_ORC_IP + nr_orc * 4, 'R', "__stop_orc_unwind_ip");
	add_symbol(s, BUILD_GUEST_ORC, 'R', "__start_orc_unwind");
	add_symbol(s, BUILD_GUEST_ORC + nr_orc * 6, 'R', "__stop_orc_unwind");
	add_symbol(s, BUILD_GUEST_MODULES, 'D', "modules");
	add_symbol(s, BUILD_GUEST_PAGE_TABLE, 'D', "init_top_pgt");
	add_symbol(s, BUILD_GUEST_BOOT_PARAMS, 'B', "boot_params");
	add_symbol(s, BUILD_GUEST_INIT_STACK, 'D', init_task ? "__start_init_task" :
							       "__start_init_stack");
	add_symbol(s, BUILD_GUEST_INIT_STACK +
		      (s->g->options.thread_size ? s->g->options.thread_size : 16384),
		   'D', init_task ? "__end_init_task" : "__end_init_stack");
	add_symbol(s, BUILD_GUEST_VARIABLES, 'D', "vmemmap_base");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_VSYSCALL_MODE, 'd', "vsyscall_mode");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_BPF_KALLSYMS, 'd', "bpf_kallsyms");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_TRAMPOLINES, 'd',
		   "ftrace_ops_trampoline_list");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_KPROBE_SLOTS, 'D', "kprobe_insn_slots");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_OPTPROBE_SLOTS, 'D',
		   "kprobe_optinsn_slots");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_GATE_VMA, 'd', "gate_vma");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_SPECIAL_OPS, 'd',
		   "special_mapping_vmops");
	add_symbol(s, BUILD_GUEST_VARIABLES + BUILD_GUEST_INIT_TASK, 'D', "init_task");
	add_symbol(s, BUILD_GUEST_END, 'B', "_end");
	if (s->g->options.pcpu_hot) {
		add_percpu(s, BUILD_PERCPU_HOT, "pcpu_hot");
		return;
	}
	add_percpu(s, BUILD_PERCPU_TASK - 8, "hardirq_stack_ptr");
	add_percpu(s, BUILD_PERCPU_TASK, "current_task");
}

static struct symbols *collect_symbols(struct build_guest *g, u32 nr_orc, size_t btf_size)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->g = g;
	/* Before the code that kallsyms is made of, when it is made of that alone. */
	if (!g->options.arm64 || !g->options.text_symbols_only)
		add_symbol(s, 0, 'T', "_text");
	add_symbol(s, 0, 'T', "_stext");
	for (u32 i = 0; i < BUILD_GUEST_FUNCTIONS; i++) {
		snprintf(s->names[i], sizeof(s->names[i]), "func_%u", i);
		add_symbol(s, BUILD_GUEST_FUNCTION + i * BUILD_GUEST_FUNCTION_SIZE, 't',
			   s->names[i]);
	}
	add_symbol(s, 0x40000, 'T', "return_to_handler");
	add_symbol(s, 0x40100, 'T', "arch_rethook_trampoline");
	if (g->options.fred)
		add_symbol(s, 0x40200, 'T', "asm_fred_entrypoint_user");
	add_symbol(s, BUILD_GUEST_ETEXT, 'T', "_etext");
	add_symbol(s, BUILD_GUEST_INITTEXT, 'T', "_sinittext");
	add_symbol(s, BUILD_GUEST_INITTEXT + 0x4000, 'T', "_einittext");
	add_data_symbols(s, nr_orc, btf_size);
	qsort(s->list, s->nr, sizeof(s->list[0]), compare_address);
	return s;
}

/* Members by name and byte offset, all of one type. */
static u32 make_struct(struct build_btf *b, const char *name, u32 size, u32 type,
		       const struct build_btf_member *members, u32 nr)
{
	struct build_btf_member in_bits[24];

	for (u32 i = 0; i < nr; i++) {
		in_bits[i] = members[i];
		in_bits[i].bit_offset *= 8;
		if (!in_bits[i].type)
			in_bits[i].type = type;
	}
	return build_btf_struct(b, BTF_STRUCT, name, size, in_bits, nr);
}

static void make_module_struct(struct build_btf *b, const struct build_guest *g, u32 number,
			       u32 pointer, u32 list, u32 name)
{
	u32 layout, arch, text;

	arch = make_struct(b, "mod_arch_specific", 24, pointer,
			   (struct build_btf_member[]){ { "num_orcs", number, 0, 0 },
							{ "orc_unwind_ip", 0, 8, 0 },
							{ "orc_unwind", 0, 16, 0 } }, 3);
	if (g->options.module_memory) {
		layout = make_struct(b, "module_memory", MODULE_MEM_SIZE, pointer,
				     (struct build_btf_member[]){ { "base", 0, 0, 0 },
								  { "size", number, 8, 0 } }, 2);
		layout = build_btf_array(b, layout, MEM_NR);
		build_btf_enum(b, "mod_mem_type",
			       (struct build_btf_enumerator[]){
				       { "MOD_INVALID", -1 }, { "MOD_TEXT", MEM_TEXT },
				       { "MOD_RODATA", MEM_RODATA },
				       { "MOD_INIT_TEXT", MEM_INIT_TEXT } }, 4, false);
	} else {
		layout = make_struct(b, "module_layout", 24, number,
				     (struct build_btf_member[]){ { "base", pointer, 0, 0 },
								  { "size", 0, 8, 0 },
								  { "text_size", 0, 12, 0 } }, 3);
	}
	text = g->options.module_memory;
	make_struct(b, "module", MODULE_BYTES, pointer,
		    (struct build_btf_member[]){
			    { "state", number, MODULE_STATE, 0 },
			    { "list", list, MODULE_LIST, 0 },
			    { "name", name, MODULE_NAME, 0 },
			    { "kallsyms", 0, MODULE_KALLSYMS, 0 },
			    { text ? "mem" : "core_layout", layout, MODULE_LAYOUT, 0 },
			    { "arch", arch, MODULE_ARCH, 0 },
			    { text ? "unused" : "init_layout", layout, MODULE_INIT_LAYOUT, 0 } },
		    7);
	make_struct(b, "mod_kallsyms", 32, pointer,
		    (struct build_btf_member[]){ { "symtab", 0, 0, 0 },
						 { "num_symtab", number, 8, 0 },
						 { "strtab", 0, 16, 0 },
						 { "typetab", 0, 24, 0 } },
		    g->options.no_typetab ? 3 : 4);
}

static void make_orc_struct(struct build_btf *b, enum orc_format format)
{
	u32 bits = build_btf_int(b, "unsigned int", 4, 32, 0);
	bool old = format == ORC_FORMAT_END || format == ORC_FORMAT_SIGNAL;
	struct build_btf_member members[3] = { { "type", bits, 40, old ? 2 : 3 } };
	u32 nr = 1;

	if (format != ORC_FORMAT_END)
		members[nr++] = (struct build_btf_member){ "signal", bits, 43, 1 };
	if (old)
		members[nr++] = (struct build_btf_member){ "end", bits, 44, 1 };
	build_btf_struct(b, BTF_STRUCT, "orc_entry", 6, members, nr);
}

/* A struct with one member that matters. */
static u32 make_holder(struct build_btf *b, const char *name, const char *member, u32 pointer,
		       u32 offset)
{
	return make_struct(b, name, offset + 8, pointer,
			   (struct build_btf_member[]){ { member, 0, offset, 0 } }, 1);
}

static void make_mm_structs(struct build_btf *b, const struct build_guest *g, u32 number,
			    u32 pointer)
{
	u32 tree = make_holder(b, "maple_tree", "ma_root", pointer, 8);
	u32 context = make_struct(b, "mm_context", 32, pointer,
				  (struct build_btf_member[]){ { "vdso", 0, 16, 0 },
							       { "vdso_image", 0, 24, 0 } }, 2);
	bool list = g->options.mapping_list, count = g->options.mapping_count;

	make_struct(b, "mm_struct", BUILD_MM_BYTES, pointer,
		    (struct build_btf_member[]){
			    { list ? "mmap" : "mm_mt", list ? 0 : tree,
			      list ? BUILD_MM_ROOT : BUILD_MM_ROOT - 8, 0 },
			    { "pgd", 0, BUILD_MM_PGD, 0 },
			    { "map_count", number, BUILD_MM_COUNT, 0 },
			    { count ? "mm_lock_seq" : "unused", number, BUILD_MM_SEQ, 0 },
			    { "total_vm", 0, BUILD_MM_TOTAL, 0 },
			    { "exec_vm", 0, BUILD_MM_EXEC, 0 },
			    { "start_brk", 0, BUILD_MM_START_BRK, 0 },
			    { "brk", 0, BUILD_MM_BRK, 0 },
			    { "start_stack", 0, BUILD_MM_STACK, 0 },
			    { "task_size", 0, BUILD_MM_TASK_SIZE, 0 },
			    { "context", context, BUILD_MM_VDSO - 16, 0 },
			    { "exe_file", 0, BUILD_MM_EXE, 0 } }, 12);
	make_struct(b, "vm_area_struct", BUILD_VMA_BYTES, pointer,
		    (struct build_btf_member[]){
			    { "vm_start", 0, BUILD_VMA_START, 0 },
			    { "vm_end", 0, BUILD_VMA_END, 0 },
			    { "vm_mm", 0, BUILD_VMA_MM, 0 },
			    { "vm_flags", 0, BUILD_VMA_FLAGS, 0 },
			    { "vm_pgoff", 0, BUILD_VMA_PGOFF, 0 },
			    { "vm_file", 0, BUILD_VMA_FILE, 0 },
			    { "vm_ops", 0, BUILD_VMA_OPS, 0 },
			    { "vm_private_data", 0, BUILD_VMA_PRIVATE, 0 },
			    { list ? "vm_next" : "unused", 0, BUILD_VMA_NEXT, 0 } }, 9);
	make_holder(b, "vm_special_mapping", "name", pointer, 0);
	make_struct(b, "vdso_image", 32, pointer,
		    (struct build_btf_member[]){ { "data", 0, 0, 0 }, { "size", 0, 8, 0 } }, 2);
}

static void make_maple_structs(struct build_btf *b, u32 pointer)
{
	u32 pivots = build_btf_array(b, pointer, 15), slots = build_btf_array(b, pointer, 16);
	u32 few_pivots = build_btf_array(b, pointer, 9), few = build_btf_array(b, pointer, 10);

	make_struct(b, "maple_range_64", 256, pointer,
		    (struct build_btf_member[]){ { "pivot", pivots, 8, 0 },
						 { "slot", slots, 128, 0 } }, 2);
	make_struct(b, "maple_arange_64", 248, pointer,
		    (struct build_btf_member[]){ { "pivot", few_pivots, 8, 0 },
						 { "slot", few, 80, 0 } }, 2);
	build_btf_enum(b, "maple_type",
		       (struct build_btf_enumerator[]){ { "maple_dense", 0 },
							{ "maple_leaf_64", BUILD_MAPLE_LEAF },
							{ "maple_range_64", BUILD_MAPLE_RANGE },
							{ "maple_arange_64", BUILD_MAPLE_ARANGE } },
		       4, false);
}

static void make_file_structs(struct build_btf *b, const struct build_guest *g, u32 number,
			      u32 pointer)
{
	u32 path = make_struct(b, "path", 16, pointer,
			       (struct build_btf_member[]){ { "mnt", 0, 0, 0 },
							    { "dentry", 0, 8, 0 } }, 2);
	u32 name = make_struct(b, "qstr", 16, pointer,
			       (struct build_btf_member[]){ { "len", number, 4, 0 },
							    { "name", 0, 8, 0 } }, 2);
	u32 hash = make_holder(b, "hlist_bl_node", "pprev", pointer, 8);
	u32 vfsmount = make_holder(b, "vfsmount", "mnt_root", pointer, 0);
	u32 file;

	make_struct(b, "fs_struct", 64, pointer,
		    (struct build_btf_member[]){ { "root", path, BUILD_FS_ROOT, 0 } }, 1);
	file = make_struct(b, "file", BUILD_FILE_BYTES, pointer,
			   (struct build_btf_member[]){ { "f_mode", number, BUILD_FILE_MODE, 0 },
							{ "f_inode", 0, BUILD_FILE_INODE, 0 },
							{ "f_path", path, BUILD_FILE_PATH, 0 } },
			   3);
	if (g->options.backing_files)
		make_struct(b, "backing_file", BUILD_FILE_BYTES + 16, pointer,
			    (struct build_btf_member[]){
				    { "file", file, 0, 0 },
				    { "user_path", path, BUILD_FILE_BYTES, 0 } }, 2);
	make_struct(b, "dentry", BUILD_DENTRY_BYTES, pointer,
		    (struct build_btf_member[]){ { "d_hash", hash, BUILD_DENTRY_HASHED - 8, 0 },
						 { "d_parent", 0, BUILD_DENTRY_PARENT, 0 },
						 { "d_name", name, BUILD_DENTRY_QSTR, 0 } }, 3);
	make_struct(b, "mount", BUILD_MOUNT_BYTES, pointer,
		    (struct build_btf_member[]){
			    { "mnt_parent", 0, BUILD_MOUNT_PARENT, 0 },
			    { "mnt_mountpoint", 0, BUILD_MOUNT_POINT, 0 },
			    { "mnt", vfsmount, BUILD_MOUNT_MNT, 0 } }, 3);
}

static void make_page_structs(struct build_btf *b, u32 number, u32 pointer)
{
	u32 half = build_btf_int(b, "short", 2, 16, 0), byte = build_btf_int(b, "u8", 1, 8, 0);
	u32 slots = build_btf_array(b, pointer, 64);
	u32 array = make_holder(b, "xarray", "xa_head", pointer, 8);

	make_struct(b, "inode", BUILD_INODE_BYTES, pointer,
		    (struct build_btf_member[]){
			    { "i_mode", half, BUILD_INODE_MODE, 0 },
			    { "i_ino", 0, BUILD_INODE_NUMBER, 0 },
			    { "i_size", 0, BUILD_INODE_SIZE, 0 },
			    { "i_generation", number, BUILD_INODE_GENERATION, 0 },
			    { "i_sb", 0, BUILD_INODE_SB, 0 },
			    { "i_mapping", 0, BUILD_INODE_MAPPING, 0 } }, 6);
	make_struct(b, "super_block", 128, pointer,
		    (struct build_btf_member[]){ { "s_dev", number, BUILD_SB_DEV, 0 },
						 { "s_magic", 0, BUILD_SB_MAGIC, 0 } }, 2);
	make_struct(b, "address_space", 64, pointer,
		    (struct build_btf_member[]){ { "i_pages", array, BUILD_MAPPING_PAGES - 8, 0 } },
		    1);
	make_struct(b, "xa_node", BUILD_XA_BYTES, pointer,
		    (struct build_btf_member[]){ { "shift", byte, 0, 0 },
						 { "parent", 0, BUILD_XA_PARENT, 0 },
						 { "slots", slots, BUILD_XA_SLOTS, 0 } }, 3);
	make_struct(b, "page", BUILD_PAGE_BYTES, pointer,
		    (struct build_btf_member[]){ { "flags", 0, 0, 0 },
						 { "compound_head", 0, BUILD_PAGE_HEAD, 0 },
						 { "mapping", 0, BUILD_PAGE_MAPPING, 0 },
						 { "index", 0, BUILD_PAGE_INDEX, 0 } }, 4);
	build_btf_enum(b, "pageflags",
		       (struct build_btf_enumerator[]){ { "PG_locked", 0 },
							{ "PG_uptodate", BUILD_PAGE_UPTODATE } },
		       2, false);
}

static void make_code_structs(struct build_btf *b, u32 pointer, u32 list)
{
	u32 name = build_btf_array(b, build_btf_int(b, "char", 1, 8, 0), BUILD_KSYM_NAME_SIZE);

	make_struct(b, "bpf_ksym", BUILD_KSYM_BYTES, pointer,
		    (struct build_btf_member[]){ { "start", 0, 0, 0 },
						 { "end", 0, 8, 0 },
						 { "name", name, BUILD_KSYM_NAME, 0 },
						 { "lnode", list, BUILD_KSYM_LIST, 0 } }, 4);
	make_struct(b, "ftrace_ops", BUILD_OPS_BYTES, pointer,
		    (struct build_btf_member[]){ { "trampoline", 0, BUILD_OPS_TRAMPOLINE, 0 },
						 { "trampoline_size", 0, BUILD_OPS_SIZE, 0 },
						 { "list", list, BUILD_OPS_LIST, 0 } }, 3);
	make_struct(b, "kprobe_insn_cache", 48, pointer,
		    (struct build_btf_member[]){ { "pages", list, BUILD_INSN_CACHE_PAGES, 0 } }, 1);
	make_struct(b, "kprobe_insn_page", BUILD_INSN_PAGE_BYTES, pointer,
		    (struct build_btf_member[]){ { "list", list, BUILD_INSN_PAGE_LIST, 0 },
						 { "insns", 0, BUILD_INSN_PAGE_CODE, 0 } }, 2);
}

static void make_area_struct(struct build_btf *b, u32 pointer)
{
	make_struct(b, "vm_struct", 64, pointer,
		    (struct build_btf_member[]){ { "addr", 0, BUILD_AREA_ADDRESS, 0 },
						 { "pages", 0, BUILD_AREA_PAGES, 0 } }, 2);
}

static void make_user_structs(struct build_btf *b, const struct build_guest *g, u32 number,
			      u32 pointer, u32 list)
{
	make_mm_structs(b, g, number, pointer);
	make_maple_structs(b, pointer);
	make_file_structs(b, g, number, pointer);
	make_page_structs(b, number, pointer);
	make_code_structs(b, pointer, list);
	make_area_struct(b, pointer);
}

static void make_btf(const struct build_guest *g, struct strbuf *out)
{
	u32 number, pointer, comm, name, list;
	struct build_btf b;

	build_btf_init(&b);
	number = build_btf_int(&b, "int", 4, 32, 0);
	pointer = build_btf_ref(&b, BTF_PTR, NULL, 0);
	comm = build_btf_array(&b, build_btf_int(&b, "char", 1, 8, 0), 16);
	name = build_btf_array(&b, comm - 1, 56);
	list = make_struct(&b, "list_head", 16, pointer,
			   (struct build_btf_member[]){ { "next", 0, 0, 0 }, { "prev", 0, 8, 0 } },
			   2);
	make_struct(&b, "task_struct", 256, pointer,
		    (struct build_btf_member[]){ { "stack", 0, BUILD_TASK_STACK, 0 },
						 { "flags", number, 0x2c, 0 },
						 { "mm", 0, BUILD_TASK_MM, 0 },
						 { "pid", number, BUILD_TASK_PID, 0 },
						 { "tgid", number, BUILD_TASK_TGID, 0 },
						 { "comm", comm, BUILD_TASK_COMM, 0 },
						 { "start_boottime", 0, BUILD_TASK_START, 0 },
						 { "group_leader", 0, BUILD_TASK_LEADER, 0 },
						 { "self_exec_id", 0, BUILD_TASK_EXEC_ID, 0 },
						 { "fs", 0, BUILD_TASK_FS, 0 },
						 { "tasks", list, BUILD_TASK_LIST, 0 },
						 { "stack_vm_area", 0, BUILD_TASK_STACK_AREA, 0 },
						 { "real_parent", 0, BUILD_TASK_PARENT, 0 },
						 { "exit_state", number, BUILD_TASK_EXIT_STATE, 0 },
						 { "sas_ss_sp", 0, BUILD_TASK_ALT_STACK, 0 },
						 { "sas_ss_size", 0, BUILD_TASK_ALT_STACK + 8,
						   0 } }, 16);
	make_struct(&b, "irq_stack", 16384, build_btf_array(&b, comm - 1, 16384),
		    (struct build_btf_member[]){ { "stack", 0, 0, 0 } }, 1);
	if (g->options.pcpu_hot)
		make_struct(&b, "pcpu_hot", 64, pointer,
			    (struct build_btf_member[]){
				    { "current_task", 0, 0, 0 },
				    { "hardirq_stack_ptr", 0, BUILD_HOT_IRQ_STACK, 0 } }, 2);
	make_module_struct(&b, g, number, pointer, list, name);
	if (!g->options.no_user_types)
		make_user_structs(&b, g, number, pointer, list);
	make_orc_struct(&b, g->options.orc);
	build_btf_finish(&b, out);
	build_btf_deinit(&b);
}

/* Each function: at its entry the frame is 8 bytes up, after the push 16. */
static void make_orc(const struct build_guest *g, struct build_orc *orc)
{
	*orc = (struct build_orc){
		.format = g->options.orc, .ip_base = g->start + BUILD_GUEST_ORC_IP,
	};
	build_orc_end(orc, g->start);
	for (u32 i = 0; i < BUILD_GUEST_FUNCTIONS; i++) {
		build_orc_call(orc, build_guest_function(g, i), 8);
		build_orc_call(orc, build_guest_function(g, i) + 1, 16);
	}
	build_orc_undefined(orc, build_guest_function(g, BUILD_GUEST_FUNCTIONS));
}

static void put_at(struct strbuf *image, size_t offset, const void *data, size_t size)
{
	if (image->len > offset)
		abort();	/* what came before does not fit */
	strbuf_add_zeros(image, offset - image->len);
	strbuf_add(image, data, size);
}

static void put_code(struct strbuf *image)
{
	u8 function[BUILD_GUEST_FUNCTION_SIZE];

	memset(function, 0x90, sizeof(function));
	function[0] = 0xe8;			/* call rel32 to __fentry__ */
	memset(function + 1, 0, 4);
	function[BUILD_GUEST_RETURN - 2] = 0xff;	/* call *%rax */
	function[BUILD_GUEST_RETURN - 1] = 0xd0;
	function[sizeof(function) - 1] = 0xc3;
	strbuf_add_zeros(image, BUILD_GUEST_FUNCTION);
	for (u32 i = 0; i < BUILD_GUEST_FUNCTIONS; i++)
		strbuf_add(image, function, sizeof(function));
}

static void put_build_id(struct strbuf *out, const u8 *id)
{
	put_u32(out, 4);
	put_u32(out, 20);
	put_u32(out, 3);
	strbuf_add(out, "GNU", 4);
	strbuf_add(out, id, 20);
}

/* A vDSO: an ELF image with a build id that is not the kernel's. */
static void put_vdso(struct strbuf *image)
{
	static const u8 other[20] = { 0xdd };

	put_at(image, 0x7e000, "\177ELF", 4);
	strbuf_add_zeros(image, 0x100);
	put_build_id(image, other);
}

static void put_notes(struct strbuf *image, const u8 *id)
{
	put_at(image, BUILD_GUEST_NOTES, "", 0);
	/* Another note first, as Linux has them: Xen's. */
	put_u32(image, 4);
	put_u32(image, 4);
	put_u32(image, 8);
	strbuf_add(image, "Xen", 4);
	put_u32(image, 1);
	put_build_id(image, id);
}

static void put_rodata(struct build_guest *g, struct strbuf *image)
{
	static const char banner[] =
		"Linux version 6.1.0-test-amd64 (builder@example) (gcc) #1 SMP Test\n";
	struct strbuf btf = STRBUF_INIT;
	struct build_orc orc;
	struct symbols *s;

	make_orc(g, &orc);
	make_btf(g, &btf);
	s = collect_symbols(g, orc.nr, btf.len);
	put_at(image, BUILD_GUEST_BANNER, banner, sizeof(banner));
	put_notes(image, g->build_id);
	if (!g->options.no_btf)
		put_at(image, BUILD_GUEST_BTF, btf.data, btf.len);
	put_at(image, BUILD_GUEST_KALLSYMS, "", 0);
	build_kallsyms(image, g->start, &g->options.kallsyms, s->list, s->nr, &g->kallsyms);
	put_at(image, BUILD_GUEST_ORC_IP, orc.ip.data, orc.ip.len);
	put_at(image, BUILD_GUEST_ORC, orc.entries.data, orc.entries.len);
	put_at(image, BUILD_GUEST_END, "", 0);
	free(s);
	strbuf_deinit(&btf);
	build_orc_deinit(&orc);
}

static void make_image(struct build_guest *g, struct strbuf *image)
{
	const u64 link = 0x1000000;	/* CONFIG_PHYSICAL_START's default */

	put_code(image);
	put_vdso(image);
	put_rodata(g, image);
	check(strbuf_error(image));
	memcpy(image->data + BUILD_GUEST_BOOT_PARAMS + 0x258, &link, sizeof(link));
}

/* The kernel's own table is the process's without its lower half, which arm64 has another for. */
void build_guest_share_tables(struct build_guest *g)
{
	u64 from = g->options.arm64 ? g->pages.root_high : g->pages.root;

	for (unsigned int i = g->options.arm64 ? 0 : 256; i < 512; i++)
		check(mem_fake_set_u64(g->mem, GPA(KERNEL_IMAGE + BUILD_GUEST_PAGE_TABLE + i * 8),
				       build_pagetable_get(&g->pages, from + i * 8)));
}

/*
 * Page-table isolation makes a hole in x86's text. arm64's has none up to the end of what cannot be
 * written, in which its table is; there is one where the init sections were, if a page is no more
 * than that.
 */
static bool is_hole(const struct build_guest *g, u64 at)
{
	if (g->options.arm64)
		return at == BUILD_GUEST_BOOT_PARAMS && build_guest_page(g) == PAGE;
	return at >= 0x78000 && at < 0x7a000;
}

static u32 page_access(const struct build_guest *g, u64 at)
{
	if (at < BUILD_GUEST_ETEXT)
		return MMU_EXEC;
	return g->options.arm64 && at < BUILD_GUEST_BOOT_PARAMS ? 0 : MMU_WRITE;
}

/* Text, read-only data, data. */
static void map_image(struct build_guest *g, const struct strbuf *image)
{
	u64 page = build_guest_page(g);

	for (u64 at = 0; at < BUILD_GUEST_END; at += page) {
		if (is_hole(g, at))
			continue;
		check(build_pagetable_map(&g->pages, g->start + at, KERNEL_IMAGE + at, page,
					  page_access(g, at)));
	}
	check(mem_fake_set(g->mem, GPA(KERNEL_IMAGE), image->data, BUILD_GUEST_END));
}

void build_guest_init(struct build_guest *g, const struct build_guest_options *options)
{
	struct strbuf image = STRBUF_INIT;
	u64 page;

	*g = (struct build_guest){
		.options = *options,
		.mem = mem_fake_create(),
		.start = options->arm64 ? ARM64_KASLR_START : KASLR_START,
		.next_gpa = MODULE_PAGES,
		.next_module = options->arm64 ? ARM64_MODULES_START : MODULES_START,
	};
	if (options->start)
		g->start = options->start;
	if (!g->mem)
		abort();
	for (u32 i = 0; i < 20; i++)
		g->build_id[i] = i * 7 + 1;
	page = build_guest_page(g);
	check(options->arm64 ?
		      build_pagetable_init_arm64(&g->pages, g->mem,
						 options->page_shift ? options->page_shift : 12,
						 BUILD_GUEST_ARM64_BITS(options), false,
						 GPA(KERNEL_TABLES)) :
		      build_pagetable_init(&g->pages, g->mem,
					   options->five_levels ? MMU_MODE_X86_5LEVEL :
								  MMU_MODE_X86_4LEVEL,
					   GPA(KERNEL_TABLES)));
	/* A page of the process's own, so that it is not the kernel's table. */
	check(build_pagetable_map(&g->pages, 0x400000, MODULE_PAGES - page, page, MMU_USER));
	make_image(g, &image);
	map_image(g, &image);
	strbuf_deinit(&image);
	build_guest_poke_u64(g, g->start + BUILD_GUEST_MODULES, g->start + BUILD_GUEST_MODULES);
	build_guest_poke_u64(g, g->start + BUILD_GUEST_MODULES + 8,
			     g->start + BUILD_GUEST_MODULES);
	g->last_module = g->start + BUILD_GUEST_MODULES;
	if (options->arm64)
		return;
	/* The table above the modules' pages exists before it is copied. */
	check(build_pagetable_map(&g->pages, MODULES_START + (511ULL << 20), MODULE_PAGES - PAGE,
				  PAGE, MMU_WRITE));
	build_guest_share_tables(g);
}

void build_guest_deinit(struct build_guest *g)
{
	mem_fake_destroy(g->mem);
}

struct vcpu_regs build_guest_regs(const struct build_guest *g)
{
	struct vcpu_regs regs = build_pagetable_regs(&g->pages);

	regs.pc = build_guest_function(g, 0) + BUILD_GUEST_RETURN;
	if (g->options.arm64) {
		regs.arm64.vbar = g->start + 0x40000;
		regs.flags = 0x5;
	} else {
		regs.x86.lstar = g->start + 0x40000;
	}
	return regs;
}

/* Fresh pages of the module area, with a page that is not mapped behind them. */
static u64 allocate(struct build_guest *g, size_t size, u32 access)
{
	u64 page = build_guest_page(g), at = g->next_module, bytes = ALIGN_UP(size, page);

	check(build_pagetable_map_range(&g->pages, at, g->next_gpa, bytes, access));
	for (u64 i = 0; i < bytes; i += PAGE)
		if (!mem_fake_page(g->mem, GPA(g->next_gpa + i)))
			abort();
	g->next_module += bytes + page;
	g->next_gpa += bytes;
	return at;
}

static void put_module_code(struct build_guest *g, u64 text, u32 nr)
{
	for (u32 i = 0; i < nr; i++) {
		static const u8 call[7] = { 0xff, 0x14, 0x25, 0x00, 0x10, 0x20, 0x80 };

		build_guest_poke(g, text + i * 64 + 0x10 - sizeof(call), call, sizeof(call));
	}
}

static void put_module_symbols(struct build_guest *g, struct build_guest_module *m,
			       const char *name, u32 nr)
{
	struct strbuf symbols = STRBUF_INIT, strings = STRBUF_INIT, types = STRBUF_INIT;
	u64 typetab;

	strbuf_add_zeros(&symbols, sizeof(Elf64_Sym));
	put_u8(&strings, 0);
	put_u8(&types, 0);
	for (u32 i = 0; i < nr; i++) {
		Elf64_Sym sym = {
			.st_name = strings.len,
			.st_info = g->options.no_typetab ? 't' : 0,
			.st_shndx = 1,
			.st_value = m->text + i * 64,
			.st_size = 64,
		};

		strbuf_add(&symbols, &sym, sizeof(sym));
		strbuf_addf(&strings, "%s_%u", name, i);
		put_u8(&strings, 0);
		put_u8(&types, 't');
	}
	m->symtab = allocate(g, symbols.len, MMU_WRITE);
	m->strtab = allocate(g, strings.len, MMU_WRITE);
	typetab = allocate(g, types.len, MMU_WRITE);
	build_guest_poke(g, m->symtab, symbols.data, symbols.len);
	build_guest_poke(g, m->strtab, strings.data, strings.len);
	build_guest_poke(g, typetab, types.data, types.len);
	build_guest_poke_u64(g, m->kallsyms, m->symtab);
	poke_u32(g, m->kallsyms + 8, nr + 1);
	build_guest_poke_u64(g, m->kallsyms + 16, m->strtab);
	build_guest_poke_u64(g, m->kallsyms + 24, g->options.no_typetab ? 0x4141414141 : typetab);
	strbuf_deinit(&symbols);
	strbuf_deinit(&strings);
	strbuf_deinit(&types);
}

static void put_module_orc(struct build_guest *g, struct build_guest_module *m, u32 nr)
{
	u64 ip = allocate(g, 8 * (nr + 1), MMU_WRITE), entries = allocate(g, 12 * (nr + 1),
									  MMU_WRITE);
	struct build_orc orc = { .format = g->options.orc, .ip_base = ip };

	for (u32 i = 0; i < nr; i++)
		build_orc_call(&orc, m->text + i * 64, 8 + 8 * (i % 4));
	build_orc_undefined(&orc, m->text + nr * 64);
	build_guest_poke(g, ip, orc.ip.data, orc.ip.len);
	build_guest_poke(g, entries, orc.entries.data, orc.entries.len);
	m->nr_orcs = m->address + MODULE_ARCH;
	poke_u32(g, m->nr_orcs, orc.nr);
	build_guest_poke_u64(g, m->address + MODULE_ARCH + 8, ip);
	build_guest_poke_u64(g, m->address + MODULE_ARCH + 16, entries);
	build_orc_deinit(&orc);
}

static void put_memory(struct build_guest *g, u64 module, unsigned int i, u64 base, u64 size)
{
	build_guest_poke_u64(g, module + MODULE_MEM + i * MODULE_MEM_SIZE, base);
	poke_u32(g, module + MODULE_MEM + i * MODULE_MEM_SIZE + 8, size);
}

/* Before 6.4 text and read-only data are in one piece. */
static void put_module_memory(struct build_guest *g, struct build_guest_module *m)
{
	u64 rodata = m->text + ALIGN_UP(m->text_size, build_guest_page(g));
	struct strbuf note = STRBUF_INIT;

	put_build_id(&note, m->build_id);
	build_guest_poke(g, rodata + RODATA_NOTE, note.data, note.len);
	strbuf_deinit(&note);
	if (g->options.module_memory) {
		put_memory(g, m->address, MEM_TEXT, m->text, m->text_size);
		put_memory(g, m->address, MEM_RODATA, rodata, RODATA_SIZE);
		put_memory(g, m->address, MEM_INIT_TEXT, m->init_text, 0x100);
		return;
	}
	build_guest_poke_u64(g, m->address + MODULE_LAYOUT, m->text);
	poke_u32(g, m->address + MODULE_LAYOUT + 8, rodata + RODATA_SIZE - m->text);
	poke_u32(g, m->address + MODULE_LAYOUT + 12, m->text_size);
	build_guest_poke_u64(g, m->address + MODULE_INIT_LAYOUT, m->init_text);
	poke_u32(g, m->address + MODULE_INIT_LAYOUT + 8, 0x100);
	poke_u32(g, m->address + MODULE_INIT_LAYOUT + 12, 0x100);
}

static void link_module(struct build_guest *g, const struct build_guest_module *m)
{
	u64 head = g->start + BUILD_GUEST_MODULES;

	build_guest_poke_u64(g, m->list, head);
	build_guest_poke_u64(g, m->list + 8, g->last_module);
	build_guest_poke_u64(g, g->last_module, m->list);
	build_guest_poke_u64(g, head + 8, m->list);
	g->last_module = m->list;
}

struct build_guest_module build_guest_add_module(struct build_guest *g, const char *name, u32 nr)
{
	struct build_guest_module m = { .text_size = nr * 64 };
	char padded[56] = "";

	snprintf(padded, sizeof(padded), "%s", name);
	m.text = allocate(g, ALIGN_UP(m.text_size, build_guest_page(g)) + RODATA_SIZE, MMU_EXEC);
	m.init_text = allocate(g, 0x100, MMU_EXEC);
	m.address = allocate(g, MODULE_BYTES, MMU_WRITE);
	m.kallsyms = allocate(g, 32, MMU_WRITE);
	m.list = m.address + MODULE_LIST;
	for (u32 i = 0; i < 20; i++)
		m.build_id[i] = name[0] + i;
	put_module_code(g, m.text, nr);
	put_module_memory(g, &m);
	put_module_symbols(g, &m, name, nr);
	put_module_orc(g, &m, nr);
	build_guest_poke(g, m.address + MODULE_NAME, padded, sizeof(padded));
	build_guest_poke_u64(g, m.address + MODULE_KALLSYMS, m.kallsyms);
	link_module(g, &m);
	return m;
}
