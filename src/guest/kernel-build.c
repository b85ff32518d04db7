/* SPDX-License-Identifier: GPL-2.0-only */
/* What is in a kernel image: symbols first, then all that they lead to. */
#include "guest/kernel-build.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "arch/arm64-percpu.h"
#include "base/cursor.h"
#include "guest/layout-i386.h"
#include "guest/orc-find.h"

#define THREAD_SIZE_DEFAULT 16384U	/* of x86-64 and arm64, without KASAN */
#define FRED_PADDING 16
#define I386_PADDING 8		/* TOP_OF_KERNEL_STACK_PADDING of i386 without VM86 */
#define NT_GNU_BUILD_ID 3
#define MAX_NOTES (1U << 20)

/* Symbols that are looked up, in one pass. */
enum symbol_id {
	SYM_LINUX_BANNER,
	SYM_START_NOTES,
	SYM_STOP_NOTES,
	SYM_START_BTF,
	SYM_STOP_BTF,
	SYM_START_ORC_IP,
	SYM_STOP_ORC_IP,
	SYM_START_ORC,
	SYM_STOP_ORC,
	SYM_ETEXT,
	SYM_END,
	SYM_SINITTEXT,
	SYM_EINITTEXT,
	SYM_MODULES,
	SYM_INIT_TOP_PGT,
	SYM_INIT_LEVEL4_PGT,
	SYM_BOOT_PARAMS,
	SYM_CURRENT_TASK,
	SYM_HARDIRQ_STACK_PTR,
	SYM_IRQ_STACK_PTR,
	SYM_PCPU_HOT,
	SYM_TLBSTATE,
	SYM_START_INIT_STACK,
	SYM_END_INIT_STACK,
	SYM_START_INIT_TASK,
	SYM_END_INIT_TASK,
	SYM_FRED_ENTRY,
	SYM_RETHOOK,
	SYM_OLD_KRETPROBE,
	SYM_KRETPROBE,
	SYM_GRAPH,
	SYM_VMEMMAP_BASE,
	SYM_SPECIAL_OPS,
	SYM_GATE_VMA,
	SYM_VSYSCALL_MODE,
	SYM_INIT_TASK,
	SYM_BPF_KALLSYMS,
	SYM_TRAMPOLINES,
	SYM_KPROBE_SLOTS,
	SYM_OPTPROBE_SLOTS,
	SYM_SWAPPER_PG_DIR,
	SYM_ENTRY_TASK,
	SYM_EL0_SYNC,
	SYM_OLD_EL0_SYNC,
	SYM_CALL_ON_IRQ_STACK,
	SYM_NR,
};

