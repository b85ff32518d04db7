/* SPDX-License-Identifier: GPL-2.0-only */
/* Build ids: what the linker wrote into an object so that its copies can be told from others. */
#ifndef OBJFILE_BUILD_ID_H
#define OBJFILE_BUILD_ID_H

#include <string.h>

#include "base/types.h"

#define BUILD_ID_MAX 20
#define BUILD_ID_HEX (2 * BUILD_ID_MAX + 1)

struct build_id {
	u8 size;	/* 0: none */
	u8 data[BUILD_ID_MAX];
};

/* Of @size bytes at @data; one that is empty, too long or all zero becomes none. */
struct build_id build_id_make(const void *data, size_t size);

static inline bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->size == b->size && !memcmp(a->data, b->data, a->size);
}

/* In lower-case digits, two a byte. */
void build_id_hex(const struct build_id *id, char hex[BUILD_ID_HEX]);

#define BUILD_ID_MAX_NOTES 65536	/* bytes; real ones are far shorter */

/*
 * Looks for NT_GNU_BUILD_ID among the ELF notes of @size bytes at @notes, in the first
 * BUILD_ID_MAX_NOTES of them. -ENOENT: there is none; -ENODATA: they end early.
 */
int build_id_from_notes(const void *notes, size_t size, bool swap, struct build_id *ret);

#endif
