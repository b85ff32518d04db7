/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file with holes: the first eight bytes say which of its first 64 pages are known (a set bit
 * repeats for the page 64 further on), the rest is the file.
 */
#include <string.h>

#include "symbols/elf-file.h"
#include "symbols/elf-synth.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void read_image(const struct file_image *image)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	struct elf_partial partial;
	struct build_id id;

	if (elf_partial_init(&partial, image))
		return;
	/* What was made of it is a good file, and says what it is. */
	if (!elf_synth_program(&partial, &out))
		if (elf_file_open_memory(out.data, out.len, &file) ||
		    !elf_file_is_partial(file) || elf_file_build_id(file, &id) ||
		    !build_id_equal(&id, &partial.build_id))
			abort();
	if (!symtab_create(&symtab))
		elf_partial_add_symbols(&partial, true, symtab);
	elf_partial_deinit(&partial);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	u8 page[FILE_IMAGE_PAGE];
	u64 known;

	if (size <= sizeof(known) || file_image_create(size - sizeof(known), &image))
		return 0;
	memcpy(&known, data, sizeof(known));
	data += sizeof(known);
	for (u64 at = 0; at < image->size; at += sizeof(page)) {
		u64 part = MIN(image->size - at, (u64)sizeof(page));

		memset(page, 0, sizeof(page));
		memcpy(page, data + at, part);
		if (known >> (at / sizeof(page) % 64) & 1)
			file_image_set_page(image, at, page);
	}
	read_image(image);
	return 0;
}
