/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Expressions in call frame information. There is no stack machine: those are known that compilers,
 * linkers and the C library write, which are the ones that a rule can say. Used by cfi-program.c
 * only.
 */
#ifndef UNWIND_CFI_EXPRESSION_H
#define UNWIND_CFI_EXPRESSION_H

#include "unwind/cfi-program.h"

/* base + offset, or with .load the word there + add. */
struct cfi_expression {
	u8 base;		/* a general register, by the file's number */
	bool has_base, load;
	s64 offset, add;	/* in 32 bits */
};

/* @c is over the expression, and is used up. False when no rule can say it; *@ret is void then. */
bool cfi_expression_read(struct cursor *c, struct cfi_expression *ret);

/* Whether @c is over the CFA of a lazy PLT, with @is_32 of i386: then its rule, CFI_PLT. */
bool cfi_expression_is_plt(const struct cursor *c, bool is_32, struct cfi_rule *ret);

#endif