static const char *const symbol_names[SYM_NR] = {
	[SYM_LINUX_BANNER] = "linux_banner",
	[SYM_START_NOTES] = "__start_notes",
	[SYM_STOP_NOTES] = "__stop_notes",
	[SYM_START_BTF] = "__start_BTF",
	[SYM_STOP_BTF] = "__stop_BTF",
	[SYM_START_ORC_IP] = "__start_orc_unwind_ip",
	[SYM_STOP_ORC_IP] = "__stop_orc_unwind_ip",
	[SYM_START_ORC] = "__start_orc_unwind",
	[SYM_STOP_ORC] = "__stop_orc_unwind",
	[SYM_ETEXT] = "_etext",
	[SYM_END] = "_end",
	[SYM_SINITTEXT] = "_sinittext",
	[SYM_EINITTEXT] = "_einittext",
	[SYM_MODULES] = "modules",
	[SYM_INIT_TOP_PGT] = "init_top_pgt",
	[SYM_INIT_LEVEL4_PGT] = "init_level4_pgt",	/* its name before 4.13 */
	[SYM_BOOT_PARAMS] = "boot_params",
	[SYM_CURRENT_TASK] = "current_task",
	[SYM_HARDIRQ_STACK_PTR] = "hardirq_stack_ptr",
	[SYM_IRQ_STACK_PTR] = "irq_stack_ptr",		/* its name before 5.2 */
	[SYM_PCPU_HOT] = "pcpu_hot",
	[SYM_TLBSTATE] = "cpu_tlbstate",
	/* init_stack lies between these two; the next two are their names in 6.1. */
	[SYM_START_INIT_STACK] = "__start_init_stack",
	[SYM_END_INIT_STACK] = "__end_init_stack",
	[SYM_START_INIT_TASK] = "__start_init_task",
	[SYM_END_INIT_TASK] = "__end_init_task",
	[SYM_FRED_ENTRY] = "asm_fred_entrypoint_user",
	[SYM_RETHOOK] = "arch_rethook_trampoline",
	[SYM_OLD_KRETPROBE] = "kretprobe_trampoline",
	[SYM_KRETPROBE] = "__kretprobe_trampoline",
	[SYM_GRAPH] = "return_to_handler",
	[SYM_VMEMMAP_BASE] = "vmemmap_base",
	[SYM_SPECIAL_OPS] = "special_mapping_vmops",
	[SYM_GATE_VMA] = "gate_vma",
	[SYM_VSYSCALL_MODE] = "vsyscall_mode",
	[SYM_INIT_TASK] = "init_task",
	[SYM_BPF_KALLSYMS] = "bpf_kallsyms",
	[SYM_TRAMPOLINES] = "ftrace_ops_trampoline_list",
	[SYM_KPROBE_SLOTS] = "kprobe_insn_slots",
	[SYM_OPTPROBE_SLOTS] = "kprobe_optinsn_slots",
	[SYM_SWAPPER_PG_DIR] = "swapper_pg_dir",	/* arm64; this and the next four */
	[SYM_ENTRY_TASK] = "__entry_task",
	[SYM_EL0_SYNC] = "el0t_64_sync",
	[SYM_OLD_EL0_SYNC] = "el0_sync",		/* its name before 5.14 */
	[SYM_CALL_ON_IRQ_STACK] = "call_on_irq_stack",	/* from 5.14 on */
};

struct facts {
	const struct image *image;
	const struct ksym *symbols[SYM_NR];
	struct kernel_build *build;
};

/* The bytes between two symbols of the image; NULL when one is missing or they are not in order. */
static const u8 *between(const struct facts *facts, enum symbol_id from, enum symbol_id to,
			 size_t *ret_size)
{
	const struct ksym *a = facts->symbols[from], *b = facts->symbols[to];

	if (!a || !b || a->absolute || b->absolute || a->value > b->value ||
	    b->value > facts->image->size)
		return NULL;
	*ret_size = b->value - a->value;
	return facts->image->data + a->value;
}

/* Notes that the build depends on @size bytes at @bytes of the image. */
static void set_span(struct facts *facts, enum build_span_id id, const void *bytes, size_t size)
{
	facts->build->spans[id] = (struct build_span){
		.offset = (const u8 *)bytes - facts->image->data,
		.size = size,
	};
}

static void set_place(struct facts *facts, enum build_place_id place, enum symbol_id symbol,
		      u64 add)
{
	const struct ksym *ksym = facts->symbols[symbol];

	if (!ksym)
		return;
	facts->build->places[place] = (struct build_place){
		.offset = ksym->value + add,
		.known = 1,
		.absolute = ksym->absolute,
	};
}

/* A per-CPU variable by the first one that the code at @symbol loads, when it has no symbol. */
static void set_place_by_code(struct facts *facts, enum build_place_id place,
			      enum symbol_id symbol)
{
	const struct ksym *ksym = facts->symbols[symbol];
	const struct image *image = facts->image;
	u64 offset;

	if (!ksym || ksym->absolute || ksym->value > image->size ||
	    facts->build->places[place].known ||
	    !arm64_find_percpu(image->data + ksym->value, image->size - ksym->value, ksym->value,
			       &offset) || offset >= image->size)
		return;
	facts->build->places[place] = (struct build_place){ .offset = offset, .known = 1 };
}

/* arm64 kernels mostly have no symbols of data (KALLSYMS_ALL). */
static void find_arm64_places(struct facts *facts)
{
	set_place(facts, PLACE_PAGE_TABLE, SYM_SWAPPER_PG_DIR, 0);
	set_place(facts, PLACE_CURRENT_TASK, SYM_ENTRY_TASK, 0);
	set_place_by_code(facts, PLACE_CURRENT_TASK, SYM_EL0_SYNC);
	set_place_by_code(facts, PLACE_CURRENT_TASK, SYM_OLD_EL0_SYNC);
	set_place_by_code(facts, PLACE_IRQ_STACK, SYM_CALL_ON_IRQ_STACK);
}

