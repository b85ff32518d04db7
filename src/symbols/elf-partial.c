/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols of ELF files with holes. Not through libelf, which takes a hole for zeros. The formats
 * are those of the System V ABI (gABI 4.1, chapters 4 and 5) and, for .gnu.hash, of glibc 2.36,
 * elf/dl-lookup.c.
 */
#include "symbols/elf-partial.h"

#include <elf.h>
#include <string.h>

#include "objfile/elf-widen.h"

#define MAX_SEGMENTS 4096
#define MAX_DYNAMIC 4096
#define MAX_SYMBOLS (4U << 20)
#define MAX_NAME_BYTES (256U << 20)	/* of all names together */

/* Copies @size known bytes at @offset; false: some of them are not known. */
static bool get(const struct file_image *image, u64 offset, void *out, size_t size)
{
	if (!file_image_has(image, offset, size))
		return false;
	memcpy(out, image->data + offset, size);
	return true;
}

static bool table_fits(u64 offset, u64 nr, u64 entry, const struct file_image *image)
{
	return offset <= image->size && nr * entry <= image->size - offset;
}

static enum elf_part known_range(const struct file_image *image, u64 offset, u64 size)
{
	return file_image_has(image, offset, size) ? ELF_PART_WHOLE : ELF_PART_HOLES;
}

/* Of two parts that are needed both. */
static enum elf_part both(enum elf_part a, enum elf_part b)
{
	return a == ELF_PART_WHOLE && b == ELF_PART_WHOLE ? ELF_PART_WHOLE : ELF_PART_HOLES;
}

static void take_notes(struct elf_partial *partial, u64 offset, u64 size)
{
	struct build_id id;

	if (partial->build_id.size)
		return;
	if (!file_image_has(partial->image, offset, size)) {
		partial->notes = ELF_PART_HOLES;
		return;
	}
	if (partial->notes == ELF_PART_ABSENT)
		partial->notes = ELF_PART_WHOLE;
	if (!build_id_from_notes(partial->image->data + offset, size, false, &id))
		partial->build_id = id;
}

static bool to_offset(const struct elf_partial *partial, u64 vaddr, u64 *ret)
{
	for (size_t i = 0; i < partial->loads.nr; i++) {
		const struct elf_partial_load *load = &partial->loads.data[i];

		if (vaddr >= load->vaddr && vaddr - load->vaddr < load->memsz) {
			*ret = vaddr - load->vaddr + load->offset;
			return true;
		}
	}
	return false;
}

static int take_load(struct elf_partial *partial, const Elf64_Phdr *segment)
{
	const struct elf_partial_load load = {
		.vaddr = segment->p_vaddr,
		.offset = segment->p_offset,
		.filesz = segment->p_filesz,
		.memsz = MAX(segment->p_memsz, segment->p_filesz),
		.executable = segment->p_flags & PF_X,
	};

	return load.memsz ? vec_push(&partial->loads, load) : 0;
}

/* Entry @i of a table of headers at @offset. */
static bool get_entry(const struct elf_partial *partial, u64 offset, u64 i, void *out, size_t size)
{
	return table_fits(offset, i + 1, size, partial->image) &&
	       get(partial->image, offset + i * size, out, size);
}

static bool get_segment(const struct elf_partial *partial, const Elf64_Ehdr *header, u64 i,
			Elf64_Phdr *ret)
{
	u8 bytes[sizeof(Elf64_Phdr)];

	if (!get_entry(partial, header->e_phoff, i, bytes, ELF_SIZE(partial->narrow, Phdr)))
		return false;
	elf_widen_phdr(partial->narrow, bytes, ret);
	return true;
}

