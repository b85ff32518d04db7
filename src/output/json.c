/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON text. */
#include "output/json.h"

#include "base/escape.h"

#define TEXT_MAX_BYTES 4096

void json_add_string(struct strbuf *sb, const char *text)
{
	char safe[TEXT_MAX_BYTES];
	size_t len = escape_terminal(text, safe, sizeof(safe));

	strbuf_addc(sb, '"');
	for (size_t i = 0; i < len; i++) {
		switch (safe[i]) {
		case '"':
		case '\\':
			strbuf_addc(sb, '\\');
			strbuf_addc(sb, safe[i]);
			break;
		case '<':
		case '>':
		case '&':
			strbuf_addf(sb, "\\u%04x", safe[i]);
			break;
		default:
			strbuf_addc(sb, safe[i]);
		}
	}
	strbuf_addc(sb, '"');
}
