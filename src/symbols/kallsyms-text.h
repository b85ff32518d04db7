/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text format of /proc/kallsyms: "address type name" lines, a module's with a tab and
 * "[module]" behind. The host's own, and those in ~/.debug, which may come from any guest.
 */
#ifndef SYMBOLS_KALLSYMS_TEXT_H
#define SYMBOLS_KALLSYMS_TEXT_H

#include "base/cursor.h"
#include "base/types.h"
#include "symbols/symtab.h"

#define KALLSYMS_MAX_TEXT (256U << 20)	/* the longest text that is worth reading */

/* One line. The names point into the text and are not terminated. */
struct kallsyms_line {
	u64 addr;
	const char *name;
	size_t name_len;
	const char *module;	/* NULL: of the kernel itself */
	size_t module_len;
	char type;
};

/*
 * Reads the next line of the text in @c: 1, or 0 at the end. -EBADMSG: not such a line; -ENODATA:
 * the text ends before the line does.
 */
int kallsyms_text_next(struct cursor *c, struct kallsyms_line *ret);

enum kallsyms_text_flags {
	KALLSYMS_PERF = 1 << 0,	/* only those that perf takes: T, W, D and B of either case */
};

struct kallsyms_text;

/*
 * Parses a whole text into one table for the kernel and one for each module. -EACCES when all
 * addresses are zero, as the kernel shows them to those who may not see them.
 */
int kallsyms_text_read(const char *text, size_t size, unsigned int flags,
		       struct kallsyms_text **ret);
void kallsyms_text_destroy(struct kallsyms_text *kallsyms);
DEFINE_CLEANUP(struct kallsyms_text *, kallsyms_text_destroy)

const struct symtab *kallsyms_text_kernel(const struct kallsyms_text *kallsyms);

/* Modules in order of their first line; names without brackets. */
size_t kallsyms_text_nr_modules(const struct kallsyms_text *kallsyms);
const char *kallsyms_text_module_name(const struct kallsyms_text *kallsyms, size_t i);
const struct symtab *kallsyms_text_module(const struct kallsyms_text *kallsyms, size_t i);

/* The kernel's table goes to the caller. */
struct symtab *kallsyms_text_take_kernel(struct kallsyms_text *kallsyms);

#endif
