/* SPDX-License-Identifier: GPL-2.0-only */
/* Make guest text safe for terminals and for path components. */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

#define PATH_COMPONENT_MAX 255

/* Length of the well-formed UTF-8 sequence at @s, 0 when it is none or a control character. */
static size_t utf8_length(const unsigned char *s)
{
	size_t n, i;
	u32 c;

	if (s[0] < 0xc2)
		return 0;
	if (s[0] < 0xe0) {
		n = 2;
		c = s[0] & 0x1f;
	} else if (s[0] < 0xf0) {
		n = 3;
		c = s[0] & 0x0f;
	} else if (s[0] < 0xf5) {
		n = 4;
		c = s[0] & 0x07;
	} else {
		return 0;
	}
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff)
		return 0;
	/* C1 controls, surrogates, and the marks that reorder what a reader sees. */
	if (c < 0xa0 || (c >= 0xd800 && c < 0xe000) || (c >= 0x200b && c <= 0x200f) ||
	    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff)
		return 0;
	return n;
}

size_t escape_terminal(const char *text, char *out, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t used = 0;

	if (!size)
		return 0;
	while (*s) {
		size_t n = *s >= 0x20 && *s < 0x7f ? 1 : utf8_length(s);
		size_t need = n ? n : 4;

		if (used + need >= size)
			break;
		if (n)
			memcpy(out + used, s, n);
		else
			snprintf(out + used, 5, "\\x%02x", *s);
		used += need;
		s += n ? n : 1;
	}
	out[used] = '\0';
	return used;
}

size_t escape_path_component(const char *text, char *out, size_t size)
{
	size_t i = 0;

	if (!size)
		return 0;
	for (; text[i] && i < size - 1 && i < PATH_COMPONENT_MAX; i++) {
		unsigned char c = text[i];

		out[i] = c < 0x20 || c == 0x7f || c == '/' || (c == '.' && i == 0) ? '_' : c;
	}
	if (!i && size > 1)
		out[i++] = '_';
	out[i] = '\0';
	return i;
}
