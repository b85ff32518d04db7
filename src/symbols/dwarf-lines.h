/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source lines and inlined functions of addresses, from DWARF, through libdw. It is asked for by
 * hand only: libdw reads files of guests with less care than what else parses them here. The work
 * for an address is bounded by the size of one compilation unit.
 */
#ifndef SYMBOLS_DWARF_LINES_H
#define SYMBOLS_DWARF_LINES_H

#include <libelf.h>

#include "base/types.h"

#define DWARF_LINES_MAX_INLINES 32	/* functions inlined into each other at one address */

struct dwarf_lines;

/* What is at an address. The strings live as long as the struct dwarf_lines. */
struct dwarf_line {
	const char *file;	/* without folders; NULL: not known */
	int line;
};

struct dwarf_inline {
	const char *function;	/* as the linker names it; else as the source does */
};

/* @elf must outlive it. -ENOENT: no DWARF in it; -E2BIG: more units than any program has. */
int dwarf_lines_create(Elf *elf, struct dwarf_lines **ret);
void dwarf_lines_destroy(struct dwarf_lines *lines);
DEFINE_CLEANUP(struct dwarf_lines *, dwarf_lines_destroy)

/* The line of address @addr, as the file counts addresses. -ENOENT. */
int dwarf_lines_find(struct dwarf_lines *lines, u64 addr, struct dwarf_line *ret);

/*
 * The functions that were inlined there, innermost first, without the one that they are in, at
 * most DWARF_LINES_MAX_INLINES. Returns how many.
 */
size_t dwarf_lines_inlines(struct dwarf_lines *lines, u64 addr, struct dwarf_inline *ret);

#endif
