/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files, through libelf over a private mapping: what they are and what is in them. */
#include "symbols/elf-file-private.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <lzma.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/strbuf.h"
#include "symbols/elf-synth.h"

#define MAX_FILE (8ULL << 30)
#define MAX_SECTIONS 65536
#define MAX_SEGMENTS 4096
#define MAX_DEBUGDATA (64U << 20)	/* unpacked; also the memory to unpack it */

static int read_sections(struct elf_file *file)
{
	size_t nr, names;
	int err = 0;

	if (elf_getshdrnum(file->elf, &nr) || elf_getshdrstrndx(file->elf, &names))
		return -EBADMSG;
	if (nr > MAX_SECTIONS)
		return -E2BIG;
	for (size_t i = 0; i < nr && !err; i++) {
		struct section section = { .scn = elf_getscn(file->elf, i) };

		if (!section.scn || !gelf_getshdr(section.scn, &section.header))
			return -EBADMSG;
		section.name = elf_strptr(file->elf, names, section.header.sh_name);
		if (!section.name)
			section.name = "";
		err = vec_push(&file->sections, section);
	}
	return err;
}

static int read_segments(struct elf_file *file)
{
	size_t nr;
	int err = 0;

	if (elf_getphdrnum(file->elf, &nr))
		return -EBADMSG;
	if (nr > MAX_SEGMENTS)
		return -E2BIG;
	for (size_t i = 0; i < nr && !err; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(file->elf, i, &segment))
			return -EBADMSG;
		if (segment.p_type == PT_LOAD && MAX(segment.p_memsz, segment.p_filesz))
			err = vec_push(&file->loads, segment);
	}
	return err;
}

const struct section *elf_section(const struct elf_file *file, const char *name)
{
	for (size_t i = 0; i < file->sections.nr; i++)
		if (!strcmp(file->sections.data[i].name, name))
			return &file->sections.data[i];
	return NULL;
}

const struct section *elf_section_of_type(const struct elf_file *file, const char *name, u32 type)
{
	const struct section *section = elf_section(file, name);

	return section && section->header.sh_type == type ? section : NULL;
}

static int read_headers(struct elf_file *file)
{
	int err;

	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header))
		return -EBADMSG;
	err = read_sections(file);
	if (!err)
		err = read_segments(file);
	if (err)
		return err;
	file->symtab = elf_section_of_type(file, ".symtab", SHT_SYMTAB);
	file->dynsym = elf_section_of_type(file, ".dynsym", SHT_DYNSYM);
	return 0;
}

int elf_file_open_memory(void *image, size_t size, struct elf_file **ret)
{
	_cleanup_(elf_file_close) struct elf_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EOPNOTSUPP;
	file->size = size;
	file->elf = elf_memory(image, size);
	if (!file->elf)
		return -EBADMSG;
	err = read_headers(file);
	if (err)
		return err;
	*ret = TAKE_PTR(file);
	return 0;
}

int elf_file_open_owned(void *image, size_t size, struct elf_file **ret)
{
	int err = elf_file_open_memory(image, size, ret);

	if (!err)
		(*ret)->owned = image;
	return err;
}

