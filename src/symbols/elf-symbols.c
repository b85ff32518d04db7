/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols of ELF files. Which of them count and at what address follows
 * tools/perf/util/symbol-elf.c of Linux 6.1, so that names are the same as perf's.
 */
#include "symbols/elf-file-private.h"

#include <string.h>

int elf_table_open(const struct elf_file *file, const struct section *section,
		      struct elf_table *ret)
{
	size_t entry = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT);
	const struct section *link;
	Elf_Data *strings;

	if (!entry || section->header.sh_link >= file->sections.nr)
		return -EBADMSG;
	link = &file->sections.data[section->header.sh_link];
	ret->symbols = elf_getdata(section->scn, NULL);
	strings = elf_getdata(link->scn, NULL);
	if (!ret->symbols || !ret->symbols->d_buf || !strings || !strings->d_buf)
		return -EBADMSG;
	ret->strings = strings->d_buf;
	ret->strings_size = strings->d_size;
	ret->nr = ret->symbols->d_size / entry;
	return ret->nr > ELF_MAX_SYMBOLS ? -E2BIG : 0;
}

/* NULL unless it ends inside the strings. */
const char *elf_table_name(const struct elf_table *table, size_t offset)
{
	if (!offset || offset >= table->strings_size ||
	    !memchr(table->strings + offset, '\0', table->strings_size - offset))
		return NULL;
	return table->strings + offset;
}

/* ARM's marks between code and data: "$a", "$x.1". */
static bool is_mapping_symbol(const struct elf_file *file, const char *name)
{
	if (file->header.e_machine != EM_ARM && file->header.e_machine != EM_AARCH64)
		return false;
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.');
}

static bool is_label(const GElf_Sym *sym)
{
	int visibility = GELF_ST_VISIBILITY(sym->st_other);

	return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE && visibility != STV_HIDDEN &&
	       visibility != STV_INTERNAL;
}

static bool is_code(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* The section that @sym is in, when @sym is one of those that count; NULL else. */
static const struct section *useful_section(const struct elf_file *file, const GElf_Sym *sym)
{
	const struct section *section;

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= SHN_LORESERVE ||
	    sym->st_shndx >= file->sections.nr)
		return NULL;
	section = &file->sections.data[sym->st_shndx];
	if (!(section->header.sh_flags & SHF_ALLOC))
		return NULL;
	if (is_code(sym) || GELF_ST_TYPE(sym->st_info) == STT_OBJECT)
		return section;
	if (is_label(sym) && (strstr(section->name, "text") || strstr(section->name, "data")))
		return section;
	return NULL;
}

static u8 type_letter(const GElf_Sym *sym, const struct section *section)
{
	bool code = is_code(sym) || (GELF_ST_TYPE(sym->st_info) == STT_NOTYPE &&
				     strstr(section->name, "text"));

	return symtab_letter(GELF_ST_BIND(sym->st_info), code);
}

/* Where the address @vaddr is in the file, by the segments; by the section where none covers it. */
static u64 file_offset(const struct elf_file *runtime, const struct section *section, u64 vaddr)
{
	for (size_t i = 0; i < runtime->loads.nr; i++) {
		const GElf_Phdr *load = &runtime->loads.data[i];

		if (vaddr >= load->p_vaddr &&
		    vaddr - load->p_vaddr < MAX(load->p_memsz, load->p_filesz))
			return vaddr - load->p_vaddr + load->p_offset;
	}
	return vaddr - section->header.sh_addr + section->header.sh_offset;
}

static int add_symbol(const struct elf_file *file, const struct elf_file *runtime,
		      const struct elf_table *table, const GElf_Sym *sym,
		      struct symtab *symtab)
{
	const struct section *section = useful_section(file, sym);
	const char *name = elf_table_name(table, sym->st_name);
	u64 value = sym->st_value;

	if (!section || !name || is_mapping_symbol(file, name))
		return 0;
	/* A debug file has the sections' headers, but not where they are in the program. */
	if (runtime && section->header.sh_type == SHT_NOBITS &&
	    sym->st_shndx < runtime->sections.nr)
		section = &runtime->sections.data[sym->st_shndx];
	if (file->header.e_machine == EM_ARM && is_code(sym))
		value &= ~1ULL;
	if (!runtime)
		;	/* as it is */
	else if (!elf_file_is_relocatable(file))
		value = file_offset(runtime, section, value);
	else if (!strcmp(section->name, ".text"))
		value += section->header.sh_offset;
	else
		return 0;
	return symtab_add(symtab, value, sym->st_size, type_letter(sym, section), name);
}

static int add_table(const struct elf_file *file, const struct elf_file *runtime,
		     const struct section *section, struct symtab *symtab)
{
	struct elf_table table;
	int err = elf_table_open(file, section, &table);

	for (size_t i = 1; !err && i < table.nr; i++) {
		GElf_Sym sym;

		if (!gelf_getsym(table.symbols, i, &sym))
			return -EBADMSG;
		err = add_symbol(file, runtime, &table, &sym, symtab);
	}
	return err;
}

int elf_file_add_symbols(const struct elf_file *file, const struct elf_file *runtime,
			 struct symtab *symtab)
{
	int err = 0;

	if (file->symtab)
		err = add_table(file, runtime, file->symtab, symtab);
	if (!err && file->dynsym)
		err = add_table(file, runtime, file->dynsym, symtab);
	return err;
}
