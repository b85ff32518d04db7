/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest text is hostile: make it safe for terminals and for path components. */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include "base/types.h"

/*
 * Copies @text to @out (@size bytes with the NUL), every byte that is not printable ASCII or well
 * formed UTF-8 of a printable character as \xNN. Truncates at a whole character. Returns the
 * length written.
 */
size_t escape_terminal(const char *text, char *out, size_t size);

/*
 * Copies @text to @out as one path component: '/', control bytes and a leading '.' become '_', an
 * empty text becomes "_". Truncates at @size - 1 and at 255 bytes. Returns the length written.
 */
size_t escape_path_component(const char *text, char *out, size_t size);

#endif
