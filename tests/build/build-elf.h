/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files in code: a .text, .data and .bss, symbols, notes, segments; any class and order. */
#ifndef BUILD_BUILD_ELF_H
#define BUILD_BUILD_ELF_H

#include <elf.h>

#include "base/strbuf.h"
#include "objfile/build-id.h"

/* Indexes of the sections, for symbols to name. */
enum build_elf_section {
	BUILD_ELF_NULL,
	BUILD_ELF_TEXT,
	BUILD_ELF_DATA,
	BUILD_ELF_BSS,
	BUILD_ELF_COMMENT,	/* not in memory */
	BUILD_ELF_PLT,
	BUILD_ELF_PLT_SEC,
	BUILD_ELF_SYMTAB,
	BUILD_ELF_STRTAB,
	BUILD_ELF_DYNSYM,
	BUILD_ELF_DYNSTR,
	BUILD_ELF_RELPLT,
	BUILD_ELF_NOTE,
	BUILD_ELF_DEBUGLINK,
	BUILD_ELF_DEBUGDATA,
	BUILD_ELF_HASH,
	BUILD_ELF_DYNAMIC,
	BUILD_ELF_SHSTRTAB,
	BUILD_ELF_NR,
};

struct build_elf_symbol {
	const char *name;
	u64 value, size;
	u8 info;	/* ELF64_ST_INFO(binding, type) */
	u8 other;
	u16 section;	/* enum build_elf_section or SHN_* */
};

struct build_elf_load {
	u64 vaddr, offset, filesz, memsz;
};

/* All zero but the type: a 64-bit little-endian file of nothing. */
struct build_elf {
	u16 type, machine;
	bool is_32, is_big;
	u64 text_addr;				/* .data is a page above, .bss two */
	const struct build_elf_symbol *symbols;
	size_t nr_symbols;
	const struct build_elf_symbol *dynamic;	/* also what the relocations name, in order */
	size_t nr_dynamic;
	size_t nr_plt;				/* so many of them */
	const u64 *choosers;			/* stubs after these: what IRELATIVE ones are of */
	size_t nr_choosers;
	bool second_plt;			/* .plt.sec, behind .plt */
	bool last_first;			/* what stubs jump by, against the relocations */
	const struct build_elf_load *loads;
	size_t nr_loads;
	struct build_id build_id;
	bool note_in_segment;			/* and not in a section */
	const char *debuglink;
	const struct strbuf *debugdata;		/* what .gnu_debugdata contains */
	bool dynamic_segment;			/* that leads to .dynsym, by the first load */
	bool is_debug;				/* sections have no contents */
};

#define BUILD_ELF_TEXT_SIZE 0x100	/* of .text, which lies at BUILD_ELF_TEXT_OFFSET */
#define BUILD_ELF_TEXT_OFFSET 0x1000
#define BUILD_ELF_PLT_ENTRY 16

void build_elf(const struct build_elf *spec, struct strbuf *out);

/* Where .plt is in the file @out, for its symbols' addresses. */
u64 build_elf_plt_offset(const struct build_elf *spec);

#endif
