/* SPDX-License-Identifier: GPL-2.0-only */
/* A guest's ELF file, given by its owner: trusted as much as any file of a user's. */
#include "guest/elf-kernel.h"

#include <gelf.h>
#include <string.h>

#include "base/hashmap.h"
#include "symbols/elf-file.h"
#include "unwind/cfi-table.h"

#define NR_LOOKS 64	/* places of the code that are compared */
#define LOOK_BYTES 32

struct elf_kernel {
	struct elf_file *file;
	char *name;
	u64 first;		/* address of the first segment, as linked */
	u64 code, code_end;	/* of the largest segment with code, likewise; in the file */
	u64 code_offset;	/* of it in the file */
	u64 text_end;		/* of the last one */
	u64 shift;		/* from there to where it lies */
	struct build_id build_id;
	struct symtab *symbols;
	struct cfi_table *rules;	/* NULL: none */
};

static int read_segments(struct elf_kernel *elf)
{
	Elf *handle = elf_file_elf(elf->file);
	size_t nr, size;
	bool any = false;

	if (!elf_file_bytes(elf->file, &size) || elf_getphdrnum(handle, &nr))
		return -EBADMSG;
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(handle, i, &segment) || segment.p_type != PT_LOAD)
			continue;
		elf->first = any ? MIN(elf->first, segment.p_vaddr) : segment.p_vaddr;
		any = true;
		if (!(segment.p_flags & PF_X) || segment.p_offset > size ||
		    segment.p_filesz > size - segment.p_offset)
			continue;
		elf->text_end = MAX(elf->text_end, segment.p_vaddr + segment.p_memsz);
		if (segment.p_filesz <= elf->code_end - elf->code)
			continue;
		elf->code = segment.p_vaddr;
		elf->code_end = segment.p_vaddr + segment.p_filesz;
		elf->code_offset = segment.p_offset;
	}
	return elf->code_end > elf->code ? 0 : -EBADMSG;
}

/* One that stays the same for this file: symbols are kept by it. */
static void make_build_id(struct elf_kernel *elf)
{
	size_t size;
	const void *bytes = elf_file_bytes(elf->file, &size);
	u64 words[2] = { hash_bytes(bytes, size) };

	words[1] = hash_combine(words[0], size);
	elf->build_id = build_id_make((const u8 *)words, sizeof(words));
}

/* As linked, and then moved. */
static int read_symbols(struct elf_kernel *elf)
{
	_cleanup_(symtab_destroy) struct symtab *linked = NULL, *moved = NULL;
	int err = symtab_create(&linked);

	if (!err)
		err = symtab_create(&moved);
	if (!err)
		err = elf_file_add_symbols(elf->file, NULL, linked);
	if (!err)
		err = symtab_finish(linked);
	for (size_t i = 0; !err && i < symtab_nr(linked); i++) {
		const struct symbol *symbol = symtab_at(linked, i);

		err = symtab_add(moved, symbol->start + elf->shift, symbol->end - symbol->start,
				 symbol->type, symtab_name(linked, symbol));
	}
	if (!err)
		err = symtab_finish(moved);
	if (!err)
		elf->symbols = TAKE_PTR(moved);
	return err;
}

static void read_rules(struct elf_kernel *elf)
{
	size_t size;
	void *bytes = elf_file_bytes(elf->file, &size);

	/* Without them it goes by frame pointers. */
	if (cfi_table_from_memory(bytes, size, true, &elf->rules))
		elf->rules = NULL;
}

int elf_kernel_open(const char *path, u64 address, struct elf_kernel **ret)
{
	_cleanup_(elf_kernel_close) struct elf_kernel *elf = calloc(1, sizeof(*elf));
	const char *slash = strrchr(path, '/');
	int err;

	if (!elf)
		return -ENOMEM;
	elf->name = strdup(slash ? slash + 1 : path);
	if (!elf->name)
		return -ENOMEM;
	err = elf_file_open_copy(path, &elf->file);
	if (!err)
		err = read_segments(elf);
	if (err)
		return err;
	elf->shift = address == ELF_KERNEL_AS_LINKED ? 0 : address - elf->first;
	if (elf_file_build_id(elf->file, &elf->build_id))
		make_build_id(elf);
	err = read_symbols(elf);
	if (err)
		return err;
	read_rules(elf);
	*ret = TAKE_PTR(elf);
	return 0;
}

void elf_kernel_close(struct elf_kernel *elf)
{
	if (!elf)
		return;
	cfi_table_destroy(elf->rules);
	symtab_destroy(elf->symbols);
	elf_file_close(elf->file);
	free(elf->name);
	free(elf);
}

const char *elf_kernel_name(const struct elf_kernel *elf)
{
	return elf->name;
}

u64 elf_kernel_start(const struct elf_kernel *elf)
{
	return elf->first + elf->shift;
}

u64 elf_kernel_text_end(const struct elf_kernel *elf)
{
	return elf->text_end + elf->shift;
}

const struct build_id *elf_kernel_build_id(const struct elf_kernel *elf)
{
	return &elf->build_id;
}

const struct symtab *elf_kernel_symbols(const struct elf_kernel *elf)
{
	return elf->symbols;
}

const struct symbol *elf_kernel_reference(const struct elf_kernel *elf)
{
	for (size_t i = 0; i < symtab_nr(elf->symbols); i++) {
		const struct symbol *symbol = symtab_at(elf->symbols, i);

		if (symbol_type_is_code(symbol->type))
			return symbol;
	}
	return NULL;
}

int elf_kernel_find_row(const struct elf_kernel *elf, gva_t pc, struct cfi_row *ret_row)
{
	return elf->rules ? cfi_table_find(elf->rules, pc.addr - elf->shift, ret_row) : -ENOENT;
}

int elf_kernel_check(const struct elf_kernel *elf, const struct mmu_space *space,
		     const struct mem_reader *mem)
{
	u64 length = elf->code_end - elf->code, step = MAX(length / NR_LOOKS, (u64)LOOK_BYTES);
	const u8 *bytes = elf_file_bytes(elf->file, &(size_t){ 0 });
	unsigned int read = 0, same = 0;

	for (u64 at = 0; at + LOOK_BYTES <= length; at += step) {
		u8 there[LOOK_BYTES];

		if (mmu_read(space, mem, GVA(elf->code + elf->shift + at), there, sizeof(there)))
			continue;
		read++;
		same += !memcmp(there, bytes + elf->code_offset + at, sizeof(there));
	}
	if (!read)
		return -EFAULT;
	return same * 2 >= read ? 0 : -EBADMSG;
}
