/* SPDX-License-Identifier: GPL-2.0-only */
/* The places that are asked for files with symbols, by name and in which order. */
#ifndef SYMBOLS_SOURCE_LIST_H
#define SYMBOLS_SOURCE_LIST_H

#include "base/types.h"

enum symbol_source {
	SYMBOL_SOURCE_GUEST,		/* the guest's memory, by whoever has the guest */
	SYMBOL_SOURCE_CACHE,		/* ~/.debug */
	SYMBOL_SOURCE_HOST,		/* this machine's file of that path, its debug files */
	SYMBOL_SOURCE_GUESTMOUNT,	/* a guest's root folder, mounted by hand */
	SYMBOL_SOURCE_GATEWAY,		/* kept for an agent in the guest; nothing answers yet */
	SYMBOL_SOURCE_DEBUGINFOD,	/* servers, of $DEBUGINFOD_URLS only */
	SYMBOL_SOURCE_NR,
};

#define SYMBOL_SOURCE_NAMES "guest,cache,host,guestmount,debuginfod"

/* The sources to ask, in order. .nr 0: all, in the order of the enum. */
struct symbol_source_list {
	enum symbol_source order[SYMBOL_SOURCE_NR];
	size_t nr;
};

/*
 * "cache,host": names as in SYMBOL_SOURCE_NAMES, each at most once. -EINVAL with *@ret_why, a
 * constant.
 */
int symbol_source_list_parse(const char *text, struct symbol_source_list *ret,
			     const char **ret_why);

/* Makes an empty list that of all sources. */
void symbol_source_list_fill(struct symbol_source_list *list);

/* As it stands: an empty list has none. */
bool symbol_source_list_has(const struct symbol_source_list *list, enum symbol_source source);

#endif
