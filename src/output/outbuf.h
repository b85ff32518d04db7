/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Text on its way to a descriptor, in big pieces. The first write error sticks: what is added
 * after it goes nowhere, and the user asks at the end.
 */
#ifndef OUTPUT_OUTBUF_H
#define OUTPUT_OUTBUF_H

#include <string.h>

#include "base/types.h"

struct outbuf {
	int fd;
	char *data;
	size_t len;
	size_t size;
	int error;	/* 0 or what the first failing write said */
};

/* 0 or -ENOMEM. @fd stays the caller's. */
int outbuf_init(struct outbuf *out, int fd);
void outbuf_deinit(struct outbuf *out);

/* Writes what is there. Returns out->error. */
int outbuf_flush(struct outbuf *out);

/* The way of outbuf_add() for what does not fit. */
void outbuf_add_slow(struct outbuf *out, const char *data, size_t size);

static inline void outbuf_add(struct outbuf *out, const char *data, size_t size)
{
	if (unlikely(size > out->size - out->len)) {
		outbuf_add_slow(out, data, size);
		return;
	}
	memcpy(out->data + out->len, data, size);
	out->len += size;
}

static inline void outbuf_adds(struct outbuf *out, const char *s)
{
	outbuf_add(out, s, strlen(s));
}

static inline void outbuf_addc(struct outbuf *out, char c)
{
	outbuf_add(out, &c, 1);
}

void outbuf_add_repeated(struct outbuf *out, char c, size_t times);
void outbuf_addf(struct outbuf *out, const char *fmt, ...) __printf(2, 3);

/* Decimal with at least @width characters, @fill in front. */
void outbuf_add_u64(struct outbuf *out, u64 value, unsigned int width, char fill);

/* As hostile as it may be: control characters and bad UTF-8 as \xNN. */
void outbuf_add_escaped(struct outbuf *out, const char *s);

#endif
