/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sorted symbol table of one object: built once, then read by any number of threads.
 */
#ifndef SYMBOLS_SYMTAB_H
#define SYMBOLS_SYMTAB_H

#include "base/types.h"

struct symbol {
	u64 start;	/* first address */
	u64 end;	/* one past the last; start of the next when the size was not known */
	u32 name;	/* offset into the table's names */
	u8 type;	/* nm's letter: 'T', 't', 'D', 'A' … */
	u8 flags;
};

struct symtab;

int symtab_create(struct symtab **ret);
void symtab_destroy(struct symtab *symtab);

/* @size 0: up to the next symbol. Names are copied; only up to 511 bytes of one are kept. */
int symtab_add(struct symtab *symtab, u64 start, u64 size, u8 type, const char *name);

/* Sorts, fills in ends, drops exact duplicates (global before local, longer names last). */
int symtab_finish(struct symtab *symtab);

/* The symbol that covers @addr, code preferred, or NULL. */
const struct symbol *symtab_find(const struct symtab *symtab, u64 addr);

/* First symbol of that name, or NULL; data symbols too. Hash index made on first use. */
const struct symbol *symtab_find_name(const struct symtab *symtab, const char *name);

const char *symtab_name(const struct symtab *symtab, const struct symbol *symbol);
size_t symtab_nr(const struct symtab *symtab);
const struct symbol *symtab_at(const struct symtab *symtab, size_t i);

#endif
