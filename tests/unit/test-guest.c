/* SPDX-License-Identifier: GPL-2.0-only */
/* A whole guest, built in memory and identified from outside: every release's form of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build-guest-image.h"
#include "guest/image.h"
#include "guest/guest.h"
#include "guest/kernel-build.h"
#include "mmu/walk.h"

struct fixture {
	struct build_guest build;
	struct guest *guest;
	struct vcpu_regs regs;
	const char *why;
};

static void open_options(struct fixture *f, const struct build_guest_options *options)
{
	*f = (struct fixture){ .why = NULL };
	build_guest_init(&f->build, options);
	f->regs = build_guest_regs(&f->build);
	assert_int_equal(guest_create(mem_fake_reader(f->build.mem), NULL, &f->guest), 0);
}

static void open_release(struct fixture *f, size_t release)
{
	struct build_guest_options options = build_guest_release(release);

	open_options(f, &options);
}

/* The newest that Debian 12 has: 6.12's form. */
#define USUAL 6

static void open_identified(struct fixture *f)
{
	open_release(f, USUAL);
	assert_int_equal(guest_identify(f->guest, &f->regs, &f->why), 0);
}

static void close_fixture(struct fixture *f)
{
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
}

static u64 address_of(const struct guest *guest, const char *name)
{
	const struct symbol *symbol = symtab_find_name(guest_kernel_symbols(guest), name);

	assert_non_null(symbol);
	return symbol->start;
}

static void check_kernel(const struct fixture *f)
{
	const struct guest_kernel *kernel = guest_kernel(f->guest);
	u64 start = f->build.start;

	assert_int_equal(kernel->os, GUEST_OS_LINUX);
	assert_string_equal(kernel->release, "6.1.0-test-amd64");
	assert_string_equal(kernel->banner,
			    "Linux version 6.1.0-test-amd64 (builder@example) (gcc) #1 SMP Test");
	assert_int_equal(kernel->build_id.size, 20);
	assert_memory_equal(kernel->build_id.data, f->build.build_id, 20);
	assert_int_equal(kernel->start.addr, start);
	assert_int_equal(kernel->text_end.addr, start + BUILD_GUEST_ETEXT);
	assert_int_equal(kernel->end.addr, start + BUILD_GUEST_END);
	assert_int_equal(kernel->kaslr_offset, start - 0xffffffff81000000);
	assert_true(kernel->has_btf);
	assert_true(kernel->has_orc);
	assert_int_equal(address_of(f->guest, "func_7"), build_guest_function(&f->build, 7));
	assert_int_equal(address_of(f->guest, "modules"), start + BUILD_GUEST_MODULES);
}

static void check_config(const struct fixture *f)
{
	const struct build_guest_options *options = &f->build.options;
	struct wire_guest config;
	s32 task = BUILD_PERCPU_TASK, irq = BUILD_PERCPU_TASK - 8;

	if (options->pcpu_hot) {
		task = BUILD_PERCPU_HOT;
		irq = BUILD_PERCPU_HOT + BUILD_HOT_IRQ_STACK;
	} else if (options->kallsyms.addressing == KALLSYMS_BASE ||
		   options->kallsyms.addressing == KALLSYMS_PLACE) {
		task = (s32)(f->build.start + BUILD_GUEST_PERCPU + BUILD_PERCPU_TASK % 0x1000);
		irq = task - 8;
	}
	guest_capture_config(f->guest, &config);
	assert_int_equal(config.valid, 1);
	assert_int_equal(config.current_task_offset, task);
	assert_int_equal(config.irq_stack_offset, irq);
	assert_int_equal(config.task_pid_offset, BUILD_TASK_PID);
	assert_int_equal(config.task_tgid_offset, BUILD_TASK_TGID);
	assert_int_equal(config.task_comm_offset, BUILD_TASK_COMM);
	assert_int_equal(config.task_stack_offset, BUILD_TASK_STACK);
	assert_int_equal(config.task_mm_offset, BUILD_TASK_MM);
	assert_int_equal(config.task_alt_stack_offset, BUILD_TASK_ALT_STACK);
	assert_int_equal(config.thread_size, 16384);
	assert_int_equal(config.irq_stack_size, 16384);
	assert_int_equal(config.pt_regs_top, options->fred ? 16 : 0);
	assert_int_equal(config.kernel_start, 0xffff800000000000);
}

