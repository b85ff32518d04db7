/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing byte buffer. */
#include "base/strbuf.h"

#include <stdio.h>

void strbuf_deinit(struct strbuf *sb)
{
	if (!sb)
		return;
	free(sb->data);
	*sb = STRBUF_INIT;
}

int strbuf_grow(struct strbuf *sb, size_t extra)
{
	size_t need, alloc;
	char *data;

	if (sb->error)
		return sb->error;
	if (__builtin_add_overflow(sb->len, extra, &need) || ++need == 0)
		return sb->error = -ENOMEM;
	if (need <= sb->alloc)
		return 0;
	alloc = MAX(need, sb->alloc + sb->alloc / 2 + 64);
	data = realloc(sb->data, alloc);
	if (!data)
		return sb->error = -ENOMEM;
	sb->data = data;
	sb->alloc = alloc;
	return 0;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t size)
{
	if (strbuf_grow(sb, size))
		return;
	if (size)
		memcpy(sb->data + sb->len, data, size);
	sb->len += size;
	sb->data[sb->len] = '\0';
}

void strbuf_add_zeros(struct strbuf *sb, size_t size)
{
	if (strbuf_grow(sb, size))
		return;
	memset(sb->data + sb->len, 0, size + 1);
	sb->len += size;
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	if (strbuf_grow(sb, 64))
		return;
	va_copy(again, ap);
	n = vsnprintf(sb->data + sb->len, sb->alloc - sb->len, fmt, ap);
	if (n >= 0 && (size_t)n >= sb->alloc - sb->len && !strbuf_grow(sb, n))
		vsnprintf(sb->data + sb->len, sb->alloc - sb->len, fmt, again);
	va_end(again);
	if (n > 0 && !sb->error)
		sb->len += n;
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

const char *strbuf_cstr(const struct strbuf *sb)
{
	return sb->len ? sb->data : "";
}

char *strbuf_steal(struct strbuf *sb, size_t *ret_len)
{
	char *data = sb->data;

	if (ret_len)
		*ret_len = sb->len;
	*sb = STRBUF_INIT;
	return data;
}
