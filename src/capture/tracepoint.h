/* SPDX-License-Identifier: GPL-2.0-only */
/* The host kernel's tracepoints, by tracefs: events/SUBSYSTEM/NAME/id. */
#ifndef CAPTURE_TRACEPOINT_H
#define CAPTURE_TRACEPOINT_H

#include "base/types.h"

#define TRACEPOINT_NAME_MAX 128	/* of "SUBSYSTEM:NAME" */

/* Where tracefs is mounted on this host. */
const char *tracefs_dir(void);

/* Whether @text is the "SUBSYSTEM:NAME" of one under @tracefs. */
bool tracepoint_exists(const char *tracefs, const char *text);

/* Whether @text has wildcards: *, ?, […]. */
bool tracepoint_is_pattern(const char *text);

/* The text of its `format` file, to be freed. */
int tracepoint_format(const char *tracefs, const char *text, char **ret);

/* Gets "SUBSYSTEM:NAME" and the id that perf_event_open() takes. Not 0: ends the search with it. */
typedef int (*tracepoint_fn)(const char *name, u64 id, void *arg);

/*
 * Calls @fn with each that @pattern, "SUBSYSTEM:NAME" with wildcards or without, is the name of, in
 * the order of their names. -ENOENT: there is none; -EBADMSG: no such pattern; -EACCES and the like
 * where tracefs is not to be read.
 */
int tracepoints_find(const char *tracefs, const char *pattern, tracepoint_fn fn, void *arg);

#endif