static int read_segments(struct elf_partial *partial, const Elf64_Ehdr *header,
			 Elf64_Phdr *ret_dynamic)
{
	int err = 0;

	if (header->e_phnum > MAX_SEGMENTS)
		return -E2BIG;
	if (header->e_phnum && header->e_phentsize != ELF_SIZE(partial->narrow, Phdr))
		return -EBADMSG;
	partial->segments = header->e_phnum ? ELF_PART_WHOLE : ELF_PART_ABSENT;
	for (u64 i = 0; i < header->e_phnum && !err; i++) {
		Elf64_Phdr segment;

		if (!get_segment(partial, header, i, &segment)) {
			partial->segments = ELF_PART_HOLES;
			continue;
		}
		if (segment.p_type == PT_LOAD)
			err = take_load(partial, &segment);
		else if (segment.p_type == PT_NOTE)
			take_notes(partial, segment.p_offset, segment.p_filesz);
		else if (segment.p_type == PT_DYNAMIC)
			*ret_dynamic = segment;
	}
	return err;
}

/* Of a file with 65280 sections or more, which have their number elsewhere, none. */
static bool get_section(const struct elf_partial *partial, const Elf64_Ehdr *header, u64 i,
			Elf64_Shdr *ret)
{
	u8 bytes[sizeof(Elf64_Shdr)];

	if (i >= header->e_shnum ||
	    !get_entry(partial, header->e_shoff, i, bytes, ELF_SIZE(partial->narrow, Shdr)))
		return false;
	elf_widen_shdr(partial->narrow, bytes, ret);
	return true;
}

static void take_table(const struct elf_partial *partial, const Elf64_Ehdr *header,
		       const Elf64_Shdr *section, struct elf_partial_table *table,
		       enum elf_part *ret_part)
{
	const struct file_image *image = partial->image;
	Elf64_Shdr strings;

	*ret_part = ELF_PART_HOLES;
	if (section->sh_entsize != ELF_SIZE(partial->narrow, Sym) ||
	    !get_section(partial, header, section->sh_link, &strings))
		return;
	*table = (struct elf_partial_table){
		.symbols = section->sh_offset,
		.size = section->sh_size,
		.strings = strings.sh_offset,
		.strings_size = strings.sh_size,
	};
	*ret_part = both(known_range(image, table->symbols, table->size),
			 known_range(image, table->strings, table->strings_size));
}

static int read_sections(struct elf_partial *partial, const Elf64_Ehdr *header)
{
	if (header->e_shoff && header->e_shentsize != ELF_SIZE(partial->narrow, Shdr))
		return -EBADMSG;
	partial->sections = header->e_shoff ? ELF_PART_WHOLE : ELF_PART_ABSENT;
	for (u64 i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr section;

		if (!get_section(partial, header, i, &section))
			partial->sections = ELF_PART_HOLES;
		else if (section.sh_type == SHT_NOTE)
			take_notes(partial, section.sh_offset, section.sh_size);
		else if (section.sh_type == SHT_SYMTAB && !partial->symtab_table.size)
			take_table(partial, header, &section, &partial->symtab_table,
				   &partial->symtab);
		else if (section.sh_type == SHT_DYNSYM && !partial->dynsym_table.size)
			take_table(partial, header, &section, &partial->dynsym_table,
				   &partial->dynsym);
	}
	/* It may be among those that are not known. */
	if (partial->sections == ELF_PART_HOLES && partial->symtab == ELF_PART_ABSENT)
		partial->symtab = ELF_PART_HOLES;
	return 0;
}

/* What the dynamic segment says, as addresses; 0: nothing. */
struct dynamic {
	u64 symbols, strings, strings_size, hash, gnu_hash;
};

static bool read_dynamic(const struct elf_partial *partial, const Elf64_Phdr *segment,
			 struct dynamic *ret)
{
	size_t size = ELF_SIZE(partial->narrow, Dyn);
	u64 nr = MIN(segment->p_filesz / size, (u64)MAX_DYNAMIC);
	u8 bytes[sizeof(Elf64_Dyn)];
	Elf64_Dyn entry;