static void check_row(const struct fixture *f, u64 pc, s32 cfa)
{
	struct cfi_row row;

	assert_int_equal(guest_find_row(f->guest, GVA(pc), &row), 0);
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_int_equal(row.cfa.kind, CFI_REG_OFFSET);
	assert_int_equal(row.cfa.reg, X86_RSP);
	assert_int_equal(row.cfa.offset, cfa);
}

static void check_rows(const struct fixture *f)
{
	u64 function = build_guest_function(&f->build, 9);
	struct cfi_row row;

	check_row(f, function, 8);
	check_row(f, function + 1, 16);
	check_row(f, function + 0xff, 16);
	assert_int_equal(guest_find_row(f->guest, GVA(f->build.start + 0x10), &row), 0);
	assert_int_equal(row.kind, CFI_ROW_END);
	assert_int_equal(guest_find_row(f->guest, GVA(f->build.start + 0x70000), &row), 0);
	assert_int_equal(row.kind, CFI_ROW_UNDEFINED);
	assert_int_equal(guest_find_row(f->guest, GVA(f->build.start - 8), &row), -ENOENT);
	assert_int_equal(guest_find_row(f->guest, GVA(0xffffffffc1000000), &row), -ENOENT);
}

static void test_releases(void **state)
{
	(void)state;
	for (size_t release = 0; release < BUILD_KALLSYMS_RELEASES; release++) {
		struct fixture f;
		struct build_guest_module module;
		const struct guest_module *found;

		open_release(&f, release);
		module = build_guest_add_module(&f.build, "ext4", 10);
		assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
		assert_null(f.why);
		check_kernel(&f);
		check_config(&f);
		check_rows(&f);
		assert_int_equal(guest_nr_modules(f.guest), 1);
		found = guest_module(f.guest, 0);
		assert_string_equal(found->name, "ext4");
		assert_int_equal(found->start.addr, module.text);
		assert_int_equal(found->size, module.text_size);
		assert_int_equal(found->build_id.size, 20);
		assert_memory_equal(found->build_id.data, module.build_id, 20);
		assert_int_equal(symtab_find_name(found->symbols, "ext4_3")->start,
				 module.text + 3 * 64);
		check_row(&f, module.text + 3 * 64, 32);
		assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
		close_fixture(&f);
	}
}

static void test_user_mode(void **state)
{
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	f.regs.user = 1;
	f.regs.pc = 0x400000;
	assert_int_equal(guest_identify(f.guest, &f.regs, NULL), 0);
	check_kernel(&f);
	close_fixture(&f);
}

/*
 * With page-table isolation and in user mode: the table at root + 4096 maps nothing of the kernel
 * but the entry code.
 */
static void test_isolated_tables(void **state)
{
	const u64 root = 80ULL << 20, user = root + 4096, tables = 84ULL << 20;
	struct build_pagetable pages;
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	for (unsigned int i = 0; i < 512; i++)
		mem_fake_set_u64(f.build.mem, GPA(root + i * 8),
				 build_pagetable_get(&f.build.pages, f.build.pages.root + i * 8));
	assert_int_equal(build_pagetable_init(&pages, f.build.mem, MMU_MODE_X86_4LEVEL, GPA(user)),
			 0);
	pages.next = tables;
	assert_int_equal(build_pagetable_map(&pages, f.build.start + 0x40000, 128ULL << 20, 4096,
					     MMU_EXEC), 0);
	f.regs.user = 1;
	f.regs.pc = 0x400000;
	f.regs.x86.cr3 = user;
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	check_kernel(&f);
	guest_destroy(f.guest);

	/* The same with nothing in the kernel's half. */
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &f.guest), 0);
	mem_fake_set_u64(f.build.mem, GPA(root + 511 * 8), 0);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), -ENOENT);
	assert_non_null(f.why);
	close_fixture(&f);
}

/* All of the image, as a kernel's first tables have it: without a word on what may be run. */
static void map_early(struct fixture *f, u64 root, struct build_pagetable *ret)
{
	struct mmu_space space = build_pagetable_space(&f->build.pages);
	struct mmu_mapping at;

	assert_int_equal(build_pagetable_init(ret, f->build.mem, MMU_MODE_X86_4LEVEL, GPA(root)),
			 0);
	for (u64 page = f->build.start; page < f->build.start + BUILD_GUEST_END; page += 4096)
		if (!mmu_translate(&space, mem_fake_reader(f->build.mem), GVA(page), &at))
			assert_int_equal(build_pagetable_map(ret, page, at.gpa.addr, 4096,
							     MMU_EXEC | MMU_WRITE), 0);
}

