/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest's operating system: the parts put together. */
#include "guest/guest.h"

#include <stdio.h>
#include <string.h>

#include "arch/arm64-call.h"
#include "arch/arm64-frame.h"
#include "arch/x86-call.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "guest/cache.h"
#include "guest/guest-private.h"
#include "guest/image.h"
#include "guest/kread.h"
#include "guest/kernel-build.h"
#include "guest/layout-i386.h"
#include "guest/modules.h"
#include "guest/task-find.h"
#include "guest/text.h"
#include "mmu/walk.h"

#define KERNEL_HALF 0xffff800000000000ULL	/* x86-64; with 5 levels it begins lower */
#define KERNEL_HALF_LA57 0xff00000000000000ULL

#define MAX_I386_TRIES 30

/* With page-table isolation the user's table lies this far behind the kernel's. */
#define X86_PTI_USER_ROOT 0x1000ULL

/* On arm64 tramp_pg_dir, which then is in TTBR1 in user mode, is two tables before the kernel's. */
#define ARM64_PTI_TABLES 2

/* hdr.pref_address in struct boot_params: where the kernel was linked to run, physical. */
#define BOOT_PARAMS_PREF_ADDRESS 0x258

/* Bytes of a function that are looked through for its frame record. */
#define ARM64_FUNCTION_MAX (TEXT_MAX - ARM64_FRAME_AHEAD * sizeof(u32))

struct lazy_symbols {
	const struct symtab *symtab;	/* of the build, at this guest's address; NULL: not yet */
};

struct guest {
	const struct mem_reader *mem;
	const struct elf_kernel *elf;	/* what it is said to run; NULL: to be found */
	struct guest_cache *cache;
	const struct vcpu_regs *regs;	/* while it is being identified */
	unsigned int i386_tries;
	struct guest_kernel kernel;
	struct kernel_build *build;	/* NULL until identified */
	struct lazy_symbols *lazy;	/* made on first use, also of a const guest */
	struct mmu_space space;		/* the kernel's own page tables */
	u64 own_root;		/* those, while .space has to be another's; 0: it is not */
	u64 start_gpa;		/* of the image, by which they are told to be in use */
	struct modules modules;
	struct text text;
	u64 inittext_start, inittext_end;
	u64 modules_head;	/* where the kernel has no symbol for it; 0: not found yet */
};

int guest_create(const struct mem_reader *mem, struct guest_cache *cache, struct guest **ret)
{
	struct guest *guest = calloc(1, sizeof(*guest));

	if (!guest)
		return -ENOMEM;
	guest->lazy = calloc(1, sizeof(*guest->lazy));
	if (!guest->lazy) {
		free(guest);
		return -ENOMEM;
	}
	guest->mem = mem;
	guest->cache = cache;
	*ret = guest;
	return 0;
}

void guest_destroy(struct guest *guest)
{
	if (!guest)
		return;
	modules_deinit(&guest->modules);
	text_deinit(&guest->text);
	if (guest->lazy->symtab)
		kernel_build_put_symtab(guest->build, guest->lazy->symtab);
	kernel_build_put(guest->build);
	free(guest->lazy);
	free(guest);
}

/*
 * What a kernel without types has in its tasks. While it boots there is nothing to be found yet. A
 * kernel of which it is never found is known all the same, but for its tasks.
 */
static int find_i386(struct guest *guest, const struct image *image,
		     const struct mmu_space *space, struct kernel_build *build,
		     const char **ret_why)
{
	struct layout_i386 found;
	int err = layout_i386_find(image, space, guest->mem, guest->regs, &found);

	if (!err)
		kernel_build_set_i386(build, image->start, &found);
	if (err != -ENOENT || ++guest->i386_tries >= MAX_I386_TRIES)
		return err == -ENOENT ? 0 : err;
	*ret_why = "the kernel has no types, and its tasks are not found yet";
	return err;
}

/* Reads the image and all that is in it. */
static int parse_image(struct guest *guest, struct image *image, const struct mmu_space *space,
		       struct kernel_build **ret, const char **ret_why)
{
	int err = image_read(image, space, guest->mem);

