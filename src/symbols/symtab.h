/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sorted symbol table of one object: built once, then read by any number of threads.
 */
#ifndef SYMBOLS_SYMTAB_H
#define SYMBOLS_SYMTAB_H

#include "base/types.h"

/* Bytes of a name that are kept. Templates make long ones, and what is cut cannot be demangled. */
#define SYMBOL_NAME_MAX 8191

enum symbol_flags {
	SYMBOL_F_SIZED = 1 << 0,	/* the object said how long it is; .end is not a guess */
};

struct symbol {
	u64 start;	/* first address */
	u64 end;	/* one past the last; start of the next when the size was not known */
	u32 name;	/* offset into the table's names */
	u8 type;	/* nm's letter: 'T', 't', 'D', 'A' … */
	u8 flags;	/* enum symbol_flags */
};

struct symtab;

int symtab_create(struct symtab **ret);
void symtab_destroy(struct symtab *symtab);
DEFINE_CLEANUP(struct symtab *, symtab_destroy)

/*
 * @size 0: up to the next symbol. Names are copied; only up to SYMBOL_NAME_MAX bytes of one are
 * kept, and an empty one is -EINVAL. -E2BIG: more names than a table holds, which is 512 MiB.
 */
int symtab_add(struct symtab *symtab, u64 start, u64 size, u8 type, const char *name);

/* The type of an ELF symbol of @binding (STB_*), code or data. */
u8 symtab_letter(unsigned int binding, bool code);

/* Before symtab_finish(): names are to be compared as demangled. They are kept as they are. */
void symtab_rank_demangled(struct symtab *symtab);

/*
 * Sorts by address, fills in ends, drops what is there twice (same address and name). Of several
 * names of one address the best comes first, by perf 6.1's rules: code; sized, or the last that was
 * added; not weak; global; fewer leading underscores; longer. Nothing can be added afterwards.
 */
int symtab_finish(struct symtab *symtab);

/*
 * The symbol that covers @addr, or NULL: code if any does, else data; of nested ones the
 * innermost; of several at one address the best.
 */
const struct symbol *symtab_find(const struct symtab *symtab, u64 addr);

/* First symbol of that name, or NULL; data symbols too. Hash index made on first use. */
const struct symbol *symtab_find_name(const struct symtab *symtab, const char *name);

/* Valid as long as the table, and the same pointer for the same symbol. */
const char *symtab_name(const struct symtab *symtab, const struct symbol *symbol);

/* The symbols in order of their addresses. */
size_t symtab_nr(const struct symtab *symtab);
const struct symbol *symtab_at(const struct symtab *symtab, size_t i);

/* Bytes of memory that the table takes. */
size_t symtab_memory(const struct symtab *symtab);

/* 'T', 't', 'W', 'w' and 'i' (a resolver of one) name code. */
static inline bool symbol_type_is_code(u8 type)
{
	return type == 'T' || type == 't' || type == 'W' || type == 'w' || type == 'i';
}

#endif
