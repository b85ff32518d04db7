/* SPDX-License-Identifier: GPL-2.0-only */
/* Text on its way to a descriptor, in big pieces. */
#include "output/outbuf.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/escape.h"
#include "base/file.h"

#define OUTBUF_SIZE (256 * 1024)

int outbuf_init(struct outbuf *out, int fd)
{
	*out = (struct outbuf){ .fd = fd, .size = OUTBUF_SIZE };
	out->data = malloc(out->size);
	return out->data ? 0 : -ENOMEM;
}

void outbuf_deinit(struct outbuf *out)
{
	free(out->data);
	*out = (struct outbuf){ .fd = -1 };
}

int outbuf_flush(struct outbuf *out)
{
	if (!out->error && out->len)
		out->error = fd_write_all(out->fd, out->data, out->len);
	out->len = 0;
	return out->error;
}

void outbuf_add_slow(struct outbuf *out, const char *data, size_t size)
{
	outbuf_flush(out);
	if (size <= out->size) {
		memcpy(out->data, data, size);
		out->len = size;
	} else if (!out->error) {
		out->error = fd_write_all(out->fd, data, size);
	}
}

void outbuf_add_repeated(struct outbuf *out, char c, size_t times)
{
	while (times) {
		size_t n = MIN(times, out->size - out->len);

		memset(out->data + out->len, c, n);
		out->len += n;
		times -= n;
		if (times)
			outbuf_flush(out);
	}
}

void outbuf_addf(struct outbuf *out, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		outbuf_add(out, text, MIN((size_t)n, sizeof(text) - 1));
}

void outbuf_add_u64(struct outbuf *out, u64 value, unsigned int width, char fill)
{
	char digits[20];
	unsigned int nr = 0;

	do {
		digits[sizeof(digits) - ++nr] = '0' + value % 10;
		value /= 10;
	} while (value);
	if (width > nr)
		outbuf_add_repeated(out, fill, width - nr);
	outbuf_add(out, digits + sizeof(digits) - nr, nr);
}

void outbuf_add_escaped(struct outbuf *out, const char *s)
{
	char stack[1024];
	size_t size = strlen(s) * 4 + 1;
	char *text = size <= sizeof(stack) ? stack : malloc(size);

	if (!text) {
		out->error = out->error ? out->error : -ENOMEM;
		return;
	}
	outbuf_add(out, text, escape_terminal(s, text, size));
	if (text != stack)
		free(text);
}