	if (err) {
		*ret_why = "the guest kernel's image cannot be read";
		return err;
	}
	if (image->missing)
		log_debug("guest: %llu of the kernel image's %llu bytes are not there",
			  (unsigned long long)image->missing, (unsigned long long)image->size);
	err = kernel_build_create(image, space, ret, ret_why);
	if (!err && image->word == sizeof(u32)) {
		err = find_i386(guest, image, space, *ret, ret_why);
		if (err)
			kernel_build_put(*ret);
	}
	if (!err && guest->cache && cache_add(guest->cache, image, *ret))
		log_debug("guest: the kernel could not be kept in the cache");
	image_deinit(image);
	return err;
}

/* One try with one set of page tables. */
static int find_kernel(struct guest *guest, const struct mmu_space *space, u64 hint,
		       struct image *ret_image, struct kernel_build **ret, const char **ret_why)
{
	int err = image_find(space, guest->mem, hint, ret_image);

	if (err) {
		*ret_why = err == -ENOENT ?
			   "no kernel image is mapped where Linux has it" :
			   "the guest's page tables cannot be read";
		return err;
	}
	if (guest->cache && !cache_find(guest->cache, ret_image, space, guest->mem, ret))
		return 0;
	return parse_image(guest, ret_image, space, ret, ret_why);
}

/*
 * arm64's image begins 64 KiB before what is mapped of it. Of kernels before 5.11 all is mapped:
 * their symbols say so.
 */
static int read_kernel_arm64(struct guest *guest, const struct mmu_space *space,
			     struct image *image, struct kernel_build **ret, const char **ret_why)
{
	int err;

	for (u64 head = IMAGE_ARM64_HEAD;; head = 0) {
		struct image with_head = { .start = image->start - head,
					   .size = image->size + head };

		if (guest->cache &&
		    !cache_find(guest->cache, &with_head, space, guest->mem, ret))
			err = 0;
		else
			err = parse_image(guest, &with_head, space, ret, ret_why);
		if (err != -ENOENT || !head) {
			*image = with_head;
			return err;
		}
	}
}

/* Takes the kernel's own page tables as soon as they map the same kernel. */
static void settle_space(struct guest *guest, u64 start)
{
	struct mmu_space own = guest->space;
	struct mmu_mapping at;

	own.root = guest->own_root;
	if (!own.root || mmu_translate(&own, guest->mem, GVA(start), &at) ||
	    at.gpa.addr != guest->start_gpa)
		return;
	guest->space = own;
	guest->own_root = 0;
}

/*
 * The page tables of the process that happened to run may go away with it, and so do those with
 * which a kernel begins; its own do not. They are used when they map the same kernel.
 */
static void choose_space(struct guest *guest, const struct mmu_space *space, u64 start)
{
	u64 table = kernel_build_address(guest->build, PLACE_PAGE_TABLE, start);
	struct mmu_mapping at;

	guest->space = *space;
	guest->own_root = 0;
	if (space->arch == VCPU_ARCH_ARM64)	/* TTBR1 is the kernel's own */
		return;
	if (mmu_translate(space, guest->mem, GVA(start), &at))
		return;
	guest->start_gpa = at.gpa.addr;
	if (!table || mmu_translate(space, guest->mem, GVA(table), &at))
		return;
	guest->own_root = at.gpa.addr;
	settle_space(guest, start);
}

/* How far the kernel was moved from where it was linked to be. 0 also when that is not known. */
static u64 find_kaslr_offset(const struct guest *guest, u64 start)
{
	u64 params = kernel_build_address(guest->build, PLACE_BOOT_PARAMS, start), preferred;

	if (!params || mmu_read(&guest->space, guest->mem,
				GVA(params + BOOT_PARAMS_PREF_ADDRESS), &preferred,
				sizeof(preferred)))
		return 0;
	if (!preferred || preferred % IMAGE_ALIGN || preferred >= IMAGE_X86_SIZE)
		return 0;
	return start - (IMAGE_X86_BASE + preferred);
}