/*
 * Identified in its first moments: on tables that it gives up later, with NX not yet allowed. What
 * it maps later has that bit, and is in its own tables only.
 */
static void test_early_kernel(void **state)
{
	const u64 root = 80ULL << 20;
	struct build_pagetable early;
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	build_guest_add_module(&f.build, "virtio", 2);
	map_early(&f, root, &early);
	for (unsigned int i = 256; i < 512; i++)
		build_guest_poke_u64(&f.build, f.build.start + BUILD_GUEST_PAGE_TABLE + i * 8, 0);
	f.regs.x86.cr3 = root;
	f.regs.x86.efer &= ~MMU_X86_EFER_NXE;
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_false(guest_is_settled(f.guest));
	guest_refresh_modules(f.guest);
	assert_false(guest_is_settled(f.guest));
	assert_int_equal(guest_nr_modules(f.guest), 0);

	build_guest_share_tables(&f.build);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_true(guest_is_settled(f.guest));
	for (unsigned int i = 0; i < 512; i++)
		mem_fake_set_u64(f.build.mem, GPA(root + i * 8), 0);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_int_equal(guest_nr_modules(f.guest), 1);
	check_kernel(&f);
	close_fixture(&f);
}

/* One whose own tables were there already, before it allowed NX. */
static void test_before_nx(void **state)
{
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	f.regs.x86.efer &= ~MMU_X86_EFER_NXE;
	build_guest_add_module(&f.build, "virtio", 2);
	build_guest_share_tables(&f.build);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_true(guest_is_settled(f.guest));
	assert_int_equal(guest_nr_modules(f.guest), 1);
	close_fixture(&f);
}

static void test_nothing_there(void **state)
{
	struct wire_guest config;
	struct cfi_row row;
	struct fixture f;
	char *text;
	size_t size;

	(void)state;
	open_release(&f, USUAL);
	/* No symbols any more. */
	build_guest_poke_u64(&f.build, f.build.start + f.build.kallsyms.num_syms, 0);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), -ENOENT);
	assert_non_null(f.why);
	assert_int_equal(guest_kernel(f.guest)->os, GUEST_OS_UNKNOWN);
	assert_null(guest_kernel_symbols(f.guest));
	guest_capture_config(f.guest, &config);
	assert_int_equal(config.valid, 0);
	assert_int_equal(guest_find_row(f.guest, GVA(f.build.start), &row), -ENOENT);
	assert_int_equal(guest_check_kernel_call(f.guest, GVA(f.build.start)), -EFAULT);
	assert_false(guest_is_kernel_text(f.guest, GVA(f.build.start)));
	assert_int_equal(guest_refresh_modules(f.guest), -ENOENT);
	assert_int_equal(guest_write_kallsyms(f.guest, &text, &size), -ENOENT);
	/* A mode that is no paging mode of ours, and no paging at all. */
	f.regs.arch = VCPU_ARCH_NONE;
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), -EOPNOTSUPP);
	f.regs.arch = VCPU_ARCH_X86_64;
	f.regs.x86.cr0 = 0x10;
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), -ENOENT);
	close_fixture(&f);
}

/* A function of arm64, at its start and in it; calls of its own. */
static void check_arm64_code(struct fixture *f)
{
	/* stp x29, x30, [sp, #-32]!; mov x29, sp; bl; ldp x29, x30, [sp], #32; ret */
	static const u32 code[] = { 0xa9be7bfd, 0x910003fd, 0x94000100, 0xa8c27bfd, 0xd65f03c0 };
	u64 at = build_guest_function(&f->build, 3);
	struct cfi_row row;

	build_guest_poke(&f->build, at, code, sizeof(code));
	assert_int_equal(guest_find_row(f->guest, GVA(at), &row), 0);
	assert_int_equal(row.ra.kind, CFI_SAME);
	assert_int_equal(guest_find_row(f->guest, GVA(at + 4), &row), 0);
	assert_int_equal(row.ra.kind, CFI_AT_CFA);
	assert_int_equal(row.cfa.reg, ARM64_SP);
	assert_int_equal(guest_find_row(f->guest, GVA(at + 8), &row), -ENOENT);
	assert_int_equal(guest_find_row(f->guest, GVA(at + 16), &row), 0);
	assert_int_equal(row.ra.kind, CFI_SAME);
	assert_int_equal(guest_check_kernel_call(f->guest, GVA(at + 12)), 0);
	assert_int_equal(guest_check_kernel_call(f->guest, GVA(at + 8)), -EBADMSG);
	assert_int_equal(guest_find_row(f->guest, GVA(at + 2), &row), -ENOENT);
}

