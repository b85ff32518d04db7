/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF's records of either word size as those of 64 bits. */
#include "objfile/elf-widen.h"

#include <string.h>

void elf_widen_ehdr(bool narrow, const void *bytes, Elf64_Ehdr *ret)
{
	Elf32_Ehdr header;

	if (!narrow) {
		memcpy(ret, bytes, sizeof(*ret));
		return;
	}
	memcpy(&header, bytes, sizeof(header));
	*ret = (Elf64_Ehdr){
		.e_type = header.e_type,
		.e_machine = header.e_machine,
		.e_version = header.e_version,
		.e_entry = header.e_entry,
		.e_phoff = header.e_phoff,
		.e_shoff = header.e_shoff,
		.e_flags = header.e_flags,
		.e_ehsize = header.e_ehsize,
		.e_phentsize = header.e_phentsize,
		.e_phnum = header.e_phnum,
		.e_shentsize = header.e_shentsize,
		.e_shnum = header.e_shnum,
		.e_shstrndx = header.e_shstrndx,
	};
	memcpy(ret->e_ident, header.e_ident, EI_NIDENT);
}

void elf_widen_phdr(bool narrow, const void *bytes, Elf64_Phdr *ret)
{
	Elf32_Phdr segment;

	if (!narrow) {
		memcpy(ret, bytes, sizeof(*ret));
		return;
	}
	memcpy(&segment, bytes, sizeof(segment));
	*ret = (Elf64_Phdr){
		.p_type = segment.p_type,
		.p_flags = segment.p_flags,
		.p_offset = segment.p_offset,
		.p_vaddr = segment.p_vaddr,
		.p_paddr = segment.p_paddr,
		.p_filesz = segment.p_filesz,
		.p_memsz = segment.p_memsz,
		.p_align = segment.p_align,
	};
}

void elf_widen_shdr(bool narrow, const void *bytes, Elf64_Shdr *ret)
{
	Elf32_Shdr section;

	if (!narrow) {
		memcpy(ret, bytes, sizeof(*ret));
		return;
	}
	memcpy(&section, bytes, sizeof(section));
	*ret = (Elf64_Shdr){
		.sh_name = section.sh_name,
		.sh_type = section.sh_type,
		.sh_flags = section.sh_flags,
		.sh_addr = section.sh_addr,
		.sh_offset = section.sh_offset,
		.sh_size = section.sh_size,
		.sh_link = section.sh_link,
		.sh_info = section.sh_info,
		.sh_addralign = section.sh_addralign,
		.sh_entsize = section.sh_entsize,
	};
}

void elf_widen_sym(bool narrow, const void *bytes, Elf64_Sym *ret)
{
	Elf32_Sym symbol;

	if (!narrow) {
		memcpy(ret, bytes, sizeof(*ret));
		return;
	}
	memcpy(&symbol, bytes, sizeof(symbol));
	*ret = (Elf64_Sym){
		.st_name = symbol.st_name,
		.st_info = symbol.st_info,
		.st_other = symbol.st_other,
		.st_shndx = symbol.st_shndx,
		.st_value = symbol.st_value,
		.st_size = symbol.st_size,
	};
}

void elf_widen_dyn(bool narrow, const void *bytes, Elf64_Dyn *ret)
{
	Elf32_Dyn entry;

	if (!narrow) {
		memcpy(ret, bytes, sizeof(*ret));
		return;
	}
	memcpy(&entry, bytes, sizeof(entry));
	ret->d_tag = entry.d_tag;
	ret->d_un.d_val = entry.d_un.d_val;
}
