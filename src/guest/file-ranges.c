/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of a large ELF file that matter: by its segments, which are at its beginning and are
 * what the loader reads, and by its section headers, when those are cached.
 */
#include "guest/file-ranges.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "objfile/elf-widen.h"

#ifndef PT_GNU_SFRAME	/* binutils 2.40 */
#define PT_GNU_SFRAME 0x6474e554
#endif

#define MAX_SEGMENTS 256
#define MAX_SECTIONS 4096
#define MAX_NOTES (64U << 10)
#define MAX_DYNAMIC 4096
#define MAX_NAME 24
#define MAX_DYNAMIC_SYMBOLS (32ULL << 20)	/* with their hashes and names */

struct reading {
	const struct guest_file *file;
	struct file_image *image;
	u64 left;		/* bytes that may be read yet */
	bool narrow;		/* of 32 bits */
	Elf64_Ehdr header;
	Elf64_Phdr segments[MAX_SEGMENTS];
	unsigned int nr_segments;
};

/* Reads a range, or what is left of the allowance. */
static int take(struct reading *r, u64 offset, u64 size)
{
	u64 part;
	int err;

	if (offset >= r->file->size)
		return 0;
	size = MIN(size, r->file->size - offset);
	part = MIN(size, r->left);
	err = guest_file_image_range(r->file, offset, part, r->image);
	/* At least a page: tables of nothing are not free. */
	r->left -= MIN(r->left, MAX(part, (u64)FILE_IMAGE_PAGE));
	return err;
}

/* Bytes of the image. False: they are not there. */
static bool get(const struct reading *r, u64 offset, void *out, size_t size)
{
	if (!file_image_has(r->image, offset, size))
		return false;
	memcpy(out, r->image->data + offset, size);
	return true;
}

/* Reads them first. */
static int fetch(struct reading *r, u64 offset, void *out, size_t size, bool *ret_there)
{
	int err = take(r, offset, size);

	if (!err)
		*ret_there = get(r, offset, out, size);
	return err;
}

/* Where the address is in the file, and how much of its segment follows; size 0: nowhere. */
static u64 find_address(const struct reading *r, u64 address, u64 *ret_size)
{
	*ret_size = 0;
	for (unsigned int i = 0; i < r->nr_segments; i++) {
		const Elf64_Phdr *segment = &r->segments[i];
		u64 skip = address - segment->p_vaddr;

		if (segment->p_type != PT_LOAD || skip >= segment->p_filesz ||
		    segment->p_offset + skip < skip)
			continue;
		*ret_size = segment->p_filesz - skip;
		return segment->p_offset + skip;
	}
	return 0;
}

/*
 * .eh_frame_hdr, and from where it says that .eh_frame is to the end of what is loaded with it.
 * Linkers write its pointer as a distance from itself in 4 bytes.
 */