static void test_arm64(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct build_guest_module module;
	struct wire_guest config;
	struct fixture f;

	(void)state;
	options.arm64 = true;
	/* Of pages of 4, 16 and 64 KiB. */
	for (int i = 0; i < 6; i++) {
		int text_only = i % 2;

		options.page_shift = 12 + i / 2 * 2;
		options.text_symbols_only = text_only;
		open_options(&f, &options);
		module = build_guest_add_module(&f.build, "virtio", 3);
		/* In the place of "virtio_1" the assembler's mark of code. */
		build_guest_poke(&f.build, module.strtab + 10, "$x", 3);
		/* Neither the vectors nor the pc: no kernel there. */
		f.regs.arm64.vbar = f.regs.pc = 0xffff800000000000;
		assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), -ENOENT);
		f.regs.pc = build_guest_function(&f.build, 0);
		assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
		/* The first 64 KiB of this one are mapped, if a symbol says so. */
		assert_int_equal(guest_kernel(f.guest)->start.addr,
				 f.build.start - (text_only ? IMAGE_ARM64_HEAD : 0));
		assert_int_equal(guest_kernel(f.guest)->reference.addr, f.build.start);
		assert_string_equal(guest_kernel(f.guest)->reference_name,
				    text_only ? "_stext" : "_text");
		guest_capture_config(f.guest, &config);
		/* This one's code does not say where the current task is. */
		assert_int_equal(config.kernel_start, text_only ? 0 :
				 -(1ULL << BUILD_GUEST_ARM64_BITS(&options)));
		assert_int_equal(config.thread_size, text_only ? 0 : 16384);
		assert_int_equal(guest_refresh_modules(f.guest), 0);
		assert_int_equal(guest_nr_modules(f.guest), 1);
		assert_string_equal(guest_module(f.guest, 0)->name, "virtio");
		assert_int_equal(symtab_nr(guest_module(f.guest, 0)->symbols), 2);
		check_arm64_code(&f);
		close_fixture(&f);
	}
}

/* Without a symbol that says so, a stack has 16 KiB, or a page where those are larger. */
static void test_arm64_stack_size(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);

	(void)state;
	options.arm64 = true;
	options.text_symbols_only = true;
	for (options.page_shift = 12; options.page_shift <= 16; options.page_shift += 2) {
		struct kernel_build *build;
		struct mmu_space space;
		struct image image;
		struct fixture f;

		open_options(&f, &options);
		assert_int_equal(mmu_space_init(&space, &f.regs), 0);
		image = (struct image){ .start = f.build.start, .size = BUILD_GUEST_END };
		assert_int_equal(image_read(&image, &space, mem_fake_reader(f.build.mem)), 0);
		assert_int_equal(kernel_build_create(&image, &space, &build, &f.why), 0);
		assert_int_equal(build->thread_size, options.page_shift == 16 ? 65536 : 16384);
		kernel_build_put(build);
		image_deinit(&image);
		close_fixture(&f);
	}
}

/* Gives the guest's kernel its own table, in its image, as Linux has it. */
static void take_own_table(struct fixture *f)
{
	struct mmu_mapping at;
	struct mmu_space space;

	build_guest_share_tables(&f->build);
	assert_int_equal(mmu_space_init(&space, &f->regs), 0);
	assert_int_equal(mmu_translate(&space, mem_fake_reader(f->build.mem),
				       GVA(f->build.start + BUILD_GUEST_PAGE_TABLE), &at), 0);
	f->regs.arm64.ttbr1 = at.gpa.addr;
}

/*
 * With the kernel unmapped in user mode: TTBR1 has the trampoline's table, two before, and the
 * vectors are a copy that lies elsewhere. Without the latter, too, and with registers of which some
 * are older than others.
 */
