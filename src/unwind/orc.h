/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ORC, the unwinding tables of x86-64 Linux kernels: sorted addresses and one entry for each.
 */
#ifndef UNWIND_ORC_H
#define UNWIND_ORC_H

#include "base/types.h"
#include "unwind/block-index.h"
#include "unwind/cfi.h"

/* The generations of struct orc_entry: the flags' upper byte differs, in the last the lower. */
enum orc_format {
	ORC_FORMAT_UNKNOWN,
	ORC_FORMAT_END,		/* 4.18, d31a580266ee "x86/unwind/orc: Detect the end …" */
	ORC_FORMAT_SIGNAL,	/* 6.3, ffb1b4a41016 "x86/unwind/orc: Add 'signal' field …" */
	ORC_FORMAT_TYPES,	/* 6.4, fb799447ae29 "x86,objtool: Split UNWIND_HINT_EMPTY …" */
	ORC_FORMAT_REORDERED,	/* 7.1, 1735858caa4b "objtool/x86: Reorder ORC register …" */
};

/*
 * A copy of one image's tables; guest bytes, so nothing in it is trusted. Entry i covers the
 * addresses from start + offset[i] up to the next entry's, the last one all that follow.
 */
struct orc_table {
	enum orc_format format;
	u64 start;	/* address of the first entry */
	u32 *offset;	/* owned; ascending, of one address the last entry counts */
	u8 *entries;	/* owned, ORC_ENTRY_SIZE each */
	u32 nr;
	struct block_index index;	/* of .offset */
};

#define ORC_ENTRY_SIZE 6
#define ORC_MAX_ENTRIES (4U << 20)

/*
 * Takes copies of @nr addresses (@ip, 4 bytes each, relative to their own place, the first at guest
 * address @ip_base) and entries. -EBADMSG when there are none, they are not ascending or span more
 * than 4 GiB; -EOPNOTSUPP for an unknown format; -E2BIG over ORC_MAX_ENTRIES.
 */
int orc_table_create(enum orc_format format, u64 ip_base, const void *ip, const void *entries,
		     u32 nr, struct orc_table **ret);
void orc_table_destroy(struct orc_table *table);
DEFINE_CLEANUP(struct orc_table *, orc_table_destroy)

/*
 * -ENOENT when @pc is before the first entry; -EBADMSG for a malformed entry. What the last entry
 * covers has no end here: the caller knows where the image ends.
 */
int orc_table_find(const struct orc_table *table, gva_t pc, struct cfi_row *ret_row);

/* The rule in one entry: -EBADMSG when malformed, -EOPNOTSUPP for an unknown format. */
int orc_entry_decode(enum orc_format format, const u8 *entry, struct cfi_row *ret_row);

#endif
