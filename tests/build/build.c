/* SPDX-License-Identifier: GPL-2.0-only */
/* Builders of test inputs. */
#include "build.h"

void put_u8(struct strbuf *sb, u8 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

void put_u16(struct strbuf *sb, u16 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

void put_u32(struct strbuf *sb, u32 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

void put_u64(struct strbuf *sb, u64 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

void put_uleb128(struct strbuf *sb, u64 v)
{
	do {
		put_u8(sb, (v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		v >>= 7;
	} while (v);
}

void put_align(struct strbuf *sb, size_t align)
{
	strbuf_add_zeros(sb, ALIGN_UP(sb->len, align) - sb->len);
}