static void test_arm64_kpti(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);

	struct fixture f;

	(void)state;
	options.arm64 = true;
	open_options(&f, &options);
	take_own_table(&f);
	for (int i = 0; i < 8; i++) {
		struct vcpu_regs regs = f.regs;
		struct guest *guest;

		if (i & 1)
			regs.arm64.vbar = 0xfffffbfffdc00000;
		if (i & 2)
			regs.arm64.ttbr1 -= 2 * 4096;
		regs.user = i & 4;
		regs.pc = 0x400000;
		assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &guest), 0);
		assert_int_equal(guest_identify(guest, &regs, &f.why), 0);
		assert_int_equal(guest_kernel(guest)->start.addr, f.build.start);
		guest_destroy(guest);
	}
	close_fixture(&f);
}

/* A table that is mapped nowhere in the kernel is none of its own. */
static void test_arm64_other_table(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct fixture f;

	(void)state;
	options.arm64 = true;
	open_options(&f, &options);
	take_own_table(&f);
	f.regs.user = 1;
	f.regs.arm64.vbar = 0xfffffbfffdc00000;
	f.regs.arm64.ttbr1 -= 4096;
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), -ENOENT);
	close_fixture(&f);
}

/* Without KALLSYMS_ALL data has no symbols: what has a form of its own is found by that. */
static void test_text_symbols_only(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct wire_guest config;
	struct fixture f;

	(void)state;
	options.text_symbols_only = true;
	open_options(&f, &options);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_string_equal(guest_kernel(f.guest)->release, "6.1.0-test-amd64");
	assert_memory_equal(guest_kernel(f.guest)->build_id.data, f.build.build_id, 20);
	assert_true(guest_kernel(f.guest)->has_btf);
	guest_capture_config(f.guest, &config);
	assert_int_equal(config.valid, 0);
	assert_int_equal(address_of(f.guest, "func_7"), build_guest_function(&f.build, 7));
	close_fixture(&f);
}

static void test_without_types(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct wire_guest config;
	struct fixture f;

	(void)state;
	for (int format = ORC_FORMAT_END; format <= ORC_FORMAT_REORDERED; format++) {
		options.no_btf = true;
		options.orc = format;
		open_options(&f, &options);
		build_guest_add_module(&f.build, "ext4", 10);
		assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
		assert_false(guest_kernel(f.guest)->has_btf);
		guest_capture_config(f.guest, &config);
		assert_int_equal(config.valid, 0);
		assert_int_equal(guest_nr_modules(f.guest), 0);
		check_row(&f, build_guest_function(&f.build, 9) + 1, 16);
		close_fixture(&f);
	}
}

static void test_stack_sizes(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct wire_guest config;
	struct fixture f;

	(void)state;
	options.thread_size = 32768;	/* KASAN's */
	open_options(&f, &options);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	guest_capture_config(f.guest, &config);
	assert_int_equal(config.thread_size, 32768);
	close_fixture(&f);
}

static void test_five_levels(void **state)
{
	struct build_guest_options options = build_guest_release(USUAL);
	struct wire_guest config;
	struct fixture f;

	(void)state;
	options.five_levels = true;
	open_options(&f, &options);
	build_guest_add_module(&f.build, "kvm", 4);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	check_kernel(&f);
	guest_capture_config(f.guest, &config);
	assert_int_equal(config.kernel_start, 0xff00000000000000);
	assert_int_equal(guest_nr_modules(f.guest), 1);
	close_fixture(&f);
}

static void test_find_symbols(void **state)
{
	const struct guest_module *module = (void *)1;
	struct build_guest_module built;
	const struct symtab *symtab;
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	built = build_guest_add_module(&f.build, "kvm", 4);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	symtab = guest_find_symbols(f.guest, GVA(build_guest_function(&f.build, 3) + 7), &module);
	assert_ptr_equal(symtab, guest_kernel_symbols(f.guest));
	assert_null(module);
	symtab = guest_find_symbols(f.guest, GVA(built.text + 70), &module);
	assert_string_equal(module->name, "kvm");
	assert_string_equal(symtab_name(symtab, symtab_find(symtab, built.text + 70)), "kvm_1");
	assert_null(guest_find_symbols(f.guest, GVA(built.text + built.text_size), &module));
	assert_null(guest_find_symbols(f.guest, GVA(0x400000), &module));
	assert_true(guest_is_kernel_text(f.guest, GVA(built.text)));
	assert_true(guest_is_kernel_text(f.guest, GVA(built.init_text + 8)));
	assert_true(guest_is_kernel_text(f.guest, GVA(f.build.start + BUILD_GUEST_INITTEXT)));
	assert_true(guest_is_kernel_text(f.guest, GVA(f.build.start)));
	assert_false(guest_is_kernel_text(f.guest, GVA(f.build.start + BUILD_GUEST_ETEXT)));
	assert_false(guest_is_kernel_text(f.guest, GVA(built.text + built.text_size)));
	assert_false(guest_is_kernel_text(f.guest, GVA(0x400000)));
	close_fixture(&f);
}

