/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ORC, the unwinding tables of x86-64 Linux kernels: sorted addresses and one entry for each.
 */
#ifndef UNWIND_ORC_H
#define UNWIND_ORC_H

#include "base/types.h"
#include "unwind/cfi.h"

/* The three generations of struct orc_entry. */
enum orc_format {
	ORC_FORMAT_UNKNOWN,
	ORC_FORMAT_END,		/* 4.14: type 2 bits, end */
	ORC_FORMAT_SIGNAL,	/* 6.3, ffb1b4a41016 "x86/unwind/orc: Add 'signal' field …" */
	ORC_FORMAT_TYPES,	/* 6.4, fb799447ae29 "x86,objtool: Split UNWIND_HINT_EMPTY …" */
};

/* A copy of one image's tables; guest bytes, so nothing in it is trusted. */
struct orc_table {
	enum orc_format format;
	u64 ip_base;	/* guest address of ip[0]: the entries are relative to their own place */
	s32 *ip;	/* owned */
	u8 *entries;	/* owned, 6 bytes each */
	u32 nr;
};

#define ORC_ENTRY_SIZE 6
#define ORC_MAX_ENTRIES (4U << 20)

/*
 * Takes copies of @nr addresses (@ip, 4 bytes each) and entries. -EBADMSG when the addresses are
 * not ascending, -E2BIG over ORC_MAX_ENTRIES.
 */
int orc_table_create(enum orc_format format, u64 ip_base, const void *ip, const void *entries,
		     u32 nr, struct orc_table **ret);
void orc_table_destroy(struct orc_table *table);

/* -ENOENT when @pc is outside or its entry says "undefined"; -EBADMSG for a malformed entry. */
int orc_table_find(const struct orc_table *table, gva_t pc, struct cfi_row *ret_row);

#endif
