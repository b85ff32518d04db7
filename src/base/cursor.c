/* SPDX-License-Identifier: GPL-2.0-only */
/* The bounded cursor. */
#include "base/cursor.h"

int cursor_fail(struct cursor *c, int err)
{
	if (!c->error) {
		c->error = err;
		c->error_at = cursor_offset(c);
	}
	c->pos = c->end;
	return c->error;
}

int cursor_copy(struct cursor *c, void *out, size_t size)
{
	const void *p = cursor_bytes(c, size);

	if (p)
		memcpy(out, p, size);
	return c->error;
}

const char *cursor_string(struct cursor *c, size_t max, size_t *ret_len)
{
	size_t left = cursor_left(c), len;
	const char *s = (const char *)c->pos;

	if (c->error)
		return NULL;
	len = strnlen(s, MIN(left, max));
	if (len == max && len < left) {
		cursor_fail(c, -E2BIG);
		return NULL;
	}
	if (len == left) {
		cursor_fail(c, -ENODATA);
		return NULL;
	}
	c->pos += len + 1;
	if (ret_len)
		*ret_len = len;
	return s;
}

/*
 * The bits of a LEB128 number, the last byte among them. Of the tenth byte only one bit has room:
 * its seven must be 0 or @full. *@ret_shift is the number of bits read, 70 at most.
 */
static u64 read_leb128(struct cursor *c, u8 full, unsigned int *ret_shift, u8 *ret_last)
{
	unsigned int shift = 0;
	u64 value = 0;
	u8 byte, bits;

	do {
		byte = cursor_u8(c);
		bits = byte & 0x7f;
		if (c->error)
			return 0;
		if (shift >= 64 || (shift == 63 && bits && bits != full)) {
			cursor_fail(c, -EBADMSG);
			return 0;
		}
		value |= (u64)bits << shift;
		shift += 7;
	} while (byte & 0x80);
	*ret_shift = shift;
	*ret_last = byte;
	return value;
}

u64 cursor_uleb128(struct cursor *c)
{
	unsigned int shift;
	u8 last;

	return read_leb128(c, 1, &shift, &last);
}

s64 cursor_sleb128(struct cursor *c)
{
	unsigned int shift = 64;
	u8 last = 0;
	u64 value = read_leb128(c, 0x7f, &shift, &last);

	if (shift < 64 && (last & 0x40))
		value |= ~0ULL << shift;
	return (s64)value;
}

int cursor_seek(struct cursor *c, size_t offset)
{
	if (c->error)
		return c->error;
	if (offset > (size_t)(c->end - c->start))
		return cursor_fail(c, -ENODATA);
	c->pos = c->start + offset;
	return 0;
}

int cursor_sub(const struct cursor *c, size_t offset, size_t size, struct cursor *ret_sub)
{
	size_t total = c->end - c->start;

	if (offset > total || size > total - offset)
		return -ENODATA;
	cursor_init(ret_sub, c->start + offset, size);
	ret_sub->swap = c->swap;
	return 0;
}
