/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the linker's stubs (the procedure linkage table), made of what they jump to. */
#include "symbols/elf-file-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table's first entry, which is longer on some machines, and the size of the others. */
static void plt_sizes(const struct elf_file *file, const struct section *plt, u64 *ret_first,
		      u64 *ret_entry)
{
	switch (file->header.e_machine) {
	case EM_ARM:
		*ret_first = 20;
		*ret_entry = 12;
		break;
	case EM_AARCH64:
		*ret_first = 32;
		*ret_entry = 16;
		break;
	default:
		*ret_first = *ret_entry = plt->header.sh_entsize;
		break;
	}
}

/* What is filled in for one stub, and whose address. */
struct stub {
	u64 offset;
	size_t symbol;		/* 0: the address is what a function of the file's own says */
	u64 chooser;		/* that function; 0: there is none */
	const char *name;	/* of what it chooses, in the file's strings; NULL: not known */
};

static bool read_stub(Elf_Data *data, bool with_addend, size_t i, struct stub *ret)
{
	GElf_Rela rela;
	GElf_Rel rel;

	if (with_addend && gelf_getrela(data, i, &rela))
		*ret = (struct stub){ rela.r_offset, GELF_R_SYM(rela.r_info), 0, NULL };
	else if (!with_addend && gelf_getrel(data, i, &rel))
		*ret = (struct stub){ rel.r_offset, GELF_R_SYM(rel.r_info), 0, NULL };
	else
		return false;
	if (with_addend && GELF_R_TYPE(rela.r_info) == R_X86_64_IRELATIVE && !ret->symbol &&
	    rela.r_addend > 0)
		ret->chooser = rela.r_addend;
	return true;
}

static int add_plt_entry(const struct elf_table *table, const struct stub *stub, u64 start,
			 u64 size, struct symtab *symtab)
{
	char text[SYMBOL_NAME_MAX + 1];
	const char *name = stub->name;
	GElf_Sym sym;

	if (!gelf_getsym(table->symbols, stub->symbol, &sym))
		return -EBADMSG;
	name = name ? name : elf_table_name(table, sym.st_name);
	snprintf(text, sizeof(text), "%s@plt", name ? name : "");
	return symtab_add(symtab, start, size, 'T', text);
}

static const struct section *plt_relocations(const struct elf_file *file)
{
	const struct section *section = elf_section_of_type(file, ".rela.plt", SHT_RELA);

	return section ? section : elf_section_of_type(file, ".rel.plt", SHT_REL);
}

/* The stubs of a file, in their order. */
struct plt {
	const struct elf_file *file;
	struct elf_table table;	/* what they are named by */
	VEC(struct stub) stubs;
};

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/*
 * On x86 stubs come in the order of what is filled in for them, not of the relocations, where those
 * of functions that are chosen at run time come last. perf knows since 6.3 (78250284b157 "perf
 * symbols: Sort plt relocations for x86").
 */
static int read_stubs(const struct section *relocations, struct plt *plt)
{
	bool with_addend = relocations->header.sh_type == SHT_RELA;
	int machine = plt->file->header.e_machine;
	Elf_Data *data = elf_getdata(relocations->scn, NULL);
	struct stub stub;
	int err = 0;

	if (!data || !data->d_buf)
		return 0;
	for (size_t i = 0; !err && i < ELF_MAX_SYMBOLS; i++) {
		if (!read_stub(data, with_addend, i, &stub))
			break;
		err = vec_push(&plt->stubs, stub);
	}
	if (plt->stubs.nr && (machine == EM_X86_64 || machine == EM_386))
		qsort(plt->stubs.data, plt->stubs.nr, sizeof(stub), compare_stubs);
	return err;
}

typedef VEC(struct stub *) choices_t;

static int compare_choosers(const void *a, const void *b)
{
	const struct stub *x = *(struct stub *const *)a, *y = *(struct stub *const *)b;

	return x->chooser < y->chooser ? -1 : x->chooser > y->chooser;
}