static int check_call(const struct fixture *f, u64 address)
{
	return guest_check_kernel_call(f->guest, GVA(address));
}

static void test_calls(void **state)
{
	static const u8 nop5[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	static const u8 endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct build_guest_module module;
	struct fixture f;
	u64 function;

	(void)state;
	open_release(&f, USUAL);
	module = build_guest_add_module(&f.build, "kvm", 4);
	function = build_guest_function(&f.build, 3);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(check_call(&f, function + 5), 0);
	assert_int_equal(check_call(&f, function + BUILD_GUEST_RETURN), 0);
	assert_int_equal(check_call(&f, function + BUILD_GUEST_RETURN + 1), -EBADMSG);
	assert_int_equal(check_call(&f, function), -EBADMSG);
	assert_int_equal(check_call(&f, module.text + 64 + 0x10), 0);
	assert_int_equal(check_call(&f, module.text + 64 + 0x11), -EBADMSG);
	/* Entered by a return, not after a call. */
	assert_int_equal(check_call(&f, f.build.start + 0x40000), 0);
	assert_int_equal(check_call(&f, f.build.start + 0x40100), 0);
	assert_int_equal(check_call(&f, f.build.start + 0x40101), -EBADMSG);
	/* Not code, or not there, or not the kernel's half. */
	assert_int_equal(check_call(&f, f.build.start + BUILD_GUEST_BANNER + 8), -EFAULT);
	assert_int_equal(check_call(&f, 0xffffffffbf000000), -EFAULT);
	assert_int_equal(check_call(&f, 0x400008), -EBADMSG);
	/* The first bytes of the image: fewer before it than a call can have. */
	assert_int_equal(check_call(&f, f.build.start + 1), -EBADMSG);
	assert_int_equal(check_call(&f, f.build.start), -EFAULT);
	/* Tracing was switched off: the site of the call is a NOP by now. */
	build_guest_poke(&f.build, function, nop5, sizeof(nop5));
	assert_int_equal(check_call(&f, function + 5), 0);
	guest_destroy(f.guest);
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &f.guest), 0);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(check_call(&f, function + 5), 0);
	build_guest_poke(&f.build, function + 0x40, nop5, sizeof(nop5));
	assert_int_equal(check_call(&f, function + 0x45), -EBADMSG);
	function += BUILD_GUEST_FUNCTION_SIZE;
	build_guest_poke(&f.build, function, endbr64, sizeof(endbr64));
	build_guest_poke(&f.build, function + 4, nop5, sizeof(nop5));
	assert_int_equal(check_call(&f, function + 9), 0);
	close_fixture(&f);
}

/* Code that is patched after it was read first. */
static void test_patched_call(void **state)
{
	static const u8 call[5] = { 0xe8, 0x10, 0x20, 0x30, 0x00 };
	struct fixture f;
	u64 address;

	(void)state;
	open_identified(&f);
	address = build_guest_function(&f.build, 3) + 0x60;
	assert_int_equal(check_call(&f, address), -EBADMSG);
	build_guest_poke(&f.build, address - 5, call, sizeof(call));
	assert_int_equal(check_call(&f, address), 0);
	/* Across a page's border. */
	address = ALIGN_DOWN(build_guest_function(&f.build, 40), 4096) + 2;
	build_guest_poke(&f.build, address - 5, call, sizeof(call));
	assert_int_equal(check_call(&f, address), 0);
	close_fixture(&f);
}

