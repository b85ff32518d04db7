/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an ELF file has its call frame information. What is mapped for the program is found by its
 * segments, PT_GNU_EH_FRAME and PT_GNU_SFRAME, as the section headers at a file's end are rarely in
 * a page cache; .debug_frame by the section headers, which is the only way.
 */
#include "unwind/cfi-object.h"

#include <dwarf.h>
#include <elf.h>
#include <gelf.h>

#include "base/cursor.h"
#include "objfile/elf-widen.h"

#define MAX_SEGMENTS 256
#define MAX_NAME 64
#define MAX_UNPACKED (256ULL << 20)

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554	/* binutils 2.40 */
#endif

struct file {
	struct cfi_section bytes;	/* the whole file, as one section at address 0 */
	Elf64_Ehdr header;
	bool is_32;			/* of i386: its records are the short ones */
	bool trusted;
	Elf64_Phdr eh_frame;		/* PT_GNU_EH_FRAME; p_type 0: none */
	bool eh_frame_nobits;		/* a debug file: the section's bytes are in another */
	Elf64_Phdr sframe;		/* PT_GNU_SFRAME; p_type 0: none */
};

static int file_read(const struct file *file, u64 offset, void *out, size_t size)
{
	if (!cfi_section_has(&file->bytes, offset, size))
		return -ENODATA;
	memcpy(out, file->bytes.data + offset, size);
	return 0;
}

static int read_header(struct file *file)
{
	u8 bytes[sizeof(Elf64_Ehdr)];
	int err = file_read(file, 0, bytes, ELF_HEADER_MIN);

	if (!err && memcmp(bytes, ELFMAG, SELFMAG))
		err = -EBADMSG;
	if (!err && bytes[EI_DATA] != ELFDATA2LSB)
		err = -EOPNOTSUPP;
	if (err)
		return err;
	file->is_32 = elf_is_narrow(bytes);
	err = file_read(file, 0, bytes, ELF_SIZE(file->is_32, Ehdr));
	if (!err)
		elf_widen_ehdr(file->is_32, bytes, &file->header);
	return err;
}

static int check_header(const struct file *file)
{
	const Elf64_Ehdr *header = &file->header;

	if (header->e_machine != (file->is_32 ? EM_386 : EM_X86_64) &&
	    (file->is_32 || header->e_machine != EM_AARCH64))
		return -EOPNOTSUPP;
	if (header->e_phnum && header->e_phentsize != ELF_SIZE(file->is_32, Phdr))
		return -EBADMSG;
	return header->e_phnum > MAX_SEGMENTS ? -E2BIG : 0;
}

static int read_segment(const struct file *file, unsigned int i, Elf64_Phdr *ret)
{
	size_t size = ELF_SIZE(file->is_32, Phdr);
	u8 bytes[sizeof(Elf64_Phdr)];
	int err = file_read(file, file->header.e_phoff + i * size, bytes, size);

	if (!err)
		elf_widen_phdr(file->is_32, bytes, ret);
	return err;
}

static int read_section(const struct file *file, unsigned int i, Elf64_Shdr *ret)
{
	size_t size = ELF_SIZE(file->is_32, Shdr);
	u8 bytes[sizeof(Elf64_Shdr)];
	int err = file_read(file, file->header.e_shoff + i * size, bytes, size);

	if (!err)
		elf_widen_shdr(file->is_32, bytes, ret);
	return err;
}

static int add_load(struct cfi_object *object, const Elf64_Phdr *segment)
{
	if (object->nr_loads == CFI_MAX_LOADS)
		return -E2BIG;
	if (segment->p_vaddr + segment->p_memsz < segment->p_vaddr)
		return -EBADMSG;
	object->loads[object->nr_loads++] = (struct cfi_load){
		.address = segment->p_vaddr,
		.mem_size = segment->p_memsz,
		.offset = segment->p_offset,
		.file_size = segment->p_filesz,
		.exec = segment->p_flags & PF_X,
	};
	return 0;
}

