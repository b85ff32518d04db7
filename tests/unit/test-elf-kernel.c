/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest's ELF file: where it lies, its names, whether the guest has it; files that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-elf.h"
#include "build-folder.h"
#include "build-pagetable.h"
#include "guest/elf-kernel.h"
#include "mmu/walk.h"

#define FUNC ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)
#define BASE 0x401000ULL
#define MOVED 0xffffffffc0401000ULL
#define GPA_OF_CODE 0x200000

static const struct build_elf_load loads[] = {
	{ BASE, BUILD_ELF_TEXT_OFFSET, 0x100, 0x100 },
	{ BASE + 0x1000, BUILD_ELF_TEXT_OFFSET + 0x1000, 0x100, 0x1100 },
};

static const struct build_elf_symbol symbols[] = {
	{ "start", BASE, 0x10, FUNC, 0, BUILD_ELF_TEXT },
	{ "loop", BASE + 0x10, 0x20, FUNC, 0, BUILD_ELF_TEXT },
};

static struct build_elf spec_of(u8 id_size)
{
	return (struct build_elf){
		.type = ET_EXEC,
		.text_addr = BASE,
		.symbols = symbols,
		.nr_symbols = ARRAY_SIZE(symbols),
		.loads = loads,
		.nr_loads = ARRAY_SIZE(loads),
		.build_id = { id_size, { 0xde, 0xad, 1, 2 } },
	};
}

struct fixture {
	char *folder;
	char *path;
	struct strbuf image;
	struct mem_fake *mem;
	struct mmu_space space;
};

/* The first segment is the one with code, and not all of that is zeros. */
static void make_code(struct strbuf *image)
{
	Elf64_Ehdr head;
	Elf64_Phdr segment;

	memcpy(&head, image->data, sizeof(head));
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		u8 *at = (u8 *)image->data + head.e_phoff + i * sizeof(segment);

		memcpy(&segment, at, sizeof(segment));
		segment.p_flags = segment.p_vaddr == BASE ? PF_R | PF_X : PF_R | PF_W;
		memcpy(at, &segment, sizeof(segment));
	}
	for (unsigned int i = 0; i < 0x100; i++)
		image->data[BUILD_ELF_TEXT_OFFSET + i] = i * 7;
}

static void open_fixture(struct fixture *f, const struct build_elf *spec)
{
	struct build_pagetable pages;

	memset(f, 0, sizeof(*f));
	build_elf(spec, &f->image);
	make_code(&f->image);
	f->folder = build_folder_make();
	assert_non_null(f->folder);
	assert_true(asprintf(&f->path, "%s/kernel.elf", f->folder) > 0);
	assert_int_equal(file_write_atomic(f->path, f->image.data, f->image.len), 0);
	f->mem = mem_fake_create();
	assert_non_null(f->mem);
	assert_int_equal(build_pagetable_init(&pages, f->mem, MMU_MODE_X86_4LEVEL, GPA(0x1000)), 0);
	build_pagetable_map(&pages, BASE, GPA_OF_CODE, 4096, MMU_EXEC);
	build_pagetable_map(&pages, MOVED, GPA_OF_CODE, 4096, MMU_EXEC);
	mem_fake_set(f->mem, GPA(GPA_OF_CODE), f->image.data + BUILD_ELF_TEXT_OFFSET, 0x100);
	f->space = build_pagetable_space(&pages);
}

static void close_fixture(struct fixture *f)
{
	assert_int_equal(build_folder_remove(f->folder), 0);
	free(f->path);
	free(f->folder);
	mem_fake_destroy(f->mem);
	strbuf_deinit(&f->image);
}

static int check(const struct fixture *f, const struct elf_kernel *elf)
{
	return elf_kernel_check(elf, &f->space, mem_fake_reader(f->mem));
}

