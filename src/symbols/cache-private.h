/* SPDX-License-Identifier: GPL-2.0-only */
/* What adding to the symbol cache and looking after it share. */
#ifndef SYMBOLS_CACHE_PRIVATE_H
#define SYMBOLS_CACHE_PRIVATE_H

#include <limits.h>
#include <pthread.h>

#include "base/hashmap.h"
#include "symbols/cache.h"

#define SYMCACHE_KALLSYMS_DIR "[kernel.kallsyms]"
#define SYMCACHE_MARK "kvmprof"	/* the file in a folder that was made here */

struct symcache {
	char dir[PATH_MAX];
	pthread_mutex_t lock;	/* held while a file is added, for all below */
	u64 max_added, added;	/* bytes that may be, and have been added; .max_added 0: no limit */
	struct hashmap pins;	/* hashes of the build ids that this program added or uses */
};

/* Makes the folder of the cache when it is missing. Close the descriptor to unlock. */
int symcache_lock(const struct symcache *cache, bool exclusive, int *ret_fd);

/* Not while another thread adds. */
bool symcache_is_pinned(const struct symcache *cache, const struct build_id *id);

#endif
