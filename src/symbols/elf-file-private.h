/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of reading ELF files share. */
#ifndef SYMBOLS_ELF_FILE_PRIVATE_H
#define SYMBOLS_ELF_FILE_PRIVATE_H

#include <gelf.h>

#include "base/vec.h"
#include "symbols/elf-file.h"

#define ELF_MAX_SYMBOLS (16U << 20)	/* of one table */

struct section {
	Elf_Scn *scn;
	GElf_Shdr header;
	const char *name;	/* "" when it has none */
};

struct elf_file {
	Elf *elf;
	void *map;		/* to be unmapped; NULL: the caller's memory, or .owned */
	void *owned;		/* to be freed */
	size_t size;
	GElf_Ehdr header;
	VEC(struct section) sections;
	VEC(GElf_Phdr) loads;	/* PT_LOAD segments that are not empty */
	const struct section *symtab;
	const struct section *dynsym;
};

/* The first section of that name, and of that type; NULL: there is none. */
const struct section *elf_section(const struct elf_file *file, const char *name);
const struct section *elf_section_of_type(const struct elf_file *file, const char *name, u32 type);

/* A table of symbols with the strings that its names are in. */
struct elf_table {
	Elf_Data *symbols;
	const char *strings;
	size_t strings_size;
	size_t nr;
};

/* elf-symbols.c: -EBADMSG for a table that makes no sense, -E2BIG for a very large one. */
int elf_table_open(const struct elf_file *file, const struct section *section,
		   struct elf_table *ret);

/* The string at @offset; NULL when it is empty or not in the table. */
const char *elf_table_name(const struct elf_table *table, size_t offset);

#endif
