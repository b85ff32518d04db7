/* SPDX-License-Identifier: GPL-2.0-only */
/* Sources of symbols, their names and their order. */
#include "symbols/source-list.h"

#include <errno.h>
#include <string.h>

static const char *const names[SYMBOL_SOURCE_NR] = {
	[SYMBOL_SOURCE_GUEST] = "guest",
	[SYMBOL_SOURCE_CACHE] = "cache",
	[SYMBOL_SOURCE_HOST] = "host",
	[SYMBOL_SOURCE_GUESTMOUNT] = "guestmount",
	[SYMBOL_SOURCE_DEBUGINFOD] = "debuginfod",
};

bool symbol_source_list_has(const struct symbol_source_list *list, enum symbol_source source)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->order[i] == source)
			return true;
	return false;
}

static int source_by_name(const char *name, size_t len)
{
	for (int i = 0; i < SYMBOL_SOURCE_NR; i++)
		if (names[i] && strlen(names[i]) == len && !memcmp(names[i], name, len))
			return i;
	return -ENOENT;
}

int symbol_source_list_parse(const char *text, struct symbol_source_list *ret,
			     const char **ret_why)
{
	struct symbol_source_list list = { .nr = 0 };

	for (;;) {
		size_t len = strcspn(text, ",");
		int source = source_by_name(text, len);

		if (source < 0 || symbol_source_list_has(&list, source)) {
			*ret_why = source < 0 ? "sources are " SYMBOL_SOURCE_NAMES :
						"a source comes twice";
			return -EINVAL;
		}
		list.order[list.nr++] = source;
		if (!text[len])
			break;
		text += len + 1;
	}
	*ret = list;
	return 0;
}

void symbol_source_list_fill(struct symbol_source_list *list)
{
	if (list->nr)
		return;
	for (int i = 0; i < SYMBOL_SOURCE_NR; i++)
		if (names[i])
			list->order[list->nr++] = i;
}
