/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a file of 300 MiB: what is needed is found wherever it is, and no more is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-large.h"
#include "build-program.h"
#include "guest/file-ranges.h"
#include "symbols/elf-partial.h"
#include "unwind/cfi-table.h"

#define MIB (1ULL << 20)
#define PAGE 4096ULL
#define SIZE (300 * MIB)
#define CODE (200 * MIB)
#define SYMBOLS (298 * MIB)
#define SECTIONS (299 * MIB)
#define AT 0x7f1000000000ULL

struct fixture {
	struct build_program program;
	struct guest *guest;
	struct guest_process *process;
	u64 inode;
	u32 index;			/* of the file in .process */
	struct build_large large;
};

static void put(struct fixture *f, u64 offset, const void *data, size_t size)
{
	struct build_process *p = &f->program.process;

	for (size_t done = 0; done < size; done += PAGE) {
		u64 pfn = build_folio(p, f->inode, (offset + done) / PAGE, 0);

		assert_int_equal(offset % PAGE, 0);
		assert_non_null(mem_fake_page(f->program.guest.mem, GPA(pfn * PAGE)));
		assert_int_equal(mem_fake_set(f->program.guest.mem, GPA(pfn * PAGE),
					      (const u8 *)data + done, MIN(PAGE, size - done)), 0);
		build_cache_store(p, f->inode, (offset + done) / PAGE, 0, build_page(pfn));
	}
}

static void put_all(struct fixture *f)
{
	static u8 pages[BUILD_LARGE_PAGES][4096];

	build_large_pages(&f->large, &f->program.file, pages);
	for (size_t i = 0; i < BUILD_LARGE_PAGES; i++)
		put(f, f->large.offsets[i], pages[i], PAGE);
	for (u64 at = 120 * MIB; at < 121 * MIB; at += 16 * PAGE)	/* of no use to anybody */
		put(f, at, pages[0], PAGE);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct build_process *p;
	struct vcpu_regs regs;
	struct wire_task task;
	u64 file;

	*state = f;
	build_program_init(&f->program);
	p = &f->program.process;
	file = build_named_file(p, "big.so", 77, SIZE);
	f->inode = build_get(p, file + BUILD_FILE_INODE);
	build_vma(p, AT, AT + 0x20000, BUILD_VM_READ | BUILD_VM_EXEC, file, CODE / PAGE);
	build_hang_mappings(p, 1, 0);
	regs = build_guest_regs(&f->program.guest);
	assert_int_equal(guest_create(mem_fake_reader(f->program.guest.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	task = build_process_task(p);
	assert_int_equal(guest_process_read(f->guest, &task, &f->process), 0);
	assert_non_null(guest_process_find(f->process, GVA(AT)));
	f->index = guest_process_find(f->process, GVA(AT))->file;
	build_large_init(&f->large, SIZE, &f->program.file);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	guest_process_destroy(f->process);
	guest_destroy(f->guest);
	build_program_deinit(&f->program);
	free(f);
	return 0;
}

static u64 nr_known(const struct file_image *image)
{
	return (image->size + PAGE - 1) / PAGE - file_image_missing(image);
}

static void test_parts(void **state)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	struct fixture *f = *state;
	struct elf_partial partial;
	struct cfi_row row;
	u64 address;

	put_all(f);
	assert_int_equal(guest_file_image(f->guest, f->process, f->index, &image), 0);
	assert_int_equal(image->size, SIZE);
	assert_in_range(nr_known(image), 5, 40);
	assert_false(file_image_has(image, 120 * MIB, 1));
	assert_int_equal(cfi_table_from_image(image, &table), 0);
	assert_int_equal(cfi_table_address(table, CODE + BUILD_PROGRAM_FUNCTION + 8, &address), 0);
	assert_int_equal(address, BUILD_PROGRAM_FUNCTION + 8);
	assert_int_equal(cfi_table_find(table, address, &row), 0);
	assert_int_equal(row.cfa.offset, 24);
	assert_int_equal(elf_partial_init(&partial, image), 0);
	assert_int_equal(partial.symtab, ELF_PART_WHOLE);
	assert_int_equal(partial.segments, ELF_PART_WHOLE);
	elf_partial_deinit(&partial);
}

/* The file's end is seldom cached; the segments lead to the rules all the same. */
static void test_no_sections(void **state)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	struct fixture *f = *state;
	struct cfi_row row;

	put_all(f);
	for (u64 at = SYMBOLS; at < SIZE; at += PAGE) {
		if (at > SYMBOLS + 2 * PAGE && at != SECTIONS)
			continue;
		build_cache_store(&f->program.process, f->inode, at / PAGE, 0, 0);
	}
	assert_int_equal(guest_file_image(f->guest, f->process, f->index, &image), 0);
	assert_int_equal(cfi_table_from_image(image, &table), 0);
	assert_int_equal(cfi_table_find(table, BUILD_PROGRAM_FUNCTION + 8, &row), 0);
}

/* Headers that claim anything: what is read stays within bounds, and is the file's. */
static void test_lies(void **state)
{
	struct fixture *f = *state;
	static const u64 values[] = {
		0, 1, PAGE - 1, SIZE - 1, SIZE, SIZE + 1, 1ULL << 32, 1ULL << 60, INT64_MAX,
		UINT64_MAX - 8, UINT64_MAX,
	};

	put_all(f);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		for (unsigned int which = 0; which < 8; which++) {
			_cleanup_(file_image_destroy) struct file_image *image = NULL;
			u64 value = values[i];

			build_large_init(&f->large, SIZE, &f->program.file);
			if (which == 0)
				f->large.header.e_shoff = value;
			else if (which == 1)
				f->large.header.e_phoff = value;
			else if (which == 2)
				f->large.header.e_phnum = f->large.header.e_shnum = value;
			else if (which == 3)
				f->large.header.e_shstrndx = value;
			for (unsigned int at = 0; at < 5 && which >= 4; at++) {
				f->large.segments[at].p_offset = which == 4 ? value : CODE;
				f->large.segments[at].p_filesz = which == 5 ? value : PAGE;
				f->large.sections[at].sh_offset = which == 6 ? value : SYMBOLS;
				f->large.sections[at].sh_size = which == 7 ? value : PAGE;
			}
			put_all(f);
			assert_int_equal(guest_file_image(f->guest, f->process, f->index, &image),
					 0);
			assert_true(nr_known(image) <= 300);
			assert_true(file_image_has(image, 0, PAGE));
		}
}

/* A table as large as the file does not make all of it be read, whatever is cached. */
static void test_bounds(void **state)
{
	struct fixture *f = *state;
	struct build_process *p = &f->program.process;
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	u64 pfn = build_folio(p, f->inode, 0, 0), reads;

	f->large.sections[1].sh_offset = 0;
	f->large.sections[1].sh_size = SIZE;
	put_all(f);
	/* The same page in all places, of which each says that it is the first. */
	build_set(p, build_page(pfn) + BUILD_PAGE_INDEX, 0);
	for (u64 at = 110 * MIB; at < 112 * MIB; at += PAGE)
		build_cache_store(p, f->inode, at / PAGE, 0, build_page(pfn));
	reads = mem_fake_reads(f->program.guest.mem);
	assert_int_equal(guest_file_image(f->guest, f->process, f->index, &image), 0);
	assert_false(file_image_has(image, 110 * MIB, 1));
	assert_true(nr_known(image) * PAGE <= FILE_RANGES_MAX);
	assert_true(mem_fake_reads(f->program.guest.mem) - reads < 100000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts), TEST(no_sections), TEST(lies), TEST(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