static void expect_at(const struct fixture *f, u64 address, u64 start)
{
	_cleanup_(elf_kernel_close) struct elf_kernel *elf = NULL;
	const struct symtab *symtab;
	struct cfi_row row;

	assert_int_equal(elf_kernel_open(f->path, address, &elf), 0);
	assert_string_equal(elf_kernel_name(elf), "kernel.elf");
	assert_int_equal(elf_kernel_start(elf), start);
	assert_int_equal(elf_kernel_text_end(elf), start + 0x100);
	symtab = elf_kernel_symbols(elf);
	assert_non_null(symtab_find(symtab, start + 0x2f));
	assert_string_equal(symtab_name(symtab, symtab_find(symtab, start + 0x2f)), "loop");
	assert_null(symtab_find(symtab, start - 1));
	assert_non_null(elf_kernel_reference(elf));
	assert_true(symbol_type_is_code(elf_kernel_reference(elf)->type));
	assert_in_range(elf_kernel_reference(elf)->start, start, start + 0x2f);
	assert_int_equal(elf_kernel_find_row(elf, GVA(start + 0x10), &row), -ENOENT);
	assert_int_equal(check(f, elf), 0);
}

static void test_places(void **state)
{
	struct build_elf spec = spec_of(20);
	struct fixture f;

	(void)state;
	open_fixture(&f, &spec);
	expect_at(&f, ELF_KERNEL_AS_LINKED, BASE);
	expect_at(&f, BASE, BASE);
	expect_at(&f, MOVED, MOVED);
	close_fixture(&f);
}

/* Some of the code may have been rewritten; most of it may not. */
static void test_other_code(void **state)
{
	_cleanup_(elf_kernel_close) struct elf_kernel *elf = NULL, *elsewhere = NULL;
	struct build_elf spec = spec_of(20);
	struct fixture f;

	(void)state;
	open_fixture(&f, &spec);
	assert_int_equal(elf_kernel_open(f.path, ELF_KERNEL_AS_LINKED, &elf), 0);
	assert_int_equal(elf_kernel_open(f.path, 0x10000000, &elsewhere), 0);
	assert_int_equal(check(&f, elsewhere), -EFAULT);
	for (unsigned int i = 0; i < 4; i++) {
		mem_fake_set_u64(f.mem, GPA(GPA_OF_CODE + i * 32), ~0ULL);
		assert_int_equal(check(&f, elf), 0);
	}
	mem_fake_set_u64(f.mem, GPA(GPA_OF_CODE + 4 * 32), ~0ULL);
	assert_int_equal(check(&f, elf), -EBADMSG);
	close_fixture(&f);
}

static void test_build_ids(void **state)
{
	for (u8 size = 0; size <= 20; size += 20) {
		_cleanup_(elf_kernel_close) struct elf_kernel *elf = NULL, *again = NULL;
		struct build_elf spec = spec_of(size);
		struct fixture f;

		(void)state;
		open_fixture(&f, &spec);
		assert_int_equal(elf_kernel_open(f.path, ELF_KERNEL_AS_LINKED, &elf), 0);
		assert_int_equal(elf_kernel_open(f.path, MOVED, &again), 0);
		assert_true(build_id_equal(elf_kernel_build_id(elf), elf_kernel_build_id(again)));
		assert_int_equal(elf_kernel_build_id(elf)->size, size ? 20 : 16);
		close_fixture(&f);
	}
}

/* Cut anywhere, and without code: an error, or what is there. */
static void test_truncated(void **state)
{
	struct build_elf spec = spec_of(20);
	struct fixture f;

	(void)state;
	open_fixture(&f, &spec);
	for (size_t size = 0; size < f.image.len; size += 13) {
		_cleanup_(elf_kernel_close) struct elf_kernel *elf = NULL;

		assert_int_equal(file_write_atomic(f.path, f.image.data, size), 0);
		if (!elf_kernel_open(f.path, ELF_KERNEL_AS_LINKED, &elf))
			assert_true(size > BUILD_ELF_TEXT_OFFSET);
	}
	spec.nr_loads = 0;
	strbuf_reset(&f.image);
	build_elf(&spec, &f.image);
	assert_int_equal(file_write_atomic(f.path, f.image.data, f.image.len), 0);
	assert_int_equal(elf_kernel_open(f.path, ELF_KERNEL_AS_LINKED, &(struct elf_kernel *){ 0 }),
			 -EBADMSG);
	close_fixture(&f);
}

static void test_close_null(void **state)
{
	(void)state;
	elf_kernel_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_other_code),
		cmocka_unit_test(test_build_ids),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_close_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