	for (u64 i = 0; i < nr; i++) {
		if (segment->p_offset > partial->image->size ||
		    !get(partial->image, segment->p_offset + i * size, bytes, size))
			return false;
		elf_widen_dyn(partial->narrow, bytes, &entry);
		switch (entry.d_tag) {
		case DT_NULL:
			return true;
		case DT_SYMTAB:
			ret->symbols = entry.d_un.d_ptr;
			break;
		case DT_STRTAB:
			ret->strings = entry.d_un.d_ptr;
			break;
		case DT_STRSZ:
			ret->strings_size = entry.d_un.d_val;
			break;
		case DT_HASH:
			ret->hash = entry.d_un.d_ptr;
			break;
		case DT_GNU_HASH:
			ret->gnu_hash = entry.d_un.d_ptr;
			break;
		}
	}
	return true;
}

/* nbucket, nchain: as many chains as symbols. */
static bool count_by_hash(const struct elf_partial *partial, u64 hash, u64 *ret)
{
	u32 head[2];
	u64 at;

	if (!hash || !to_offset(partial, hash, &at) || !get(partial->image, at, head, sizeof(head)))
		return false;
	*ret = head[1];
	return true;
}

/* The highest bucket's chain ends at the last symbol, where the lowest bit is set. */
static bool count_by_gnu_hash(const struct elf_partial *partial, u64 hash, u64 *ret)
{
	u32 head[4], bucket, last = 0, value = 0;	/* nbuckets, symoffset, bloom_size, shift */
	u64 at, chains;

	if (!hash || !to_offset(partial, hash, &at) || !get(partial->image, at, head, sizeof(head)))
		return false;
	at += sizeof(head) + head[2] * (partial->narrow ? 4ULL : 8ULL);
	chains = at + head[0] * 4ULL;
	if (head[0] > MAX_SYMBOLS || !file_image_has(partial->image, at, head[0] * 4ULL))
		return false;
	for (u32 i = 0; i < head[0]; i++) {
		memcpy(&bucket, partial->image->data + at + i * 4ULL, sizeof(bucket));
		last = MAX(last, bucket);
	}
	if (last < head[1]) {
		*ret = head[1];
		return true;
	}
	for (; !(value & 1) && last < MAX_SYMBOLS; last++)
		if (!get(partial->image, chains + (last - head[1]) * 4ULL, &value, sizeof(value)))
			return false;
	*ret = last;
	return true;
}

/* Where no hash says how many there are: linkers put the strings behind the symbols. */
static u64 count_by_strings(const struct elf_partial_table *table, size_t entry)
{
	return table->strings > table->symbols ? (table->strings - table->symbols) / entry : 0;
}

static void find_dynamic_table(struct elf_partial *partial, const Elf64_Phdr *segment)
{
	struct elf_partial_table table = { 0 };
	struct dynamic dynamic = { 0 };
	size_t entry = ELF_SIZE(partial->narrow, Sym);
	u64 nr;

	if (segment->p_type != PT_DYNAMIC || partial->dynsym_table.size)
		return;
	partial->dynsym = ELF_PART_HOLES;
	if (!read_dynamic(partial, segment, &dynamic) ||
	    !to_offset(partial, dynamic.symbols, &table.symbols) ||
	    !to_offset(partial, dynamic.strings, &table.strings))
		return;
	if (!count_by_hash(partial, dynamic.hash, &nr) &&
	    !count_by_gnu_hash(partial, dynamic.gnu_hash, &nr))
		nr = count_by_strings(&table, entry);
	table.size = MIN(nr, (u64)MAX_SYMBOLS) * entry;
	table.strings_size = dynamic.strings_size;
	partial->dynsym_table = table;
	partial->dynsym = both(known_range(partial->image, table.symbols, table.size),
			       known_range(partial->image, table.strings, table.strings_size));
}

static int read_header(struct elf_partial *partial, Elf64_Ehdr *ret)
{
	u8 bytes[sizeof(Elf64_Ehdr)];

	if (!get(partial->image, 0, bytes, ELF_HEADER_MIN))
		return -ENODATA;
	if (memcmp(bytes, ELFMAG, SELFMAG))
		return -EBADMSG;
	if (bytes[EI_DATA] != ELFDATA2LSB)
		return -EOPNOTSUPP;
	partial->narrow = elf_is_narrow(bytes);
	if (!get(partial->image, 0, bytes, ELF_SIZE(partial->narrow, Ehdr)))
		return -ENODATA;
	elf_widen_ehdr(partial->narrow, bytes, ret);
	return 0;
}

