/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loading one object of a guest's user space: its bytes read, its rules compiled, its symbols put
 * into the cache. Slow, milliseconds for a C library and minutes where a server is asked, hence
 * made to be done in a thread of its own.
 */
#ifndef ENGINE_OBJECT_LOAD_H
#define ENGINE_OBJECT_LOAD_H

#include <stdatomic.h>

#include "guest/file.h"
#include "symbols/cache.h"
#include "symbols/sources.h"
#include "unwind/cfi-table.h"

enum object_state {
	OBJECT_NEW,		/* not needed yet */
	OBJECT_FROM_GUEST,
	OBJECT_FROM_FILE,
	OBJECT_PARTIAL,
	OBJECT_NO_RULES,
	OBJECT_MISSING,
	OBJECT_BAD,
	OBJECT_LIMIT,
	OBJECT_NR,
};

/*
 * Threads: all of it is its runner's while it runs, but for what it points at: @guest is identified
 * and not destroyed meanwhile, @cache may be shared, @sources are for one thread at a time.
 */
struct object_load {
	/* What to load. */
	const struct guest *guest;	/* NULL: not from its memory */
	struct symcache *cache;		/* NULL: symbols are stored nowhere */
	struct symbol_sources *sources;	/* for what @guest lacks; NULL: none */
	struct guest_process *process;	/* owned: guest_process_excerpt() */
	struct guest_mapping mapping;	/* the one that it was made of */
	struct build_id build_id;	/* none: not known, and found out */
	atomic_bool stop;		/* any thread may set it: give up asking */

	/*
	 * Called by the runner when .state and .table are what they will be and .shown set, before
	 * it goes on with symbols: from then on these two are not the runner's any more, another
	 * thread may take them. NULL: they stay the runner's.
	 */
	void (*show)(struct object_load *load);
	atomic_bool shown;

	/* What came of it. */
	enum object_state state;
	struct cfi_table *table;	/* owned; NULL: none */
	bool named;			/* all its functions have names, not only exports */
	bool store_failed;		/* symbols that could not be put into the cache */

	struct file_image *image;	/* owned, between the two steps */
};

/*
 * The two steps: what is in the guest's memory is read, after which @guest may go; then all else.
 * The second takes as long as files of the host's do, for ever perhaps.
 */
void object_load_read(struct object_load *load);
void object_load_finish(struct object_load *load);

/* Both. */
void object_load_run(struct object_load *load);
void object_load_deinit(struct object_load *load);

/* Whether other sources may have what is lacking: rules, or names. */
bool object_load_is_short(const struct object_load *load);

#endif