/* A place of the image, or @fallback when the kernel has no symbol for it. */
static u64 place_or(const struct guest *guest, enum build_place_id id, u64 start, u64 fallback)
{
	u64 address = kernel_build_address(guest->build, id, start);

	return address ? address : fallback;
}

/*
 * As perf in the guest takes it: arm64's _text is in no section that kallsyms has when it has code
 * only (scripts/kallsyms.c without --all-symbols).
 */
static void find_reference(const struct guest *guest, u64 start, struct guest_kernel *kernel)
{
	static const char *const names[] = { "_text", "_stext" };
	const struct kallsyms *symbols = guest->build->symbols;

	kernel->reference = GVA(start);
	kernel->reference_name = names[0];
	for (size_t i = 0; symbols && i < ARRAY_SIZE(names); i++) {
		const struct ksym *ksym = kallsyms_find(symbols, names[i]);

		if (!ksym)
			continue;
		kernel->reference = GVA(kallsyms_address(ksym, start));
		kernel->reference_name = names[i];
		return;
	}
}

static void describe_kernel(struct guest *guest, const struct image *image)
{
	const struct kernel_build *build = guest->build;
	struct guest_kernel *kernel = &guest->kernel;
	u64 start = image->start;

	memcpy(kernel->release, build->release, sizeof(kernel->release));
	memcpy(kernel->banner, build->banner, sizeof(kernel->banner));
	kernel->build_id = build->build_id;
	kernel->start = GVA(start);
	kernel->end = GVA(place_or(guest, PLACE_END, start, start + image->size));
	kernel->text_end = GVA(place_or(guest, PLACE_ETEXT, start, kernel->end.addr));
	find_reference(guest, start, kernel);
	kernel->kaslr_offset = find_kaslr_offset(guest, start);
	kernel->is_32 = build->word == sizeof(u32);
	kernel->has_btf = build->has_btf;
	kernel->has_orc = build->orc;
	kernel->os = GUEST_OS_LINUX;
	guest->inittext_start = kernel_build_address(build, PLACE_SINITTEXT, start);
	guest->inittext_end = kernel_build_address(build, PLACE_EINITTEXT, start);
}

#define FIND_TASKS_READS 20000

/* Without BTF. All guests of the build have it from the first in which the tasks were found. */
static void find_tasks(struct guest *guest)
{
	struct kernel_layout *layout = &guest->build->layout;
	u64 init_task = guest_place(guest, PLACE_INIT_TASK);
	struct kread k;
	int err;

	if (layout_has_task(layout) || !init_task)
		return;
	kread_init(&k, guest->mem, &guest->space, FIND_TASKS_READS);
	err = task_find_layout(layout, &k, init_task);
	if (err)
		log_debug("guest: no BTF, and tasks are not found: %s", error_text(err));
}

/* Takes over the reference to @build. */
static void adopt(struct guest *guest, const struct mmu_space *space, const struct image *image,
		  struct kernel_build *build)
{
	int err;

	guest->build = build;
	choose_space(guest, space, image->start);
	text_init(&guest->text, guest->mem, &guest->space);
	describe_kernel(guest, image);
	find_tasks(guest);
	/* Modules may be in motion right now; the next refresh finds them. */
	err = guest_refresh_modules(guest);
	if (err)
		log_debug("guest: modules: %s", error_text(err));
}

void guest_set_elf(struct guest *guest, const struct elf_kernel *elf)
{
	guest->elf = elf;
}

