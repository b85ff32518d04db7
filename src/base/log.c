/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages on standard error. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/errors.h"
#include "base/escape.h"

#define LINE_MAX_BYTES 2048

static enum log_level max_level = LOG_LEVEL_NOTICE;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_get_level(void)
{
	return max_level;
}

static void put_line(const char *text, const char *why)
{
	char safe[LINE_MAX_BYTES];

	escape_terminal(text, safe, sizeof(safe));
	if (why)
		fprintf(stderr, "kvmprof: %s: %s\n", safe, why);
	else
		fprintf(stderr, "kvmprof: %s\n", safe);
}

void log_message(enum log_level level, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_line(text, NULL);
}

int log_error_errno(int err, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_line(text, error_text(err));
	return err;
}
