/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages on standard error. Commands report each error once, with its subject; libraries call
 * log_debug() only and return the error.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/types.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_NOTICE,
	LOG_LEVEL_DEBUG,
};

/* Messages above @level are dropped. The start value is LOG_LEVEL_NOTICE. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Writes "kvmprof: " and the message, control characters escaped, as one line. */
void log_message(enum log_level level, const char *fmt, ...) __printf(2, 3);

/* Reports, with ": why" at the end, and returns @err: `return log_error_errno(err, …)`. */
int log_error_errno(int err, const char *fmt, ...) __printf(2, 3);

#define log_error(...) log_message(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_message(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_debug(...)                                          \
	do {                                                    \
		if (log_get_level() >= LOG_LEVEL_DEBUG)         \
			log_message(LOG_LEVEL_DEBUG, __VA_ARGS__); \
	} while (0)

#endif