/*
 * The first task is the one with process number 0 and this name, in the image itself.
 */
static void find_init_task(struct facts *facts)
{
	static const char name[] = "swapper/0";
	const struct kernel_layout *layout = &facts->build->layout;
	const struct image *image = facts->image;
	const u8 *at = image->data, *end = image->data + image->size;

	if (facts->build->places[PLACE_INIT_TASK].known || !layout_has_task(layout))
		return;
	while ((at = memmem(at, end - at, name, sizeof(name)))) {
		u64 task = at++ - image->data - layout->task_comm;
		u32 ids[2];

		if (task % 8 || task > image->size ||
		    MAX(layout->task_pid, layout->task_tgid) > image->size - task - sizeof(u32))
			continue;
		memcpy(&ids[0], image->data + task + layout->task_pid, sizeof(ids[0]));
		memcpy(&ids[1], image->data + task + layout->task_tgid, sizeof(ids[1]));
		if (ids[0] || ids[1])
			continue;
		facts->build->places[PLACE_INIT_TASK] = (struct build_place){ .offset = task,
									       .known = 1 };
		return;
	}
}

static void find_places(struct facts *facts)
{
	const struct kernel_layout *layout = &facts->build->layout;

	set_place(facts, PLACE_ETEXT, SYM_ETEXT, 0);
	set_place(facts, PLACE_END, SYM_END, 0);
	set_place(facts, PLACE_SINITTEXT, SYM_SINITTEXT, 0);
	set_place(facts, PLACE_EINITTEXT, SYM_EINITTEXT, 0);
	set_place(facts, PLACE_MODULES, SYM_MODULES, 0);
	set_place(facts, PLACE_PAGE_TABLE, SYM_INIT_LEVEL4_PGT, 0);
	set_place(facts, PLACE_PAGE_TABLE, SYM_INIT_TOP_PGT, 0);
	set_place(facts, PLACE_BOOT_PARAMS, SYM_BOOT_PARAMS, 0);
	set_place(facts, PLACE_CURRENT_TASK, SYM_CURRENT_TASK, 0);
	set_place(facts, PLACE_IRQ_STACK, SYM_IRQ_STACK_PTR, 0);
	set_place(facts, PLACE_IRQ_STACK, SYM_HARDIRQ_STACK_PTR, 0);
	set_place(facts, PLACE_RETHOOK, SYM_RETHOOK, 0);
	set_place(facts, PLACE_KRETPROBE, SYM_OLD_KRETPROBE, 0);
	set_place(facts, PLACE_KRETPROBE, SYM_KRETPROBE, 0);
	set_place(facts, PLACE_GRAPH, SYM_GRAPH, 0);
	set_place(facts, PLACE_VMEMMAP_BASE, SYM_VMEMMAP_BASE, 0);
	set_place(facts, PLACE_SPECIAL_OPS, SYM_SPECIAL_OPS, 0);
	set_place(facts, PLACE_GATE_VMA, SYM_GATE_VMA, 0);
	set_place(facts, PLACE_VSYSCALL_MODE, SYM_VSYSCALL_MODE, 0);
	set_place(facts, PLACE_INIT_TASK, SYM_INIT_TASK, 0);
	set_place(facts, PLACE_BPF_KALLSYMS, SYM_BPF_KALLSYMS, 0);
	set_place(facts, PLACE_TRAMPOLINES, SYM_TRAMPOLINES, 0);
	if (layout->user.insn_cache_pages != LAYOUT_NONE) {
		set_place(facts, PLACE_KPROBE_PAGES, SYM_KPROBE_SLOTS,
			  layout->user.insn_cache_pages);
		set_place(facts, PLACE_OPTPROBE_PAGES, SYM_OPTPROBE_SLOTS,
			  layout->user.insn_cache_pages);
	}
	if (layout->hot_current_task != LAYOUT_NONE)
		set_place(facts, PLACE_CURRENT_TASK, SYM_PCPU_HOT, layout->hot_current_task);
	if (layout->hot_irq_stack != LAYOUT_NONE)
		set_place(facts, PLACE_IRQ_STACK, SYM_PCPU_HOT, layout->hot_irq_stack);
	if (layout->loaded_mm != LAYOUT_NONE)
		set_place(facts, PLACE_LOADED_MM, SYM_TLBSTATE, layout->loaded_mm);
}