int elf_partial_init(struct elf_partial *partial, const struct file_image *image)
{
	struct elf_partial new = { .image = image };
	Elf64_Phdr dynamic = { 0 };
	Elf64_Ehdr header;
	int err = read_header(&new, &header);

	if (err)
		return err;
	new.type = header.e_type;
	new.machine = header.e_machine;
	err = read_segments(&new, &header, &dynamic);
	if (!err)
		err = read_sections(&new, &header);
	if (err) {
		elf_partial_deinit(&new);
		return err;
	}
	find_dynamic_table(&new, &dynamic);
	*partial = new;
	return 0;
}

void elf_partial_deinit(struct elf_partial *partial)
{
	vec_deinit(&partial->loads);
}

/* The name at @offset of the strings; NULL: not there, or partly in a hole. */
static const char *name_at(const struct elf_partial *partial,
			   const struct elf_partial_table *table, u32 offset, size_t *ret_len)
{
	const struct file_image *image = partial->image;
	const char *name;
	const char *end;
	u64 at, max;

	if (!offset || offset >= table->strings_size || table->strings > image->size)
		return NULL;
	at = table->strings + offset;
	if (at >= image->size)
		return NULL;
	max = MIN(table->strings_size - offset, image->size - at);
	max = MIN(max, SYMBOL_NAME_MAX + 1ULL);
	name = (const char *)image->data + at;
	end = memchr(name, '\0', max);
	/* What follows a hole is zeros: the end must be known as well. */
	if (!end || end == name || !file_image_has(image, at, end - name + 1))
		return NULL;
	*ret_len = end - name;
	return name;
}

/* arm64's marks between code and data: "$d", "$x.1". */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && (name[1] == 'd' || name[1] == 'x') && (!name[2] || name[2] == '.');
}

static bool is_useful(const Elf64_Sym *sym)
{
	int type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT);
}

static u8 type_letter(const Elf64_Sym *sym)
{
	return symtab_letter(ELF64_ST_BIND(sym->st_info),
			     ELF64_ST_TYPE(sym->st_info) != STT_OBJECT);
}

static int add_table(const struct elf_partial *partial, const struct elf_partial_table *table,
		     bool offsets, size_t *name_bytes, struct symtab *symtab)
{
	size_t entry = ELF_SIZE(partial->narrow, Sym);
	u64 nr = table->size / entry;
	int err = 0;

	if (table->symbols > partial->image->size)
		return 0;
	nr = MIN(nr, (partial->image->size - table->symbols) / entry);
	if (nr > MAX_SYMBOLS)
		return -E2BIG;
	for (u64 i = 1; i < nr && !err; i++) {
		u8 bytes[sizeof(Elf64_Sym)];
		const char *name;
		size_t len = 0;
		Elf64_Sym sym;
		u64 value;

		if (!get(partial->image, table->symbols + i * entry, bytes, entry))
			continue;
		elf_widen_sym(partial->narrow, bytes, &sym);
		if (!is_useful(&sym))
			continue;
		name = name_at(partial, table, sym.st_name, &len);
		value = sym.st_value;
		if (!name || (partial->machine == EM_AARCH64 && is_mapping_symbol(name)) ||
		    (offsets && !to_offset(partial, sym.st_value, &value)))
			continue;
		*name_bytes += len;
		if (*name_bytes > MAX_NAME_BYTES)
			return -E2BIG;
		err = symtab_add(symtab, value, sym.st_size, type_letter(&sym), name);
	}
	return err;
}

int elf_partial_add_symbols(const struct elf_partial *partial, bool offsets, struct symtab *symtab)
{
	size_t name_bytes = 0;
	int err = add_table(partial, &partial->symtab_table, offsets, &name_bytes, symtab);

	return err ? err : add_table(partial, &partial->dynsym_table, offsets, &name_bytes, symtab);
}