static void describe_given(struct guest *guest)
{
	const struct build_id *id = elf_kernel_build_id(guest->elf);
	const struct symbol *reference = elf_kernel_reference(guest->elf);
	struct guest_kernel *kernel = &guest->kernel;

	snprintf(kernel->release, sizeof(kernel->release), "%s", elf_kernel_name(guest->elf));
	kernel->build_id.size = MIN((size_t)id->size, sizeof(kernel->build_id.data));
	memcpy(kernel->build_id.data, id->data, kernel->build_id.size);
	kernel->start = kernel->reference = GVA(elf_kernel_start(guest->elf));
	kernel->reference_name = "_text";
	if (reference) {
		kernel->reference = GVA(reference->start);
		kernel->reference_name = symtab_name(elf_kernel_symbols(guest->elf), reference);
	}
	kernel->text_end = kernel->end = GVA(elf_kernel_text_end(guest->elf));
	kernel->os = GUEST_OS_GIVEN;
}

static int identify_given(struct guest *guest, const struct mmu_space *space, const char **ret_why)
{
	int err = elf_kernel_check(guest->elf, space, guest->mem);

	if (err) {
		*ret_why = err == -EBADMSG ? "its memory holds other code than that file's" :
					     "it has nothing where that file is to be";
		return err;
	}
	describe_given(guest);
	return 0;
}

/* Where the kernel's code is, roughly; 0: the vCPU does not tell. */
static u64 find_hint(const struct vcpu_regs *regs, const struct mmu_space *space)
{
	if (mmu_address_bits(space->mode) == 32)
		return regs->user ? 0 : (u64)(s32)regs->pc;
	return regs->user ? regs->x86.lstar : regs->pc;
}

static int identify_x86(struct guest *guest, const struct vcpu_regs *regs,
			struct mmu_space *space, struct image *image, struct kernel_build **ret,
			const char **ret_why)
{
	u64 hint = find_hint(regs, space);
	int err = find_kernel(guest, space, hint, image, ret, ret_why);

	if (!err || !(space->root & X86_PTI_USER_ROOT))
		return err;
	space->root &= ~X86_PTI_USER_ROOT;
	return find_kernel(guest, space, hint, image, ret, ret_why);
}

/*
 * By one table of the upper half: the exception vectors are in the kernel's text, but for the copy
 * that it has for user mode when it is unmapped then, and so is what the kernel runs, mostly.
 */
static int find_image_arm64(const struct guest *guest, const struct vcpu_regs *regs,
			    const struct mmu_space *space, struct image *ret)
{
	u64 table;
	int err = image_find_arm64(space, guest->mem, regs->arm64.vbar, ret);

	if (err && !regs->user)
		err = image_find_arm64(space, guest->mem, regs->pc, ret);
	if (err && !image_find_arm64_table(space, guest->mem, &table))
		err = image_find_arm64(space, guest->mem, table, ret);
	return err;
}

/*
 * TTBR1 has the trampoline's table in user mode, where the kernel is unmapped then. What mode the
 * vCPU is in says nothing of it: these registers can be older than the others.
 */
static int identify_arm64(struct guest *guest, const struct vcpu_regs *regs,
			  struct mmu_space *space, struct image *image, struct kernel_build **ret,
			  const char **ret_why)
{
	int err = find_image_arm64(guest, regs, space, image);

	if (err) {
		space->root_high += ARM64_PTI_TABLES << space->half[1].page_shift;
		err = find_image_arm64(guest, regs, space, image);
	}
	if (!err)
		return read_kernel_arm64(guest, space, image, ret, ret_why);
	*ret_why = err == -ENOENT ? "no kernel image is mapped where the vCPU's registers lead" :
				    "the guest's page tables cannot be read";
	return err;
}

int guest_identify(struct guest *guest, const struct vcpu_regs *regs, const char **ret_why)
{
	const char *why = NULL;
	struct kernel_build *build;
	struct mmu_space space;
	struct image image;
	int err;

	if (guest->build)
		find_tasks(guest);
	if (guest->kernel.os != GUEST_OS_UNKNOWN)
		return 0;
	err = mmu_space_init(&space, regs);
	if (err) {
		why = "the vCPU's paging mode is not known";
		goto out;
	}
	if (guest->elf) {
		err = identify_given(guest, &space, &why);
		goto out;
	}
	if (space.mode == MMU_MODE_NONE || space.mode == MMU_MODE_ARM64_OFF) {
		why = "paging is off: firmware, or a kernel that has just begun";
		err = -ENOENT;
		goto out;
	}
	guest->regs = regs;
	if (space.arch == VCPU_ARCH_ARM64) {
		err = identify_arm64(guest, regs, &space, &image, &build, &why);
	} else {
		/* A kernel that has just begun allows NX later, and sets no such bit before. */
		space.mode &= ~MMU_MODE_F_NO_NX;
		err = identify_x86(guest, regs, &space, &image, &build, &why);
	}
	if (!err)
		adopt(guest, &space, &image, build);
out:
	guest->regs = NULL;
	if (err && ret_why)
		*ret_why = why;
	return err;
}