/* Without KALLSYMS_ALL data has no symbols; the text is found as it is. */
static const char *find_banner(const struct facts *facts, size_t *ret_max)
{
	static const char start[] = "Linux version ";
	const struct ksym *ksym = facts->symbols[SYM_LINUX_BANNER];
	const struct image *image = facts->image;
	const u8 *at = image->data, *end = image->data + image->size;

	if (ksym && !ksym->absolute && ksym->value < image->size) {
		*ret_max = image->size - ksym->value;
		return (const char *)image->data + ksym->value;
	}
	while ((at = memmem(at, end - at, start, sizeof(start) - 1))) {
		*ret_max = end - at;
		if (*ret_max > sizeof(start) && isdigit(at[sizeof(start) - 1]))
			return (const char *)at;
		at++;
	}
	return NULL;
}

static void read_banner(struct facts *facts)
{
	struct kernel_build *build = facts->build;
	const char *banner, *release;
	size_t max, len;

	banner = find_banner(facts, &max);
	if (!banner)
		return;
	len = strnlen(banner, MIN(max, sizeof(build->banner) - 1));
	while (len && banner[len - 1] == '\n')
		len--;
	memcpy(build->banner, banner, len);
	set_span(facts, SPAN_BANNER, banner, len);
	if (strncmp(build->banner, "Linux version ", 14))
		return;
	release = build->banner + 14;
	len = strcspn(release, " ");
	snprintf(build->release, sizeof(build->release), "%.*s", (int)len, release);
}

/* Notes of "GNU"; others are stepped over. */
static void read_notes(struct facts *facts, const u8 *notes, size_t size)
{
	struct kernel_build *build = facts->build;
	struct cursor c;

	cursor_init(&c, notes, MIN(size, (size_t)MAX_NOTES));
	while (cursor_left(&c) >= 12) {
		u32 name_size = cursor_u32(&c), size_of_it = cursor_u32(&c), type = cursor_u32(&c);
		const u8 *name = cursor_bytes(&c, ALIGN_UP((size_t)name_size, 4));
		const u8 *desc = cursor_bytes(&c, ALIGN_UP((size_t)size_of_it, 4));

		if (cursor_error(&c))
			return;
		if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) ||
		    !size_of_it || size_of_it > GUEST_BUILD_ID_MAX)
			continue;
		build->build_id.size = size_of_it;
		memcpy(build->build_id.data, desc, size_of_it);
		build->build_id_offset = desc - facts->image->data;
		return;
	}
}

/* A note that is in an ELF image inside the kernel, such as a vDSO's, is not the kernel's. */
static bool in_elf_image(const struct image *image, size_t at)
{
	size_t page = ALIGN_DOWN(at, 4096);

	for (unsigned int i = 0; i < 2; i++, page -= 4096) {
		if (!memcmp(image->data + page, "\177ELF", 4))
			return true;
		if (!page)
			break;
	}
	return false;
}

static void search_notes(struct facts *facts)
{
	static const u8 head[16] = { 4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0 };
	const struct image *image = facts->image;
	const u8 *at = image->data, *end = image->data + image->size;

	while ((at = memmem(at, end - at, head, sizeof(head)))) {
		if ((at - image->data) % 4 == 0 && !in_elf_image(image, at - image->data)) {
			read_notes(facts, at, end - at);
			return;
		}
		at++;
	}
}

static void read_build_id(struct facts *facts)
{
	const u8 *notes;
	size_t size;

	notes = between(facts, SYM_START_NOTES, SYM_STOP_NOTES, &size);
	if (notes)
		read_notes(facts, notes, size);
	else
		search_notes(facts);
}