static void test_kallsyms_text(void **state)
{
	char line[128], *text;
	struct build_guest_module module;
	struct fixture f;
	size_t size;

	(void)state;
	open_release(&f, USUAL);
	module = build_guest_add_module(&f.build, "kvm", 4);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(guest_write_kallsyms(f.guest, &text, &size), 0);
	assert_int_equal(strlen(text), size);
	assert_int_equal(strncmp(text, "00000000000351c0 A pcpu_hot\n", 28), 0);
	snprintf(line, sizeof(line), "\n%016llx T _text\n", (unsigned long long)f.build.start);
	assert_non_null(strstr(text, line));
	snprintf(line, sizeof(line), "\n%016llx t kvm_3\t[kvm]\n",
		 (unsigned long long)module.text + 3 * 64);
	assert_non_null(strstr(text, line));
	free(text);
	close_fixture(&f);
}

static void test_module_changes(void **state)
{
	struct build_guest_module one, two;
	const struct guest_module *first;
	u64 reads, head;
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	one = build_guest_add_module(&f.build, "one", 200);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	first = guest_module(f.guest, 0);
	/* Nothing changed: the same entries, and few reads. */
	reads = mem_fake_reads(f.build.mem);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_true(mem_fake_reads(f.build.mem) - reads < 25);
	assert_ptr_equal(guest_module(f.guest, 0), first);
	/* One more. */
	two = build_guest_add_module(&f.build, "two", 3);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_int_equal(guest_nr_modules(f.guest), 2);
	assert_ptr_equal(guest_module(f.guest, 0), first);
	assert_string_equal(guest_module(f.guest, 1)->name, "two");
	/* One is being set up: not counted. */
	build_guest_poke(&f.build, two.address, &(u32){ 3 }, 4);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_int_equal(guest_nr_modules(f.guest), 1);
	build_guest_poke(&f.build, two.address, &(u32){ 0 }, 4);
	/* The first one goes, and another comes to its place. */
	head = f.build.start + BUILD_GUEST_MODULES;
	build_guest_poke_u64(&f.build, head, two.list);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_int_equal(guest_nr_modules(f.guest), 1);
	assert_false(guest_is_kernel_text(f.guest, GVA(one.text)));
	build_guest_poke_u64(&f.build, head, one.list);
	build_guest_poke(&f.build, one.address + 24, "new", 4);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	assert_int_equal(guest_nr_modules(f.guest), 2);
	assert_string_equal(guest_module(f.guest, 0)->name, "new");
	close_fixture(&f);
}

static void test_hostile_list(void **state)
{
	struct build_guest_module one, two;
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	one = build_guest_add_module(&f.build, "one", 4);
	two = build_guest_add_module(&f.build, "two", 4);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(guest_nr_modules(f.guest), 2);
	/* A tail that is bitten, poison, an address at the top: the list is as before. */
	build_guest_poke_u64(&f.build, two.list, one.list);
	assert_int_equal(guest_refresh_modules(f.guest), -EBADMSG);
	build_guest_poke_u64(&f.build, two.list, two.list);
	assert_int_equal(guest_refresh_modules(f.guest), -EBADMSG);
	build_guest_poke_u64(&f.build, two.list, 0xdead000000000100);
	assert_int_equal(guest_refresh_modules(f.guest), -EFAULT);
	build_guest_poke_u64(&f.build, two.list, ~0ULL);
	assert_int_equal(guest_refresh_modules(f.guest), -EFAULT);
	assert_int_equal(guest_nr_modules(f.guest), 2);
	assert_string_equal(guest_module(f.guest, 1)->name, "two");
	/* Also when the first walk finds it so. */
	guest_destroy(f.guest);
	build_guest_poke_u64(&f.build, two.list, one.list);
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &f.guest), 0);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(guest_nr_modules(f.guest), 0);
	close_fixture(&f);
}

