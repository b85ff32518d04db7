/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON text. */
#ifndef OUTPUT_JSON_H
#define OUTPUT_JSON_H

#include "base/strbuf.h"

/*
 * Appends @text as a JSON string with its quotes. Bytes that are not printable text are told as
 * \xNN, as on a terminal. '<', '>' and '&' are escaped too: the result can stand in HTML.
 */
void json_add_string(struct strbuf *sb, const char *text);

#endif