/* Opens the first BTF that has tasks in it. */
static int search_btf(struct facts *facts, struct btf **ret)
{
	static const u8 head[8] = { 0x9f, 0xeb, 1, 0, 24, 0, 0, 0 };
	const struct image *image = facts->image;
	const u8 *at = image->data, *end = image->data + image->size;
	u32 type;

	for (unsigned int tries = 0; tries < 16; tries++, at++) {
		at = memmem(at, end - at, head, sizeof(head));
		if (!at)
			break;
		if (btf_create(at, end - at, ret))
			continue;
		if (!btf_find(*ret, BTF_STRUCT, "task_struct", &type)) {
			set_span(facts, SPAN_BTF, at, btf_bytes(*ret));
			return 0;
		}
		btf_destroy(*ret);
		*ret = NULL;
	}
	return -ENOENT;
}

static void read_types(struct facts *facts)
{
	_cleanup_(btf_destroy) struct btf *btf = NULL;
	const u8 *bytes;
	size_t size;
	int err;

	/* What reads the structures that types tell of reads pointers of 8 bytes. */
	if (facts->build->word == sizeof(u32))
		return;
	bytes = between(facts, SYM_START_BTF, SYM_STOP_BTF, &size);
	err = bytes ? btf_create(bytes, size, &btf) : search_btf(facts, &btf);
	if (err) {
		/* With symbols of data, one for the BTF would be there if the BTF was. */
		facts->build->partial |= bytes || !facts->symbols[SYM_LINUX_BANNER];
		return;
	}
	if (bytes)
		set_span(facts, SPAN_BTF, bytes, btf_bytes(btf));
	facts->build->has_btf = true;
	layout_read(&facts->build->layout, btf);
}

static int read_orc(struct facts *facts)
{
	struct kernel_build *build = facts->build;
	const u8 *ip, *entries;
	size_t ip_size = 0, entries_size = 0;
	u32 nr;
	int err;

	ip = between(facts, SYM_START_ORC_IP, SYM_STOP_ORC_IP, &ip_size);
	entries = between(facts, SYM_START_ORC, SYM_STOP_ORC, &entries_size);
	if (!ip || !entries)
		return 0;
	nr = MIN(MIN(ip_size / sizeof(s32), entries_size / ORC_ENTRY_SIZE),
		 (size_t)ORC_MAX_ENTRIES + 1);
	build->layout.orc_format = orc_guess_format(entries, nr, build->layout.orc_format);
	err = orc_table_create(build->layout.orc_format, ip - facts->image->data, ip, entries, nr,
			       &build->orc);
	if (err) {
		build->partial = true;
		return err == -ENOMEM ? err : 0;
	}
	set_span(facts, SPAN_ORC_IP, ip, nr * sizeof(s32));
	set_span(facts, SPAN_ORC, entries, (size_t)nr * ORC_ENTRY_SIZE);
	return 0;
}

static bool is_stack_size(size_t size)
{
	return size >= 8192 && size <= 1 << 20 && !(size & (size - 1));
}

/*
 * The size of a stack is that of the first task's, if symbols tell; arm64's has one page at least
 * (THREAD_SHIFT, arch/arm64/include/asm/memory.h). From 6.9 on, kernels built with FRED keep 16
 * bytes free above the user's pt_regs, on any processor ("x86/fred: Reserve space for the FRED
 * stack frame", TOP_OF_KERNEL_STACK_PADDING).
 */
static void read_stack_facts(struct facts *facts, const struct mmu_space *space)
{
	struct kernel_build *build = facts->build;
	size_t size;

	if (build->word == sizeof(u32)) {
		build->thread_size = LAYOUT_I386_THREAD_SIZE;
		build->pt_regs_top = I386_PADDING;
		return;
	}
	build->thread_size = MAX(THREAD_SIZE_DEFAULT, mmu_page_bytes(space));
	if ((between(facts, SYM_START_INIT_STACK, SYM_END_INIT_STACK, &size) ||
	     between(facts, SYM_START_INIT_TASK, SYM_END_INIT_TASK, &size)) &&
	    is_stack_size(size))
		build->thread_size = size;
	build->pt_regs_top = facts->symbols[SYM_FRED_ENTRY] ? FRED_PADDING : 0;
}

static void set_symbol_spans(struct facts *facts)
{
	const struct kallsyms *k = facts->build->symbols;
	const u8 *data = facts->image->data;

	set_span(facts, SPAN_NAMES, data + k->names_start, k->names_end - k->names_start);
	set_span(facts, SPAN_ADDRESSES, data + k->addresses_start,
		 k->addresses_end - k->addresses_start);
}