/* Where files are something else than bytes on a disk: to read them can have effects. */
static bool is_kernels(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	switch ((u32)fs.f_type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * A guest can have chosen the name: to open a device is an act by itself (a watchdog starts), so it
 * is looked at before. The path in /proc is that of the file looked at.
 */
static int open_regular(const char *path, struct stat *ret_st)
{
	_cleanup_close_ int found = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	int fd;

	if (found < 0 || fstat(found, ret_st))
		return -errno;
	if (!S_ISREG(ret_st->st_mode) || is_kernels(found))
		return -EBADMSG;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* Private and writable: what libelf may change in place stays in this process. */
static int map_file(const char *path, void **ret_map, size_t *ret_size)
{
	struct stat st;
	_cleanup_close_ int fd = open_regular(path, &st);
	void *map;

	if (fd < 0)
		return fd;
	if (st.st_size < EI_NIDENT)
		return -EBADMSG;
	if ((u64)st.st_size > MAX_FILE)
		return -E2BIG;
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret_map = map;
	*ret_size = st.st_size;
	return 0;
}

static int read_exactly(int fd, void *out, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, (char *)out + done, size - done, done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESTALE;
		done += n;
	}
	return 0;
}

int elf_file_open_copy(const char *path, struct elf_file **ret)
{
	struct stat st;
	_cleanup_close_ int fd = open_regular(path, &st);
	_cleanup_free_ void *copy = NULL;
	int err;

	if (fd < 0)
		return fd;
	if (st.st_size < EI_NIDENT)
		return -EBADMSG;
	if ((u64)st.st_size > ELF_FILE_MAX_COPY)
		return -E2BIG;
	copy = malloc(st.st_size);
	if (!copy)
		return -ENOMEM;
	err = read_exactly(fd, copy, st.st_size);
	if (!err)
		err = elf_file_open_owned(copy, st.st_size, ret);
	if (!err)
		copy = NULL;	/* the file's */
	return err;
}

int elf_file_open(const char *path, struct elf_file **ret)
{
	size_t size = 0;
	void *map = NULL;
	int err = map_file(path, &map, &size);

	if (err)
		return err;
	err = elf_file_open_memory(map, size, ret);
	if (err) {
		munmap(map, size);
		return err;
	}
	(*ret)->map = map;
	return 0;
}

void elf_file_close(struct elf_file *file)
{
	if (!file)
		return;
	elf_end(file->elf);
	if (file->map)
		munmap(file->map, file->size);
	free(file->owned);
	vec_deinit(&file->sections);
	vec_deinit(&file->loads);
	free(file);
}

Elf *elf_file_elf(const struct elf_file *file)
{
	return file->elf;
}

bool elf_file_has_dwarf(const struct elf_file *file)
{
	return elf_section(file, ".debug_info") || elf_section(file, ".zdebug_info");
}

int elf_file_address(const struct elf_file *file, u64 offset, u64 *ret)
{
	for (size_t i = 0; i < file->loads.nr; i++) {
		const GElf_Phdr *load = &file->loads.data[i];

		if (offset >= load->p_offset &&
		    offset - load->p_offset < MAX(load->p_memsz, load->p_filesz)) {
			*ret = offset - load->p_offset + load->p_vaddr;
			return 0;
		}
	}
	return -ENOENT;
}

void *elf_file_bytes(const struct elf_file *file, size_t *ret_size)
{
	return elf_rawfile(file->elf, ret_size);
}

bool elf_file_has_symtab(const struct elf_file *file)
{
	return file->symtab;
}

bool elf_file_has_dynsym(const struct elf_file *file)
{
	return file->dynsym;
}

static size_t nr_entries(const struct section *section)
{
	return section && section->header.sh_entsize ?
		       section->header.sh_size / section->header.sh_entsize : 0;
}

size_t elf_file_nr_symbols(const struct elf_file *file)
{
	return nr_entries(file->symtab) + nr_entries(file->dynsym);
}

/* Nothing is inside wherever it is said to be: linkers put .bss that lies alone behind the end. */
static bool is_inside(const struct elf_file *file, u64 offset, u64 size)
{
	return !size || (offset <= file->size && size <= file->size - offset);
}

/* libelf takes a table that is cut off for none. */
static bool has_whole_tables(const struct elf_file *file)
{
	const GElf_Ehdr *header = &file->header;
	u64 nr = MAX((u64)header->e_shnum, (u64)file->sections.nr);

	return (!header->e_shoff || nr) &&
	       is_inside(file, header->e_shoff, header->e_shentsize * nr) &&
	       is_inside(file, header->e_phoff, (u64)header->e_phentsize * header->e_phnum);
}

bool elf_file_is_whole(const struct elf_file *file)
{
	if (!has_whole_tables(file))
		return false;
	for (size_t i = 0; i < file->sections.nr; i++) {
		const GElf_Shdr *header = &file->sections.data[i].header;

		if (i && header->sh_type != SHT_NOBITS && header->sh_type != SHT_NULL &&
		    !is_inside(file, header->sh_offset, header->sh_size))
			return false;
	}
	/* What is split off keeps the segments of the file that it was in. */
	for (size_t i = 0; i < file->loads.nr && !elf_file_is_debug(file); i++)
		if (!is_inside(file, file->loads.data[i].p_offset, file->loads.data[i].p_filesz))
			return false;
	return true;
}

bool elf_file_is_partial(const struct elf_file *file)
{
	return elf_section(file, ELF_SYNTH_PARTIAL_SECTION);
}

bool elf_file_is_debug(const struct elf_file *file)
{
	const struct section *text = elf_section(file, ".text");

	return text && text->header.sh_type == SHT_NOBITS && !elf_file_is_partial(file);
}

bool elf_file_is_relocatable(const struct elf_file *file)
{
	return file->header.e_type == ET_REL;
}

u64 elf_file_text_offset(const struct elf_file *file)
{
	const struct section *text = elf_section(file, ".text");

	return text ? text->header.sh_offset : 0;
}

static bool is_swapped(const struct elf_file *file)
{
	return file->header.e_ident[EI_DATA] != ELFDATA2LSB;
}

#define MAX_NOTES 64	/* sections or segments of them that are looked at */

static int notes_in_sections(const struct elf_file *file, struct build_id *ret)
{
	unsigned int notes = 0;

	for (size_t i = 0; i < file->sections.nr && notes < MAX_NOTES; i++) {
		const struct section *section = &file->sections.data[i];
		Elf_Data *data;

		if (section->header.sh_type != SHT_NOTE)
			continue;
		notes++;
		data = elf_rawdata(section->scn, NULL);
		if (data && data->d_buf &&
		    !build_id_from_notes(data->d_buf, data->d_size, is_swapped(file), ret))
			return 0;
	}
	return -ENOENT;
}

static int notes_in_segments(const struct elf_file *file, struct build_id *ret)
{
	size_t nr;

	if (elf_getphdrnum(file->elf, &nr))
		return -EBADMSG;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr segment;
		size_t size;
		const char *image;

		if (!gelf_getphdr(file->elf, i, &segment) || segment.p_type != PT_NOTE)
			continue;
		image = elf_rawfile(file->elf, &size);
		if (!image || segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
			continue;
		if (!build_id_from_notes(image + segment.p_offset, segment.p_filesz,
					 is_swapped(file), ret))
			return 0;
	}
	return -ENOENT;
}

int elf_file_build_id(const struct elf_file *file, struct build_id *ret)
{
	int err = notes_in_sections(file, ret);

	return err == -ENOENT ? notes_in_segments(file, ret) : err;
}

int elf_file_debuglink(const struct elf_file *file, char *ret_name, size_t size)
{
	const struct section *section = elf_section(file, ".gnu_debuglink");
	Elf_Data *data = section ? elf_rawdata(section->scn, NULL) : NULL;
	const char *end;

	if (!data || !data->d_buf)
		return -ENOENT;
	end = memchr(data->d_buf, '\0', data->d_size);
	if (!end || end == data->d_buf || memchr(data->d_buf, '/', end - (char *)data->d_buf))
		return -EBADMSG;
	if (snprintf(ret_name, size, "%s", (const char *)data->d_buf) >= (int)size)
		return -ENAMETOOLONG;
	return 0;
}

/* One xz stream, in steps so that no size in it has to be believed. */
static int unpack(const void *data, size_t size, struct strbuf *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret status = lzma_stream_decoder(&stream, MAX_DEBUGDATA, 0);
	int err = 0;

	stream.next_in = data;
	stream.avail_in = size;
	while (!err && status == LZMA_OK) {
		if (out->len > MAX_DEBUGDATA)
			err = -E2BIG;
		else
			err = strbuf_grow(out, MAX(out->len, (size_t)1 << 16));
		if (err)
			break;
		stream.next_out = (u8 *)out->data + out->len;
		stream.avail_out = out->alloc - out->len;
		status = lzma_code(&stream, LZMA_FINISH);
		out->len = (char *)stream.next_out - out->data;
	}
	lzma_end(&stream);
	if (status == LZMA_MEMLIMIT_ERROR)
		return -E2BIG;
	if (status == LZMA_MEM_ERROR)
		return -ENOMEM;
	return err ? err : status == LZMA_STREAM_END ? 0 : -EBADMSG;
}

int elf_file_open_debugdata(const struct elf_file *file, struct elf_file **ret)
{
	const struct section *section = elf_section(file, ".gnu_debugdata");
	Elf_Data *data = section ? elf_rawdata(section->scn, NULL) : NULL;
	_cleanup_strbuf_ struct strbuf unpacked = STRBUF_INIT;
	size_t size;
	int err;

	if (!data || !data->d_buf)
		return -ENOENT;
	err = unpack(data->d_buf, data->d_size, &unpacked);
	if (err)
		return err;
	size = unpacked.len;
	err = elf_file_open_owned(unpacked.data, size, ret);
	if (!err)
		strbuf_steal(&unpacked, NULL);
	return err;
}
