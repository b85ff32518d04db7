/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kallsyms: the symbol table that a Linux kernel carries in its own read-only data, found there by
 * its structure alone and decoded. Formats of 4.x to 7.x.
 */
#ifndef GUEST_KALLSYMS_H
#define GUEST_KALLSYMS_H

#include "base/types.h"

#define KALLSYMS_MAX_SYMBOLS (4U << 20)
#define KALLSYMS_NAME_MAX 511	/* KSYM_NAME_LEN - 1 since 6.1; 127 before */

#define KALLSYMS_SLACK 8

/* How the table says where a symbol is. */
enum kallsyms_addressing {
	KALLSYMS_ABSOLUTE,	/* 64-bit addresses */
	KALLSYMS_BASE,		/* 32-bit unsigned offsets from a base address */
	KALLSYMS_BASE_PERCPU,	/* negative: from the base, non-negative: absolute (per-CPU) */
	KALLSYMS_PLACE,		/* 32-bit signed offsets from the entry's own place */
};

/* One symbol. The same for every load address of the kernel. */
struct ksym {
	u64 value;	/* offset from the image's start, or the value itself when absolute */
	u32 name;	/* offset into the strings */
	u8 type;	/* nm's letter */
	u8 absolute;	/* 1: does not move with the kernel */
	u16 pad;
};

struct kallsyms {
	struct ksym *symbols;	/* in the table's order: ascending addresses */
	char *strings;		/* ends with a NUL and KALLSYMS_SLACK zeros more */
	size_t strings_size;	/* without those */
	/*
	 * The bytes that it was made of, as offsets into the image. Relocation does not touch them,
	 * but for KALLSYMS_ABSOLUTE's addresses.
	 */
	u64 names_start, names_end;
	u64 addresses_start, addresses_end;
	u32 nr;
	u8 addressing;		/* enum kallsyms_addressing */
	u8 long_lengths;	/* 1: lengths of compressed names are ULEB128 */
	u8 marker_size;		/* bytes of a marker, 4 or 8 */
	u8 addresses_last;	/* 1: the addresses follow the token index */
};

/*
 * Finds and decodes the table in @image, the @size bytes of a kernel image that is loaded at
 * @start (a multiple of 2 MiB, _text). -ENOENT when no table is there that holds together; the
 * work is bounded whatever the bytes are.
 */
int kallsyms_parse(const void *image, size_t size, u64 start, struct kallsyms **ret);
void kallsyms_destroy(struct kallsyms *kallsyms);
DEFINE_CLEANUP(struct kallsyms *, kallsyms_destroy)

static inline const char *kallsyms_name(const struct kallsyms *kallsyms, const struct ksym *ksym)
{
	return kallsyms->strings + ksym->name;
}

/* The address of @ksym in a kernel whose image starts at @start. */
static inline u64 kallsyms_address(const struct ksym *ksym, u64 start)
{
	return ksym->absolute ? ksym->value : start + ksym->value;
}

/* The first symbol of that name, or NULL. Goes through the whole table. */
const struct ksym *kallsyms_find(const struct kallsyms *kallsyms, const char *name);

/* The same for each of @nr names at once, in one pass. At most KALLSYMS_FIND_MAX. */
#define KALLSYMS_FIND_MAX 64
void kallsyms_find_many(const struct kallsyms *kallsyms, const char *const *names, size_t nr,
			const struct ksym **ret);

#endif
