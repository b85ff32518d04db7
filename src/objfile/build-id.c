/* SPDX-License-Identifier: GPL-2.0-only */
/* Build ids. */
#include "objfile/build-id.h"

#include <elf.h>

#include "base/cursor.h"

struct build_id build_id_make(const void *data, size_t size)
{
	static const u8 zero[BUILD_ID_MAX];
	struct build_id id = { 0 };

	if (data && size && size <= BUILD_ID_MAX && memcmp(data, zero, size)) {
		id.size = size;
		memcpy(id.data, data, size);
	}
	return id;
}

void build_id_hex(const struct build_id *id, char hex[BUILD_ID_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < id->size; i++) {
		*hex++ = digits[id->data[i] >> 4];
		*hex++ = digits[id->data[i] & 15];
	}
	*hex = '\0';
}

/* Names and descriptions are padded to four bytes, in 64-bit files too. */
static const void *note_bytes(struct cursor *c, u32 size)
{
	const void *bytes = cursor_bytes(c, size);

	if (bytes)
		cursor_skip(c, MIN(-size & 3, cursor_left(c)));
	return bytes;
}

int build_id_from_notes(const void *notes, size_t size, bool swap, struct build_id *ret)
{
	struct cursor c;

	cursor_init(&c, notes, MIN(size, (size_t)BUILD_ID_MAX_NOTES));
	c.swap = swap;
	while (cursor_left(&c)) {
		u32 name_size = cursor_u32(&c), desc_size = cursor_u32(&c), type = cursor_u32(&c);
		const void *name = note_bytes(&c, name_size), *desc = note_bytes(&c, desc_size);
		struct build_id id;

		if (cursor_error(&c))
			return cursor_error(&c);
		if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4))
			continue;
		id = build_id_make(desc, desc_size);
		if (id.size) {
			*ret = id;
			return 0;
		}
	}
	return -ENOENT;
}