int guest_get_view(const struct guest *guest, struct guest_view *ret)
{
	if (!guest->build)
		return -ENOENT;
	*ret = (struct guest_view){
		.mem = guest->mem, .space = guest->space, .layout = &guest->build->layout,
	};
	return 0;
}

u64 guest_place(const struct guest *guest, enum build_place_id id)
{
	if (!guest->build)
		return 0;
	return kernel_build_address(guest->build, id, guest->kernel.start.addr);
}

const struct guest_kernel *guest_kernel(const struct guest *guest)
{
	return &guest->kernel;
}

const struct symtab *guest_kernel_symbols(const struct guest *guest)
{
	struct lazy_symbols *lazy = guest->lazy;

	if (guest->build && !lazy->symtab)
		kernel_build_get_symtab(guest->build, guest->kernel.start.addr, &lazy->symtab);
	return lazy->symtab;
}

/* Another kernel at this place, or none. A page that cannot be read now is no proof. */
static bool is_stale(const struct guest *guest)
{
	const struct guest_build_id *id = &guest->kernel.build_id;
	u8 there[GUEST_BUILD_ID_MAX];

	return id->size &&
	       !mmu_read(&guest->space, guest->mem,
			 GVA(guest->kernel.start.addr + guest->build->build_id_offset), there,
			 id->size) &&
	       memcmp(there, id->data, id->size);
}

/* Without a symbol: by its form, in the kernel's data. */
static u64 find_modules_head(struct guest *guest, const struct modules_source *source)
{
	u64 head = guest_place(guest, PLACE_MODULES);

	if (head || guest->space.arch != VCPU_ARCH_ARM64 || !layout_has_modules(source->layout))
		return head;
	if (!guest->modules_head)
		modules_search(source, guest->kernel.start.addr, guest->kernel.end.addr,
			       &guest->modules_head);
	return guest->modules_head;
}

bool guest_is_settled(const struct guest *guest)
{
	return !guest->own_root;
}

int guest_refresh_modules(struct guest *guest)
{
	struct modules_source source = { .mem = guest->mem, .space = guest->space };

	if (!guest->build)
		return -ENOENT;
	if (guest->own_root) {
		settle_space(guest, guest->kernel.start.addr);
		source.space = guest->text.space = guest->space;
	}
	if (is_stale(guest))
		return -ESTALE;
	source.layout = &guest->build->layout;
	source.list_head = find_modules_head(guest, &source);
	/* A kernel without modules, or one that does not say where they are. */
	if (!source.list_head || !layout_has_modules(source.layout))
		return 0;
	return modules_refresh(&guest->modules, &source);
}

size_t guest_nr_modules(const struct guest *guest)
{
	return guest->modules.list.nr;
}

const struct guest_module *guest_module(const struct guest *guest, size_t i)
{
	return &guest->modules.list.data[i]->public;
}

/* A per-CPU place as the wire has it. False when x86 could not have it: not in the top 2 GiB. */
static bool percpu_offset(const struct guest *guest, enum build_place_id id, s64 *ret)
{
	u64 offset;

	if (!guest->build->places[id].known)
		return false;
	offset = guest_place(guest, id);
	if (guest->space.arch != VCPU_ARCH_ARM64 && (s64)offset != (s32)offset)
		return false;
	*ret = offset;
	return true;
}

