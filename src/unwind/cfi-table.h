/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The unwinding rules of one object of user space (a program, a shared library, the vDSO): its
 * .eh_frame and .debug_frame, and .sframe where those have nothing, compiled into sorted addresses
 * with a rule each.
 *
 * Addresses are the object's own, as in its program headers (p_vaddr), before it is loaded
 * anywhere; cfi_table_address() makes one of an offset in the file, which is what a mapping tells.
 */
#ifndef UNWIND_CFI_TABLE_H
#define UNWIND_CFI_TABLE_H

#include "objfile/file-image.h"
#include "unwind/block-index.h"
#include "unwind/cfi.h"
#include "unwind/cfi-object.h"

#define CFI_MAX_FDES (2U << 20)
#define CFI_MAX_ROWS (16U << 20)
#define CFI_MAX_WORK (64ULL << 20)	/* instructions run, and as much for each record read */

/* Beside indexes of .rules. */
#define CFI_RULE_NONE UINT32_MAX		/* no function that has rules is here */
#define CFI_RULE_MISSING (UINT32_MAX - 1)	/* whether one is, or which, lies in a hole */

/*
 * Immutable once made, so threads may share it. Row i covers the addresses from start + offset[i]
 * up to the next row's; 8 bytes a row. Rules are few: each different one is kept once.
 */
struct cfi_table {
	u64 start;
	u32 *offset;			/* owned, ascending */
	u32 *rule;			/* owned: index of .rules, or CFI_RULE_* */
	u32 nr;				/* 0: nothing is known, or there is nothing */
	struct cfi_row *rules;		/* owned */
	u32 nr_rules;
	struct block_index index;	/* of .offset, when there are any */
	struct cfi_load loads[CFI_MAX_LOADS];
	unsigned int nr_loads;
	bool incomplete;		/* there may be functions that are not known of */

	/* Functions. */
	u32 nr_functions;		/* with rules */
	u32 nr_missing;			/* known to be there, rules in a hole */
	u32 nr_bad;			/* malformed, or not known how to read */
};

/*
 * Of a file's known bytes, hostile ones. -ENOENT when it has no call frame information (a program
 * without, or of none that is known); -ENODATA when the file's head, or where the information is,
 * lies in a hole; -EBADMSG for no ELF file, -EOPNOTSUPP for another machine's; -E2BIG over a limit.
 */
int cfi_table_from_image(const struct file_image *image, struct cfi_table **ret);

/* Of a whole file on disk, which may be a debug file. Packed sections are unpacked. As above. */
int cfi_table_from_file(int fd, struct cfi_table **ret);

/* The same for a file's bytes. Packed sections are unpacked only when @trusted: by libelf. */
int cfi_table_from_memory(void *bytes, size_t size, bool trusted, struct cfi_table **ret);

void cfi_table_destroy(struct cfi_table *table);
DEFINE_CLEANUP(struct cfi_table *, cfi_table_destroy)

/*
 * The rule at @address: of an interrupted instruction, or one before a return address. -ENOENT:
 * none covers it; -ENODATA: that is not known, for a hole.
 */
int cfi_table_find(const struct cfi_table *table, u64 address, struct cfi_row *ret_row);

/* The address of what is at @offset in the file, in an executable segment. -ENOENT. */
int cfi_table_address(const struct cfi_table *table, u64 offset, u64 *ret_address);

/* Bytes of memory that it takes. */
size_t cfi_table_size(const struct cfi_table *table);

#endif
