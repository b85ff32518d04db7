/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ELF file that a guest runs, as its owner says: another operating system's kernel or a
 * unikernel. Where it lies, what its functions are called, and how they are unwound.
 */
#ifndef GUEST_ELF_KERNEL_H
#define GUEST_ELF_KERNEL_H

#include "base/types.h"
#include "mem/reader.h"
#include "mmu/translate.h"
#include "objfile/build-id.h"
#include "symbols/symtab.h"
#include "unwind/cfi.h"

#define ELF_KERNEL_AS_LINKED UINT64_MAX

struct elf_kernel;

/*
 * Reads the file @path. It lies where its program headers say (ELF_KERNEL_AS_LINKED), or with the
 * first of its segments at @address. -EBADMSG: not an ELF file, or without code.
 */
int elf_kernel_open(const char *path, u64 address, struct elf_kernel **ret);
void elf_kernel_close(struct elf_kernel *elf);
DEFINE_CLEANUP(struct elf_kernel *, elf_kernel_close)

/* The file's name without folders. */
const char *elf_kernel_name(const struct elf_kernel *elf);

/* Guest addresses: the first segment's start, the end of the last one with code. */
u64 elf_kernel_start(const struct elf_kernel *elf);
u64 elf_kernel_text_end(const struct elf_kernel *elf);

/* The file's own, else one made of its bytes. */
const struct build_id *elf_kernel_build_id(const struct elf_kernel *elf);

/* At their addresses in the guest. */
const struct symtab *elf_kernel_symbols(const struct elf_kernel *elf);

/* Its first function, by which a recording's readers tell where it was; NULL: it has no names. */
const struct symbol *elf_kernel_reference(const struct elf_kernel *elf);

/* unwind_ops.find_user_row(): by .eh_frame and its like; -ENOENT where there is none. */
int elf_kernel_find_row(const struct elf_kernel *elf, gva_t pc, struct cfi_row *ret_row);

/*
 * Whether the guest's memory holds the file's code there: 0, -EBADMSG when it does not, -EFAULT
 * when too little of it can be read. Code that rewrites itself may differ in places.
 */
int elf_kernel_check(const struct elf_kernel *elf, const struct mmu_space *space,
		     const struct mem_reader *mem);

#endif
