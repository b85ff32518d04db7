/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols and build ids of ELF files, of either byte order and word size. The files may come from
 * a guest: all that they claim is checked.
 */
#ifndef SYMBOLS_ELF_FILE_H
#define SYMBOLS_ELF_FILE_H

#include <libelf.h>

#include "base/types.h"
#include "objfile/build-id.h"
#include "symbols/symtab.h"

struct elf_file;

/* -EBADMSG: not an ELF file; -E2BIG: larger than any that is worth reading. */
int elf_file_open(const char *path, struct elf_file **ret);

/*
 * The same with all of it read into memory: the file above is a mapping, and who makes the file
 * shorter meanwhile ends this process (SIGBUS). -E2BIG over ELF_FILE_MAX_COPY; -ESTALE: it has
 * become shorter already.
 */
#define ELF_FILE_MAX_COPY (256ULL << 20)
int elf_file_open_copy(const char *path, struct elf_file **ret);

/* The same for bytes in memory, which must outlive it. */
int elf_file_open_memory(void *image, size_t size, struct elf_file **ret);
/* The same for bytes from malloc(), which the file takes over unless it fails. */
int elf_file_open_owned(void *image, size_t size, struct elf_file **ret);
void elf_file_close(struct elf_file *file);

/* All bytes of the file, private memory that lives as long as it does. */
void *elf_file_bytes(const struct elf_file *file, size_t *ret_size);
DEFINE_CLEANUP(struct elf_file *, elf_file_close)

/* From a section of notes or from a segment; -ENOENT when there is none. */
int elf_file_build_id(const struct elf_file *file, struct build_id *ret);

/* For libdw; the file's. */
Elf *elf_file_elf(const struct elf_file *file);

/* Has DWARF: .debug_info, packed or not. */
bool elf_file_has_dwarf(const struct elf_file *file);

/* The address of file offset @offset by the segments; -ENOENT: none covers it. */
int elf_file_address(const struct elf_file *file, u64 offset, u64 *ret);

/* Has .symtab; has .dynsym with contents, as a file that is run and no debug file has. */
bool elf_file_has_symtab(const struct elf_file *file);
bool elf_file_has_dynsym(const struct elf_file *file);

/* How many entries .symtab and .dynsym have together. */
size_t elf_file_nr_symbols(const struct elf_file *file);

/* Its headers, and all that they say is in the file, are in the file. */
bool elf_file_is_whole(const struct elf_file *file);

/* Made by elf_synth_program() of the known parts of a file. */
bool elf_file_is_partial(const struct elf_file *file);

/* Split off another file: the code is elsewhere, what debuggers read is here. */
bool elf_file_is_debug(const struct elf_file *file);

/* Relocatable, as kernel modules are: addresses are offsets in .text. */
bool elf_file_is_relocatable(const struct elf_file *file);

/* File offset of .text; 0 when there is none. */
u64 elf_file_text_offset(const struct elf_file *file);

/* The file name in .gnu_debuglink, without folders; -ENOENT when there is none. */
int elf_file_debuglink(const struct elf_file *file, char *ret_name, size_t size);

/*
 * The file within .gnu_debugdata: what distributions leave of .symtab when they strip, packed with
 * xz. -ENOENT: there is none; -EBADMSG: it cannot be unpacked; -E2BIG: it grows beyond any real one
 * or asks for too much memory. It does not need @file any more.
 */
int elf_file_open_debugdata(const struct elf_file *file, struct elf_file **ret);

/*
 * Adds the symbols of @file (.symtab and .dynsym) to @symtab at their *file offsets*, which is how
 * perf addresses objects: mapping offset + (ip - mapping start). Segments are looked up in
 * @runtime, which is @file or the file that @file has the debug information of; NULL: the addresses
 * stay as they are. Functions, data and labels are taken as perf takes them; of a relocatable file
 * those in .text only.
 */
int elf_file_add_symbols(const struct elf_file *file, const struct elf_file *runtime,
			 struct symtab *symtab);

/*
 * Adds "name@plt" for each entry of the procedure linkage table, of both where there are two;
 * "@plt" where the name is not known.
 */
int elf_file_add_plt(const struct elf_file *file, struct symtab *symtab);

#endif