static int read_segments(struct cfi_object *object, struct file *file)
{
	Elf64_Phdr segment;
	int err = 0;

	for (unsigned int i = 0; i < file->header.e_phnum && !err; i++) {
		err = read_segment(file, i, &segment);
		if (!err && segment.p_type == PT_LOAD)
			err = add_load(object, &segment);
		if (!err && segment.p_type == PT_GNU_EH_FRAME)
			file->eh_frame = segment;
		if (!err && segment.p_type == PT_GNU_SFRAME)
			file->sframe = segment;
	}
	return err;
}

const struct cfi_load *cfi_object_load(const struct cfi_object *object, u64 address)
{
	for (unsigned int i = 0; i < object->nr_loads; i++)
		if (address - object->loads[i].address < object->loads[i].mem_size)
			return &object->loads[i];
	return NULL;
}

/* The file's bytes from @offset on, @size or what there is of them. */
static void set_section(const struct file *file, u64 offset, u64 size, u64 address,
			struct cfi_section *ret)
{
	if (offset >= file->bytes.size)
		return;
	ret->data = file->bytes.data + offset;
	ret->size = MIN(size, file->bytes.size - offset);
	ret->address = address;
	ret->image = file->bytes.image;
	ret->is_32 = file->is_32;
	ret->is_arm64 = file->header.e_machine == EM_AARCH64;
}

/* What the segment at @address has in the file from there on. */
static void set_mapped_section(const struct cfi_object *object, const struct file *file,
			       u64 address, struct cfi_section *ret)
{
	const struct cfi_load *load = cfi_object_load(object, address);
	u64 skip = load ? address - load->address : 0;

	if (load && skip < load->file_size && load->offset + skip >= skip)
		set_section(file, load->offset + skip, load->file_size - skip, address, ret);
}

/* By .eh_frame_hdr: version, three encodings, the pointer. */
static void find_mapped(struct cfi_object *object, const struct file *file)
{
	const Elf64_Phdr *segment = &file->eh_frame;
	struct cfi_section hdr = { 0 };
	u8 version, encoding;
	struct cursor c;
	u64 address;

	if (!segment->p_type || file->eh_frame_nobits)
		return;
	set_section(file, segment->p_offset, segment->p_filesz, segment->p_vaddr, &hdr);
	if (!cfi_section_has(&hdr, 0, MIN(hdr.size, 12)) || !hdr.size) {
		object->missing = !object->eh_frame.size;
		return;
	}
	cursor_init(&c, hdr.data, hdr.size);
	version = cursor_u8(&c);
	encoding = cursor_u8(&c);
	cursor_skip(&c, 2);
	address = cfi_read_pointer(&c, cfi_section_encoding(&hdr, encoding), hdr.address,
				   hdr.address);
	if (version != 1 || cursor_error(&c) || encoding & DW_EH_PE_indirect)
		return;
	set_mapped_section(object, file, address, &object->eh_frame);
	if (object->eh_frame.size)
		object->hdr = hdr;
}

static void find_sframe(struct cfi_object *object, const struct file *file)
{
	const Elf64_Phdr *segment = &file->sframe;

	if (segment->p_type && !file->eh_frame_nobits)
		set_section(file, segment->p_offset, segment->p_filesz, segment->p_vaddr,
			    &object->sframe);
	object->sframe.is_sframe = true;
}

