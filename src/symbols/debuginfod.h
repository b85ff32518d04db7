/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files by build id from debuginfod servers, through elfutils' own client library. It is loaded
 * when it is first needed, so that kvmprof runs where it is not installed; it keeps what it
 * fetched in a cache of its own (~/.cache/debuginfod_client).
 */
#ifndef SYMBOLS_DEBUGINFOD_H
#define SYMBOLS_DEBUGINFOD_H

#include <stdatomic.h>

#include "base/types.h"
#include "objfile/build-id.h"

struct debuginfod;

/* Called during a fetch: see struct symbol_sources_options. */
typedef bool (*debuginfod_progress_fn)(const char *path, u64 done, u64 total);

/*
 * -ENOENT: $DEBUGINFOD_URLS is not set, so nobody wants it; -ENOSYS with *@ret_why, a constant:
 * it is set, and the library is not installed.
 */
int debuginfod_create(debuginfod_progress_fn progress, struct debuginfod **ret,
		      const char **ret_why);
void debuginfod_destroy(struct debuginfod *debuginfod);

/*
 * Fetches the debug file of @id, or the executable, unless it is there already; @path is for the
 * progress only. Another thread may set @stop (may be NULL): then it gives up within about a
 * second. The path of the local file; -ENOENT and whatever the network said.
 */
int debuginfod_find(struct debuginfod *debuginfod, const struct build_id *id, bool executable,
		    const char *path, const atomic_bool *stop, char *ret_path, size_t size);

#endif
