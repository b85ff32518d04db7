/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A growing byte buffer. Allocation failure sticks: appends after it do nothing and
 * strbuf_error() says so, hence a caller checks once at the end.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <string.h>

#include "base/types.h"

struct strbuf {
	char *data;	/* NUL-terminated when len > 0 or after strbuf_cstr(); owned */
	size_t len;	/* bytes used, without the NUL */
	size_t alloc;
	int error;	/* 0 or -ENOMEM */
};

#define STRBUF_INIT ((struct strbuf){ 0 })

void strbuf_deinit(struct strbuf *sb);
static inline void strbuf_deinit_cleanup_(struct strbuf *sb)
{
	strbuf_deinit(sb);
}
#define _cleanup_strbuf_ __attribute__((cleanup(strbuf_deinit_cleanup_)))

static inline void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
}

static inline int strbuf_error(const struct strbuf *sb)
{
	return sb->error;
}

/* Makes room for @extra more bytes and a NUL. Returns sb->error. */
int strbuf_grow(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t size);
void strbuf_add_zeros(struct strbuf *sb, size_t size);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __printf(2, 3);
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap);

static inline void strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

static inline void strbuf_addc(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

/* The contents as a string; "" when nothing was added. Valid until the next change. */
const char *strbuf_cstr(const struct strbuf *sb);

/* Hands the bytes to the caller (free() them; NULL when empty) and leaves @sb empty. */
char *strbuf_steal(struct strbuf *sb, size_t *ret_len);

#endif