static u64 kernel_half(const struct guest *guest)
{
	if (guest->space.mode == MMU_MODE_ARM64)
		return -(1ULL << guest->space.half[1].bits);
	if (guest->build->word == sizeof(u32))
		return IMAGE_I386_BASE;
	return mmu_address_bits(guest->space.mode) == 57 ? KERNEL_HALF_LA57 : KERNEL_HALF;
}

void guest_capture_config(const struct guest *guest, struct wire_guest *ret)
{
	struct wire_guest config = { 0 };
	const struct kernel_layout *layout;

	*ret = config;
	if (!guest->build)
		return;
	layout = &guest->build->layout;
	if (!layout_has_task(layout) ||
	    !percpu_offset(guest, PLACE_CURRENT_TASK, &config.current_task_offset))
		return;
	percpu_offset(guest, PLACE_IRQ_STACK, &config.irq_stack_offset);
	/* arm64 does not need the latter, and i386's is not known. */
	if (layout->mm_pgd != LAYOUT_NONE &&
	    (guest->space.arch == VCPU_ARCH_ARM64 || guest->build->word == sizeof(u32) ||
	     percpu_offset(guest, PLACE_LOADED_MM, &config.loaded_mm_offset)))
		config.mm_pgd_offset = layout->mm_pgd;
	config.pt_regs_size = layout->pt_regs_size;
	config.task_pid_offset = layout->task_pid;
	config.task_tgid_offset = layout->task_tgid;
	config.task_comm_offset = layout->task_comm;
	config.task_stack_offset = layout->task_stack;
	config.task_mm_offset = layout->task_mm;
	if (layout->task_alt_stack != LAYOUT_NONE)
		config.task_alt_stack_offset = layout->task_alt_stack;
	config.thread_size = guest->build->thread_size;
	config.irq_stack_size = layout->irq_stack_size;
	config.pt_regs_top = guest->build->pt_regs_top;
	config.kernel_start = kernel_half(guest);
	config.word = guest->build->word;
	config.valid = 1;
	*ret = config;
}

static bool in_image(const struct guest *guest, u64 address)
{
	return address >= guest->kernel.start.addr && address < guest->kernel.end.addr;
}

static bool in_kernel_text(const struct guest *guest, u64 address)
{
	return (address >= guest->kernel.start.addr && address < guest->kernel.text_end.addr) ||
	       (address >= guest->inittext_start && address < guest->inittext_end);
}

/*
 * arm64 keeps frame records, which need no rule, but for functions that have none at this place:
 * their instructions say.
 */
static int find_row_arm64(struct guest *guest, u64 pc, struct cfi_row *ret_row)
{
	const struct guest_module *module;
	const struct symtab *symtab = guest_find_symbols(guest, GVA(pc), &module);
	const struct symbol *symbol = symtab ? symtab_find(symtab, pc) : NULL;
	u32 code[TEXT_MAX / sizeof(u32)], offset;
	size_t at, nr = 0;
	struct cfi_row row = { .kind = CFI_ROW_CALL };

	if (!symbol || pc % sizeof(u32) || pc - symbol->start >= ARM64_FUNCTION_MAX)
		return -ENOENT;
	at = (pc - symbol->start) / sizeof(u32);
	if (text_read_before(&guest->text, pc + ARM64_FRAME_AHEAD * sizeof(u32), code,
			     (at + ARM64_FRAME_AHEAD) * sizeof(u32), false, &nr) ||
	    nr != (at + ARM64_FRAME_AHEAD) * sizeof(u32))
		return -ENOENT;
	switch (arm64_frame_at(code, nr / sizeof(u32), at, &offset)) {
	case ARM64_FRAME_LR:
		break;	/* rules of zeros: all as it is */
	case ARM64_FRAME_AT_SP:
		row.cfa = (struct cfi_rule){ CFI_REG_OFFSET, ARM64_SP, offset };
		row.bp.kind = CFI_AT_CFA;
		row.ra = (struct cfi_rule){ CFI_AT_CFA, 0, sizeof(u64) };
		break;
	default:
		return -ENOENT;
	}
	*ret_row = row;
	return 0;
}

