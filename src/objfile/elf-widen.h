/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ELF's records of either word size, as those of 64 bits: what is read from a file of 32 bits
 * (ELFCLASS32) is widened. Little endian, as this machine is.
 */
#ifndef OBJFILE_ELF_WIDEN_H
#define OBJFILE_ELF_WIDEN_H

#include <elf.h>

#include "base/types.h"

/* Bytes that every ELF file's header has at least: that of 32 bits. */
#define ELF_HEADER_MIN sizeof(Elf32_Ehdr)

/* Whether the file that begins with @ident (EI_NIDENT bytes) has 32 bits. */
static inline bool elf_is_narrow(const u8 *ident)
{
	return ident[EI_CLASS] == ELFCLASS32;
}

/* Sizes in a file. */
#define ELF_SIZE(narrow, type) ((narrow) ? sizeof(Elf32_##type) : sizeof(Elf64_##type))

/* @bytes: as many as ELF_SIZE() says, at any alignment. */
void elf_widen_ehdr(bool narrow, const void *bytes, Elf64_Ehdr *ret);
void elf_widen_phdr(bool narrow, const void *bytes, Elf64_Phdr *ret);
void elf_widen_shdr(bool narrow, const void *bytes, Elf64_Shdr *ret);
void elf_widen_sym(bool narrow, const void *bytes, Elf64_Sym *ret);
void elf_widen_dyn(bool narrow, const void *bytes, Elf64_Dyn *ret);

#endif