int kernel_build_create(const struct image *image, const struct mmu_space *space,
			struct kernel_build **ret, const char **ret_why)
{
	_cleanup_(kernel_build_put) struct kernel_build *build = calloc(1, sizeof(*build));
	struct facts facts = { .image = image, .build = build };
	int err;

	if (!build)
		return -ENOMEM;
	build->users = 1;
	build->image_size = image->size;
	build->word = image->word;
	layout_init(&build->layout);
	err = kallsyms_parse(image->data, image->size, image->start, &build->symbols);
	if (err) {
		*ret_why = "no kernel symbol table (kallsyms) in the guest's memory";
		return err;
	}
	set_symbol_spans(&facts);
	kallsyms_find_many(build->symbols, symbol_names, SYM_NR, facts.symbols);
	read_banner(&facts);
	read_build_id(&facts);
	read_types(&facts);
	read_stack_facts(&facts, space);
	find_places(&facts);
	if (space->arch == VCPU_ARCH_ARM64) {
		find_arm64_places(&facts);
		find_init_task(&facts);
	}
	err = read_orc(&facts);
	if (err)
		return err;
	*ret = TAKE_PTR(build);
	return 0;
}

struct kernel_build *kernel_build_get(struct kernel_build *build)
{
	build->users++;
	return build;
}

void kernel_build_put(struct kernel_build *build)
{
	if (!build || --build->users)
		return;
	vec_for_each(&build->symtabs, entry)
		symtab_destroy(entry->symtab);
	vec_deinit(&build->symtabs);
	kallsyms_destroy(build->symbols);
	orc_table_destroy(build->orc);
	free(build);
}

void kernel_build_set_i386(struct kernel_build *build, u64 start, const struct layout_i386 *found)
{
	struct kernel_layout *layout = &build->layout;

	layout->task_stack = found->task_stack;
	layout->task_flags = found->task_flags;
	layout->task_mm = found->task_mm;
	layout->mm_pgd = found->mm_pgd;
	layout->task_pid = found->task_pid;
	layout->task_tgid = found->task_tgid;
	layout->task_comm = found->task_comm;
	build->places[PLACE_CURRENT_TASK] = (struct build_place){
		.offset = found->current_task - start,
		.known = 1,
	};
}

u64 kernel_build_address(const struct kernel_build *build, enum build_place_id id, u64 start)
{
	const struct build_place *place = &build->places[id];

	if (!place->known)
		return 0;
	return place->absolute ? place->offset : start + place->offset;
}

static int make_symtab(const struct kallsyms *k, u64 start, struct symtab **ret)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	int err = symtab_create(&symtab);

	for (u32 i = 0; i < k->nr && !err; i++) {
		const struct ksym *ksym = &k->symbols[i];
		const char *name = kallsyms_name(k, ksym);

		/* What does not move is no address but an offset, or some constant. */
		if (*name && !ksym->absolute)
			err = symtab_add(symtab, start + ksym->value, 0, ksym->type, name);
	}
	if (!err)
		err = symtab_finish(symtab);
	if (err)
		return err;
	*ret = TAKE_PTR(symtab);
	return 0;
}

int kernel_build_get_symtab(struct kernel_build *build, u64 start, const struct symtab **ret)
{
	struct build_symtab made = { .start = start, .users = 1 };
	int err;

	vec_for_each(&build->symtabs, entry) {
		if (entry->start != start)
			continue;
		entry->users++;
		*ret = entry->symtab;
		return 0;
	}
	err = make_symtab(build->symbols, start, &made.symtab);
	if (err)
		return err;
	err = vec_push(&build->symtabs, made);
	if (err) {
		symtab_destroy(made.symtab);
		return err;
	}
	*ret = made.symtab;
	return 0;
}

void kernel_build_put_symtab(struct kernel_build *build, const struct symtab *symtab)
{
	vec_for_each(&build->symtabs, entry) {
		if (entry->symtab != symtab || --entry->users)
			continue;
		symtab_destroy(entry->symtab);
		*entry = build->symtabs.data[--build->symtabs.nr];
		return;
	}
}
