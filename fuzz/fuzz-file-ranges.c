/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a large file that are chosen, and what is made of them. The input is the few pages
 * that are in the page cache, as build-large.h has them.
 */
#include <string.h>

#include "build-large.h"
#include "build-program.h"
#include "guest/file-ranges.h"
#include "symbols/elf-partial.h"
#include "unwind/cfi-table.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define PAGE 4096ULL
#define SIZE (3ULL << 20)	/* each input takes as long as it is large */
#define AT 0x7f1000000000ULL

static struct target {
	struct build_program program;
	struct guest *guest;
	struct guest_process *process;
	struct guest_file file;
	u64 pfn[BUILD_LARGE_PAGES];
} target;

static const struct guest_mapped_file *file_at(const struct guest_process *process, gva_t address)
{
	return &process->files.data[guest_process_find(process, address)->file];
}

static void init(struct target *t)
{
	struct build_process *p = &t->program.process;
	struct wire_task task;
	struct vcpu_regs regs;
	struct build_large large;
	u64 file, inode;

	build_program_init(&t->program);
	build_large_init(&large, SIZE, &t->program.file);
	file = build_named_file(p, "big.so", 77, SIZE);
	inode = build_get(p, file + BUILD_FILE_INODE);
	build_vma(p, AT, AT + 0x20000, 5, file, large.code / PAGE);
	build_hang_mappings(p, 1, 0);
	for (size_t i = 0; i < BUILD_LARGE_PAGES; i++) {
		u64 index = large.offsets[i] / PAGE;

		t->pfn[i] = build_folio(p, inode, index, 0);
		build_cache_store(p, inode, index, 0, build_page(t->pfn[i]));
	}
	regs = build_guest_regs(&t->program.guest);
	task = build_process_task(p);
	if (guest_create(mem_fake_reader(t->program.guest.mem), NULL, &t->guest) ||
	    guest_identify(t->guest, &regs, NULL) ||
	    guest_process_read(t->guest, &task, &t->process) ||
	    guest_file_open(t->guest, file_at(t->process, GVA(AT)), &t->file))
		abort();
}

static void use(const struct file_image *image)
{
	u64 known = (image->size + PAGE - 1) / PAGE - file_image_missing(image);
	struct elf_partial partial;
	struct cfi_table *table;

	if (known > BUILD_LARGE_PAGES)
		abort();
	if (!cfi_table_from_image(image, &table))
		cfi_table_destroy(table);
	if (!elf_partial_init(&partial, image))
		elf_partial_deinit(&partial);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct target *t = &target;
	struct file_image *image;

	if (!t->guest)
		init(t);
	for (size_t i = 0; i < BUILD_LARGE_PAGES; i++) {
		u8 *page = mem_fake_page(t->program.guest.mem, GPA(t->pfn[i] * PAGE));
		size_t part = MIN(size, (size_t)PAGE);

		if (!page)
			abort();
		memset(page, 0, PAGE);
		if (part)
			memcpy(page, data, part);
		data += part;
		size -= part;
	}
	if (file_image_create(SIZE, &image))
		abort();
	if (!file_ranges_read(&t->file, image))
		use(image);
	file_image_destroy(image);
	return 0;
}