/* As among all names of one address: fewer underscores in front, then the longer one. */
static bool is_better(const char *name, const char *than)
{
	size_t ours = strspn(name, "_"), theirs = than ? strspn(than, "_") : 0;

	return !than || ours < theirs || (ours == theirs && strlen(name) > strlen(than));
}

static void name_choices_of(const struct elf_table *table, const GElf_Sym *sym,
			    const choices_t *choices)
{
	const char *name = elf_table_name(table, sym->st_name);
	size_t low = 0, high = choices->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (choices->data[middle]->chooser < sym->st_value)
			low = middle + 1;
		else
			high = middle;
	}
	for (; name && low < choices->nr && choices->data[low]->chooser == sym->st_value; low++)
		if (is_better(name, choices->data[low]->name))
			choices->data[low]->name = name;
}

static int name_choices_in(const struct elf_file *file, const struct section *section,
			   const choices_t *choices)
{
	struct elf_table table;
	int err = section ? elf_table_open(file, section, &table) : 0;
	GElf_Sym sym;

	if (err || !section)
		return err;
	for (size_t i = 1; i < table.nr && gelf_getsym(table.symbols, i, &sym); i++)
		if (GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC && sym.st_shndx != SHN_UNDEF)
			name_choices_of(&table, &sym, choices);
	return 0;
}

/*
 * Stubs of functions that the file itself chooses at run time: what they are called is known by the
 * function that chooses, as perf has it since 6.3 ("perf symbols: Add support for IFUNC symbols for
 * x86_64").
 */
static int name_choices(struct plt *plt)
{
	choices_t choices = VEC_INIT;
	int err = 0;

	for (size_t i = 0; i < plt->stubs.nr && !err; i++)
		if (plt->stubs.data[i].chooser)
			err = vec_push(&choices, &plt->stubs.data[i]);
	if (!err && choices.nr) {
		qsort(choices.data, choices.nr, sizeof(*choices.data), compare_choosers);
		err = name_choices_in(plt->file, plt->file->symtab, &choices);
		if (!err)
			err = name_choices_in(plt->file, plt->file->dynsym, &choices);
	}
	vec_deinit(&choices);
	return err;
}

/* They lie from file offset @at to @end, each of @size bytes. */
static int add_stubs(const struct plt *plt, u64 at, u64 end, u64 size, struct symtab *symtab)
{
	int err = 0;

	for (size_t i = 0; !err && size && i < plt->stubs.nr && at < end; i++, at += size)
		err = add_plt_entry(&plt->table, &plt->stubs.data[i], at, size, symtab);
	return err;
}

/*
 * With indirect branch tracking calls go to stubs of a section of their own, without a first entry
 * that is none. perf knows since 6.3 (b2529f829ad6 "perf symbols: Add support for x86 .plt.sec").
 */
static int add_second_stubs(const struct plt *plt, struct symtab *symtab)
{
	const struct section *section = elf_section_of_type(plt->file, ".plt.sec", SHT_PROGBITS);
	const GElf_Shdr *header = section ? &section->header : NULL;

	return header ? add_stubs(plt, header->sh_offset, header->sh_offset + header->sh_size,
				  header->sh_entsize, symtab) : 0;
}

int elf_file_add_plt(const struct elf_file *file, struct symtab *symtab)
{
	const struct section *section = elf_section(file, ".plt");
	const struct section *relocations = plt_relocations(file);
	struct plt plt = { .file = file };
	u64 first, entry;
	int err;

	if (!file->dynsym || !relocations || !section ||
	    relocations->header.sh_link != (size_t)(file->dynsym - file->sections.data))
		return 0;
	plt_sizes(file, section, &first, &entry);
	err = elf_table_open(file, file->dynsym, &plt.table);
	if (!err)
		err = read_stubs(relocations, &plt);
	if (!err)
		err = name_choices(&plt);
	if (!err)
		err = add_stubs(&plt, section->header.sh_offset + first, UINT64_MAX, entry, symtab);
	if (!err)
		err = add_second_stubs(&plt, symtab);
	vec_deinit(&plt.stubs);
	return err;
}