static bool is_function_start(const struct guest *guest, u64 pc)
{
	const struct guest_module *module;
	const struct symtab *symtab = guest_find_symbols(guest, GVA(pc), &module);
	const struct symbol *symbol = symtab ? symtab_find(symtab, pc) : NULL;

	return symbol && symbol->start == pc;
}

/*
 * Of i386 code: what the instructions around @pc say of a function whose frame is not made yet, or
 * no more. GCC makes it by push %ebp; mov %esp,%ebp, behind the call or the NOP for tracing, and
 * ends by pop %ebp or leave, and ret. Code elsewhere keeps it (CONFIG_FRAME_POINTER).
 */
static int find_row_i386(struct guest *guest, u64 pc, struct cfi_row *ret_row)
{
	static const u8 make[] = { 0x55, 0x89, 0xe5 };	/* push %ebp; mov %esp,%ebp */
	struct cfi_row row = {
		.kind = CFI_ROW_CALL,
		.cfa = { CFI_REG_OFFSET, X86_RSP, 4 },
		.ra = { CFI_AT_CFA, 0, -4 },
		.bp = { CFI_SAME },
	};
	u8 around[8];	/* 5 before it: the NOP */

	if (mmu_read(&guest->space, guest->mem, GVA(pc - 5), around, sizeof(around)))
		return -ENOENT;
	if (!memcmp(around + 4, make, sizeof(make))) {	/* behind the push */
		row.cfa.offset = 8;
		row.bp = (struct cfi_rule){ CFI_AT_CFA, 0, -8 };
	} else if (memcmp(around + 5, make, sizeof(make)) && around[5] != 0xc3 &&
		   !is_function_start(guest, pc)) {
		return -ENOENT;
	}
	*ret_row = row;
	return 0;
}

int guest_find_row(void *ctx, gva_t pc, struct cfi_row *ret_row)
{
	struct guest *guest = ctx;
	const struct module *module;

	if (!guest->build)
		return -ENOENT;
	if (guest->build->word == sizeof(u32))
		return find_row_i386(guest, pc.addr, ret_row);
	if (guest->space.arch == VCPU_ARCH_ARM64)
		return find_row_arm64(guest, pc.addr, ret_row);
	if (in_kernel_text(guest, pc.addr)) {
		/* The table of the build is made for an image at 0. */
		pc.addr -= guest->kernel.start.addr;
		return guest->build->orc ? orc_table_find(guest->build->orc, pc, ret_row) :
					   -ENOENT;
	}
	module = modules_find(&guest->modules, pc.addr);
	return module && module->orc ? orc_table_find(module->orc, pc, ret_row) : -ENOENT;
}

int guest_find_given_row(const struct guest *guest, gva_t pc, struct cfi_row *ret_row)
{
	return guest->elf ? elf_kernel_find_row(guest->elf, pc, ret_row) : -ENOENT;
}

bool guest_is_kernel_text(void *ctx, gva_t addr)
{
	const struct guest *guest = ctx;

	return guest->build &&
	       (in_kernel_text(guest, addr.addr) || modules_find(&guest->modules, addr.addr));
}

const struct symtab *guest_find_symbols(const struct guest *guest, gva_t addr,
					const struct guest_module **ret_module)
{
	const struct module *module;

	if (!guest->build)
		return NULL;
	if (in_image(guest, addr.addr)) {
		*ret_module = NULL;
		return guest_kernel_symbols(guest);
	}
	module = modules_find(&guest->modules, addr.addr);
	if (!module)
		return NULL;
	*ret_module = &module->public;
	return module->symtab;
}

/* Tracing puts these on the stack in place of the caller's: entered at their start by a return. */
static bool is_trampoline(const struct guest *guest, u64 address)
{
	for (int id = PLACE_RETHOOK; id <= PLACE_GRAPH; id++)
		if (guest->build->places[id].known &&
		    address == guest_place(guest, id))
			return true;
	return false;
}