static int take_frames(struct reading *r, const Elf64_Phdr *segment)
{
	u8 head[8] = { 0 };
	u64 offset, size;
	bool there = false;
	s32 distance;
	int err = take(r, segment->p_offset, segment->p_filesz);

	if (!err)
		err = fetch(r, segment->p_offset, head, sizeof(head), &there);
	if (err || !there || head[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
		return err;
	memcpy(&distance, head + 4, sizeof(distance));
	offset = find_address(r, segment->p_vaddr + 4 + (s64)distance, &size);
	return size ? take(r, offset, size) : 0;
}

struct symbol_places {
	u64 symbols, strings, strings_size, hash;	/* addresses; 0: none */
};

static void take_entry(const Elf64_Dyn *entry, struct symbol_places *places)
{
	switch (entry->d_tag) {
	case DT_SYMTAB:
		places->symbols = entry->d_un.d_ptr;
		break;
	case DT_STRTAB:
		places->strings = entry->d_un.d_ptr;
		break;
	case DT_STRSZ:
		places->strings_size = entry->d_un.d_val;
		break;
	case DT_GNU_HASH:
	case DT_HASH:
		places->hash = entry->d_un.d_ptr;
		break;
	}
}

/* Linkers put hashes, symbols and names one behind the other, in this order. */
static int take_symbols(struct reading *r, const struct symbol_places *places)
{
	u64 first = places->hash && places->hash < places->symbols ? places->hash :
								    places->symbols;
	u64 size, offset = find_address(r, first, &size), end = places->strings - first;

	if (!places->symbols || !size || places->strings < first)
		return 0;
	end += MIN(places->strings_size, MAX_DYNAMIC_SYMBOLS);
	return take(r, offset, MIN(MIN(size, end), MAX_DYNAMIC_SYMBOLS));
}

static int take_dynamic(struct reading *r, const Elf64_Phdr *segment)
{
	size_t size = ELF_SIZE(r->narrow, Dyn);
	u64 nr = MIN(segment->p_filesz / size, (u64)MAX_DYNAMIC);
	struct symbol_places places = { 0 };
	int err = take(r, segment->p_offset, nr * size);

	for (u64 i = 0; !err && i < nr; i++) {
		u8 bytes[sizeof(Elf64_Dyn)];
		Elf64_Dyn entry;

		if (!get(r, segment->p_offset + i * size, bytes, size))
			break;
		elf_widen_dyn(r->narrow, bytes, &entry);
		if (entry.d_tag == DT_NULL)
			break;
		take_entry(&entry, &places);
	}
	return err ? err : take_symbols(r, &places);
}

static int take_segment(struct reading *r, const Elf64_Phdr *segment)
{
	switch (segment->p_type) {
	case PT_NOTE:
		return take(r, segment->p_offset, MIN(segment->p_filesz, MAX_NOTES));
	case PT_GNU_EH_FRAME:
		return take_frames(r, segment);
	case PT_GNU_SFRAME:
		return take(r, segment->p_offset, segment->p_filesz);
	case PT_DYNAMIC:
		return take_dynamic(r, segment);
	default:
		return 0;
	}
}

static int take_segments(struct reading *r)
{
	unsigned int nr = MIN(r->header.e_phnum, MAX_SEGMENTS);
	size_t size = ELF_SIZE(r->narrow, Phdr);
	u8 bytes[MAX_SEGMENTS * sizeof(Elf64_Phdr)];
	bool there = false;
	int err;

	if (!nr || r->header.e_phentsize != size)
		return 0;
	err = fetch(r, r->header.e_phoff, bytes, nr * size, &there);
	if (err || !there)
		return err;
	for (unsigned int i = 0; i < nr; i++)
		elf_widen_phdr(r->narrow, bytes + i * size, &r->segments[i]);
	r->nr_segments = nr;
	for (unsigned int i = 0; !err && i < nr; i++)
		err = take_segment(r, &r->segments[i]);
	return err;
}

/* By name those whose type says little: of a program that was stripped they are not there. */
static bool is_wanted(const char *name, u32 type)
{
	static const char *const names[] = {
		".eh_frame", ".eh_frame_hdr", ".debug_frame", ".sframe", ".strtab", ".dynstr",
		".shstrtab", ".gnu_debuglink", ".gnu_debugdata",
	};

	if (type == SHT_SYMTAB || type == SHT_DYNSYM || type == SHT_NOTE)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int take_section(struct reading *r, const Elf64_Shdr *section, const Elf64_Shdr *names)
{
	char name[MAX_NAME] = "";
	u64 at = names->sh_offset + section->sh_name;

	if (section->sh_type == SHT_NOBITS)
		return 0;
	if (at >= names->sh_offset && at < r->file->size)
		get(r, at, name, MIN(sizeof(name) - 1, r->file->size - at));
	return is_wanted(name, section->sh_type) ?
	       take(r, section->sh_offset, section->sh_size) : 0;
}

static bool get_section(const struct reading *r, u64 i, Elf64_Shdr *ret)
{
	size_t size = ELF_SIZE(r->narrow, Shdr);
	u8 bytes[sizeof(Elf64_Shdr)];

	if (!get(r, r->header.e_shoff + i * size, bytes, size))
		return false;
	elf_widen_shdr(r->narrow, bytes, ret);
	return true;
}

static int take_sections(struct reading *r)
{
	u64 at = r->header.e_shoff, nr = r->header.e_shnum, size = ELF_SIZE(r->narrow, Shdr);
	Elf64_Shdr names, section;
	int err;

	if (!at || at > r->file->size || !nr || nr > MAX_SECTIONS ||
	    r->header.e_shentsize != size || r->header.e_shstrndx >= nr)
		return 0;
	err = take(r, at, nr * size);
	if (!err)
		err = take(r, at + r->header.e_shstrndx * size, size);
	if (err || !get_section(r, r->header.e_shstrndx, &names))
		return err;
	err = take(r, names.sh_offset, MIN(names.sh_size, (u64)MAX_NOTES));
	for (u64 i = 0; !err && i < nr; i++)
		if (get_section(r, i, &section))
			err = take_section(r, &section, &names);
	return err;
}

/* Whether the file is one that is known how to read. */
static int read_header(struct reading *r, bool *ret_known)
{
	u8 bytes[sizeof(Elf64_Ehdr)];
	bool there = false;
	int err = fetch(r, 0, bytes, ELF_HEADER_MIN, &there);

	if (err || !there || memcmp(bytes, ELFMAG, SELFMAG) || bytes[EI_DATA] != ELFDATA2LSB)
		return err;
	r->narrow = elf_is_narrow(bytes);
	err = fetch(r, 0, bytes, ELF_SIZE(r->narrow, Ehdr), ret_known);
	if (!err && *ret_known)
		elf_widen_ehdr(r->narrow, bytes, &r->header);
	return err;
}

int file_ranges_read(const struct guest_file *file, struct file_image *image)
{
	struct reading r = { .file = file, .image = image, .left = FILE_RANGES_MAX };
	bool known = false;
	int err = read_header(&r, &known);

	if (err || !known)
		return err;
	err = take_segments(&r);
	return err ? err : take_sections(&r);
}