static void test_hostile_module(void **state)
{
	struct build_guest_module one;
	const struct guest_module *module;
	struct cfi_row row;
	struct fixture f;

	(void)state;
	open_release(&f, USUAL);
	one = build_guest_add_module(&f.build, "one", 4);
	build_guest_poke(&f.build, one.kallsyms + 8, &(u32){ ~0U }, 4);
	build_guest_poke(&f.build, one.nr_orcs, &(u32){ ~0U }, 4);
	build_guest_poke(&f.build, one.address + 24, "\001\002\033[2J....................."
			 "........................................", 56);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(guest_nr_modules(f.guest), 1);
	module = guest_module(f.guest, 0);
	assert_int_equal(strlen(module->name), GUEST_MODULE_NAME_LEN - 1);
	assert_int_equal(symtab_nr(module->symbols), 0);
	assert_int_equal(guest_find_row(f.guest, GVA(one.text), &row), -ENOENT);
	/* Names outside the strings, strings that are not there. */
	guest_destroy(f.guest);
	build_guest_poke(&f.build, one.kallsyms + 8, &(u32){ 5 }, 4);
	build_guest_poke(&f.build, one.symtab + 24, &(u32){ ~0U }, 4);
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &f.guest), 0);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	module = guest_module(f.guest, 0);
	assert_int_equal(symtab_nr(module->symbols), 3);
	guest_destroy(f.guest);
	build_guest_poke_u64(&f.build, one.kallsyms + 16, 0xdead000000000000);
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &f.guest), 0);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	assert_int_equal(symtab_nr(guest_module(f.guest, 0)->symbols), 0);
	close_fixture(&f);
}

static void test_another_kernel(void **state)
{
	struct fixture f;

	(void)state;
	open_identified(&f);
	assert_int_equal(guest_refresh_modules(f.guest), 0);
	build_guest_poke(&f.build, f.build.start + BUILD_GUEST_NOTES + 36, "other", 5);
	assert_int_equal(guest_refresh_modules(f.guest), -ESTALE);
	close_fixture(&f);
}

/* Any one page of the image may be missing. */
static void test_missing_pages(void **state)
{
	(void)state;
	for (u64 page = 0; page < BUILD_GUEST_END; page += 4096) {
		struct mmu_mapping at;
		struct mmu_space space;
		struct cfi_row row;
		struct fixture f;
		int err;

		open_release(&f, USUAL);
		space = build_pagetable_space(&f.build.pages);
		if (mmu_translate(&space, mem_fake_reader(f.build.mem),
				  GVA(f.build.start + page), &at)) {
			close_fixture(&f);
			continue;
		}
		mem_fake_drop(f.build.mem, at.gpa);
		err = guest_identify(f.guest, &f.regs, &f.why);
		assert_true(err == 0 || err == -ENOENT);
		if (!err && guest_kernel(f.guest)->has_orc)
			guest_find_row(f.guest, GVA(build_guest_function(&f.build, 9)), &row);
		close_fixture(&f);
	}
}

/* A VM that goes away in the middle of it: the first error comes out, nothing is left behind. */
static void test_read_errors(void **state)
{
	struct fixture f;
	u64 reads;

	(void)state;
	open_release(&f, USUAL);
	build_guest_add_module(&f.build, "one", 4);
	reads = mem_fake_reads(f.build.mem);
	assert_int_equal(guest_identify(f.guest, &f.regs, &f.why), 0);
	reads = mem_fake_reads(f.build.mem) - reads;
	for (u64 after = 0; after < reads; after += after < 20 ? 1 : 7) {
		int err;

		guest_destroy(f.guest);
		assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &f.guest), 0);
		mem_fake_fail(f.build.mem, after, -ESRCH);
		err = guest_identify(f.guest, &f.regs, &f.why);
		assert_true(err == -ESRCH || err == 0);
		mem_fake_fail(f.build.mem, 0, 0);
	}
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_releases),
		cmocka_unit_test(test_user_mode),
		cmocka_unit_test(test_isolated_tables),
		cmocka_unit_test(test_early_kernel),
		cmocka_unit_test(test_before_nx),
		cmocka_unit_test(test_nothing_there),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_arm64_stack_size),
		cmocka_unit_test(test_arm64_kpti),
		cmocka_unit_test(test_arm64_other_table),
		cmocka_unit_test(test_text_symbols_only),
		cmocka_unit_test(test_without_types),
		cmocka_unit_test(test_stack_sizes),
		cmocka_unit_test(test_five_levels),
		cmocka_unit_test(test_find_symbols),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_patched_call),
		cmocka_unit_test(test_kallsyms_text),
		cmocka_unit_test(test_module_changes),
		cmocka_unit_test(test_hostile_list),
		cmocka_unit_test(test_hostile_module),
		cmocka_unit_test(test_another_kernel),
		cmocka_unit_test(test_missing_pages),
		cmocka_unit_test(test_read_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