/*
 * A function that has just been traced returns behind its __fentry__ site, which is a 5-byte NOP
 * by the time we look when tracing was switched off since.
 */
static bool follows_traced_entry(const struct guest *guest, u64 address, const u8 *before, size_t n)
{
	static const u8 nop5[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const u8 endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const struct guest_module *module;
	const struct symtab *symtab;
	const struct symbol *symbol;

	if (n < 5 || memcmp(before + n - 5, nop5, 5))
		return false;
	symtab = guest_find_symbols(guest, GVA(address), &module);
	symbol = symtab ? symtab_find(symtab, address) : NULL;
	if (!symbol)
		return false;
	return address == symbol->start + 5 ||
	       (address == symbol->start + 9 && n >= 9 && !memcmp(before + n - 9, endbr64, 4));
}

/* 0, -EBADMSG, or -EFAULT when not even one byte before @address can be read. */
static int check_bytes(struct guest *guest, u64 address, bool fresh)
{
	u8 before[16];
	size_t n;
	int err = text_read_before(&guest->text, address, before, sizeof(before), fresh, &n);

	if (err)
		return err;
	if (!n)
		return -EFAULT;
	if (is_trampoline(guest, address))
		return 0;
	if (guest->space.arch == VCPU_ARCH_ARM64)
		return arm64_call_ends_at(before, n) ? 0 : -EBADMSG;
	if (x86_call_ends_at(before, n) || follows_traced_entry(guest, address, before, n))
		return 0;
	return -EBADMSG;
}

int guest_check_kernel_call(void *ctx, gva_t ret_addr)
{
	struct guest *guest = ctx;
	int err;

	if (!guest->build)
		return -EFAULT;
	/* Trampolines and BPF programs are code of nobody's; that pages are executable says so. */
	if ((s64)ret_addr.addr >= 0)
		return -EBADMSG;
	err = check_bytes(guest, ret_addr.addr, false);
	/* Code may have been patched since it was read. */
	if (err == -EBADMSG)
		err = check_bytes(guest, ret_addr.addr, true);
	return err;
}

/* @module: what follows each name, "" for none. */
static void write_symtab(struct strbuf *out, const struct symtab *symtab, const char *module)
{
	for (size_t i = 0; i < symtab_nr(symtab); i++) {
		const struct symbol *symbol = symtab_at(symtab, i);

		strbuf_addf(out, "%016llx %c %s", (unsigned long long)symbol->start, symbol->type,
			    symtab_name(symtab, symbol));
		strbuf_addf(out, *module ? "\t[%s]\n" : "%s\n", module);
	}
}

/* As /proc/kallsyms of that kernel prints it: with as many digits as an address has. */
static void write_symbol(struct strbuf *out, const struct guest *guest, u64 address, u8 type,
			 const char *name)
{
	if (guest->kernel.is_32)
		strbuf_addf(out, "%08x %c %s\n", (u32)address, type, name);
	else
		strbuf_addf(out, "%016llx %c %s\n", (unsigned long long)address, type, name);
}

int guest_write_kallsyms(const struct guest *guest, char **ret_text, size_t *ret_size)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const struct kallsyms *k;

	if (guest->kernel.os == GUEST_OS_UNKNOWN)
		return -ENOENT;
	k = guest->build ? guest->build->symbols : NULL;
	if (!k)
		write_symtab(&out, elf_kernel_symbols(guest->elf), "");
	for (u32 i = 0; k && i < k->nr; i++) {
		const struct ksym *ksym = &k->symbols[i];

		write_symbol(&out, guest, kallsyms_address(ksym, guest->kernel.start.addr),
			     ksym->type, kallsyms_name(k, ksym));
	}
	for (size_t i = 0; i < guest->modules.list.nr; i++) {
		const struct module *module = guest->modules.list.data[i];

		write_symtab(&out, module->symtab, module->public.name);
	}
	if (strbuf_error(&out))
		return strbuf_error(&out);
	*ret_text = strbuf_steal(&out, ret_size);
	return 0;
}
