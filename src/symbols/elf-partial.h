/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ELF files of which only a part is known: what a guest's page cache holds. Which of their tables
 * are wholly known, and the symbols in the known parts. What lies in a hole is nothing: no symbol,
 * no name, and no name that ends in one.
 *
 * Section headers, .symtab and .strtab are at the end of a file and seldom in the cache; what
 * ld.so reads, .dynsym and .dynstr, is at its beginning and nearly always. Hence the latter are
 * found through the dynamic segment, too.
 */
#ifndef SYMBOLS_ELF_PARTIAL_H
#define SYMBOLS_ELF_PARTIAL_H

#include "base/types.h"
#include "base/vec.h"
#include "objfile/build-id.h"
#include "objfile/file-image.h"
#include "symbols/symtab.h"

enum elf_part {
	ELF_PART_ABSENT,	/* the file has none */
	ELF_PART_HOLES,		/* some of it is not known, maybe all */
	ELF_PART_WHOLE,
};

struct elf_partial_load {
	u64 vaddr, offset, filesz, memsz;
	bool executable;
};

/* A table of symbols and its strings, as ranges of the file. */
struct elf_partial_table {
	u64 symbols, size;
	u64 strings, strings_size;
};

struct elf_partial {
	const struct file_image *image;	/* the caller's, which must outlive it */
	u16 type, machine;
	bool narrow;			/* of 32 bits */
	struct build_id build_id;	/* none: no notes, or not known */
	VEC(struct elf_partial_load) loads;	/* those that are known */
	struct elf_partial_table symtab_table, dynsym_table;	/* .size 0: not found */

	enum elf_part segments;		/* their headers */
	enum elf_part sections;		/* their headers */
	enum elf_part notes;
	enum elf_part symtab;		/* with its strings */
	enum elf_part dynsym;		/* with its strings */
};

/*
 * Looks at what is known. -ENODATA: not even the header is; -EBADMSG: not ELF; -EOPNOTSUPP: big
 * endian; -E2BIG: more headers than any file has. No allocation but for .loads.
 */
int elf_partial_init(struct elf_partial *partial, const struct file_image *image);
void elf_partial_deinit(struct elf_partial *partial);

/*
 * Adds functions and data of .symtab and .dynsym, at their addresses or, with @offsets, at the file
 * offsets that perf counts in; labels without type are left out. -E2BIG: more symbols or longer
 * names than any file has.
 */
int elf_partial_add_symbols(const struct elf_partial *partial, bool offsets,
			    struct symtab *symtab);

#endif