/* libelf unpacks: of a section @nr that is in a file of the host's. */
static int unpack(struct cfi_object *object, const struct file *file, unsigned int nr)
{
	const Elf_Data *data = NULL;
	int err = -EBADMSG;
	GElf_Chdr packed;
	Elf_Scn *scn;
	Elf *elf;

	if (object->debug_copy)
		return 0;	/* a second section of that name */
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EOPNOTSUPP;
	/* It takes the image for writable, and writes only where it is told to. */
	elf = elf_memory((char *)file->bytes.data, file->bytes.size);
	scn = elf ? elf_getscn(elf, nr) : NULL;
	if (scn && gelf_getchdr(scn, &packed) && packed.ch_size <= MAX_UNPACKED &&
	    elf_compress(scn, 0, 0) >= 0)
		data = elf_getdata(scn, NULL);
	if (data && data->d_buf && data->d_size) {
		object->debug_copy = malloc(data->d_size);
		err = object->debug_copy ? 0 : -ENOMEM;
	}
	if (!err) {
		memcpy(object->debug_copy, data->d_buf, data->d_size);
		object->debug_frame.data = object->debug_copy;
		object->debug_frame.size = data->d_size;
		object->debug_frame.is_32 = file->is_32;
		object->debug_frame.is_arm64 = file->header.e_machine == EM_AARCH64;
	}
	elf_end(elf);
	return err;
}

static int take_debug_frame(struct cfi_object *object, const struct file *file,
			    const Elf64_Shdr *section, unsigned int nr)
{
	if (section->sh_type != SHT_PROGBITS)
		return 0;
	object->debug_frame.is_debug = true;
	if (!(section->sh_flags & SHF_COMPRESSED)) {
		set_section(file, section->sh_offset, section->sh_size, 0, &object->debug_frame);
		return 0;
	}
	return file->trusted ? unpack(object, file, nr) : 0;
}

static int take_section(struct cfi_object *object, struct file *file, const char *name,
			const Elf64_Shdr *section, unsigned int nr)
{
	if (!strcmp(name, ".debug_frame"))
		return take_debug_frame(object, file, section, nr);
	if (strcmp(name, ".eh_frame"))
		return 0;
	if (section->sh_type == SHT_NOBITS)
		file->eh_frame_nobits = true;
	else
		set_section(file, section->sh_offset, section->sh_size, section->sh_addr,
			    &object->eh_frame);
	return 0;
}

/* "" when it cannot be told. */
static void read_name(const struct file *file, const Elf64_Shdr *names, u32 at, char *out)
{
	u64 left = at < names->sh_size ? names->sh_size - at : 0;
	u64 size = MIN(left, MAX_NAME - 1ULL);

	if (names->sh_offset + at < at || file_read(file, names->sh_offset + at, out, size))
		size = 0;
	out[size] = '\0';
}

/* Section headers that are not known or make no sense are none. */
static int read_sections(struct cfi_object *object, struct file *file)
{
	const Elf64_Ehdr *header = &file->header;
	u64 at = header->e_shoff, entry = ELF_SIZE(file->is_32, Shdr);
	Elf64_Shdr section, names;
	char name[MAX_NAME];
	int err = 0;

	if (!at || header->e_shentsize != entry || header->e_shstrndx >= header->e_shnum)
		return 0;
	if (!cfi_section_has(&file->bytes, at, header->e_shnum * entry) ||
	    read_section(file, header->e_shstrndx, &names)) {
		object->missing = !file->eh_frame.p_type;
		return 0;
	}
	for (unsigned int i = 0; i < header->e_shnum && !err; i++) {
		read_section(file, i, &section);
		read_name(file, &names, section.sh_name, name);
		err = take_section(object, file, name, &section, i);
	}
	return err;
}

int cfi_object_init(struct cfi_object *object, const u8 *data, u64 size,
		    const struct file_image *image, bool trusted)
{
	struct file file = { .bytes = { .data = data, .size = size, .image = image } };
	int err;

	memset(object, 0, sizeof(*object));
	file.trusted = trusted;
	err = read_header(&file);
	if (!err)
		err = check_header(&file);
	if (!err)
		err = read_segments(object, &file);
	if (!err)
		err = read_sections(object, &file);
	if (err) {
		cfi_object_deinit(object);
		return err;
	}
	find_mapped(object, &file);
	find_sframe(object, &file);
	object->is_arm64 = file.header.e_machine == EM_AARCH64;
	return 0;
}

void cfi_object_deinit(struct cfi_object *object)
{
	free(object->debug_copy);
	object->debug_copy = NULL;
}
