/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as an ELF file. */
#include <string.h>

#include "symbols/elf-file.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	_cleanup_free_ u8 *copy = malloc(size ? size : 1);
	struct elf_file *packed;
	struct build_id id;
	char name[256];

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (elf_file_open_memory(copy, size, &file) || symtab_create(&symtab))
		return 0;
	elf_file_build_id(file, &id);
	elf_file_debuglink(file, name, sizeof(name));
	elf_file_text_offset(file);
	elf_file_add_symbols(file, file, symtab);
	elf_file_add_plt(file, symtab);
	elf_file_is_whole(file);
	elf_file_is_debug(file);
	elf_file_is_partial(file);
	if (!elf_file_open_debugdata(file, &packed)) {
		elf_file_add_symbols(packed, file, symtab);
		elf_file_close(packed);
	}
	if (!symtab_finish(symtab) && symtab_nr(symtab))
		symtab_find(symtab, symtab_at(symtab, 0)->start);
	return 0;
}
