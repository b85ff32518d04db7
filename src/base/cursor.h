/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bounded cursor: the only way that bytes of a guest, a file or the network are parsed. It
 * never reads outside its range, and the first failure sticks, so a parser may read a whole
 * record and look at cursor_error() once. A failed read yields zero.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <string.h>

#include "base/types.h"

struct cursor {
	const u8 *start;	/* first byte of the range */
	const u8 *pos;		/* next byte to read */
	const u8 *end;		/* one past the last byte */
	size_t error_at;	/* offset from start of the first failure */
	int error;		/* 0, -ENODATA or what cursor_fail() was given */
	bool swap;		/* the data's byte order is not the host's */
};

static inline void cursor_init(struct cursor *c, const void *data, size_t size)
{
	c->start = c->pos = data;
	c->end = size ? c->start + size : c->start;	/* nothing may be at NULL */
	c->error_at = 0;
	c->error = 0;
	c->swap = false;
}

static inline size_t cursor_offset(const struct cursor *c)
{
	return c->pos - c->start;
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->end - c->pos;
}

static inline int cursor_error(const struct cursor *c)
{
	return c->error;
}

/* Records the first failure at the current position and moves to the end. Returns c->error. */
int cursor_fail(struct cursor *c, int err);

/* Returns @size bytes in place and steps over them; NULL and -ENODATA when there are fewer. */
static inline const void *cursor_bytes(struct cursor *c, size_t size)
{
	const u8 *p = c->pos;

	if (unlikely(size > cursor_left(c))) {
		cursor_fail(c, -ENODATA);
		return NULL;
	}
	c->pos += size;
	return p;
}

static inline void cursor_skip(struct cursor *c, size_t size)
{
	cursor_bytes(c, size);
}

static inline u8 cursor_u8(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

#define CURSOR_DEFINE_READ(bits)                                         \
	static inline u##bits cursor_u##bits(struct cursor *c)           \
	{                                                                \
		const void *p = cursor_bytes(c, bits / 8);               \
		u##bits v;                                               \
                                                                         \
		if (!p)                                                  \
			return 0;                                        \
		memcpy(&v, p, sizeof(v));                                \
		return c->swap ? __builtin_bswap##bits(v) : v;           \
	}
CURSOR_DEFINE_READ(16)
CURSOR_DEFINE_READ(32)
CURSOR_DEFINE_READ(64)
#undef CURSOR_DEFINE_READ

/* Copies @size bytes to @out, which is left alone when there are fewer. Returns c->error. */
int cursor_copy(struct cursor *c, void *out, size_t size);

/*
 * Returns the NUL-terminated string at the position and steps over its NUL; NULL when no NUL
 * comes within @max bytes (-E2BIG) or before the end (-ENODATA). @ret_len may be NULL.
 */
const char *cursor_string(struct cursor *c, size_t max, size_t *ret_len);

/* LEB128; a value of more than 64 bits is -EBADMSG. */
u64 cursor_uleb128(struct cursor *c);
s64 cursor_sleb128(struct cursor *c);

/* Moves to @offset from the start of the range; past the end is -ENODATA. Returns c->error. */
int cursor_seek(struct cursor *c, size_t offset);

/* A cursor of its own over [offset, offset + size) of @c's whole range, same byte order. */
int cursor_sub(const struct cursor *c, size_t offset, size_t size, struct cursor *ret_sub);

#endif
