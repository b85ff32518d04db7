/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looking after the symbol cache: what is in it, and taking things out of it. All entries count,
 * those that perf made too. Nothing outside the folder is ever touched, wherever links lead.
 */
#ifndef SYMBOLS_CACHE_ADMIN_H
#define SYMBOLS_CACHE_ADMIN_H

#include "base/vec.h"
#include "symbols/cache.h"

/* A build id as the cache writes it: lower-case digits, an even number of them. -EINVAL. */
int symcache_parse_id(const char *text, struct build_id *ret);

/* What there is under one build id. */
struct symcache_entry {
	struct build_id id;
	char *path;		/* of the object, as its folder is named: "/bin/x", "[vdso]" */
	char *folder;		/* relative to the cache; NULL: the link leads nowhere inside it */
	unsigned int kinds;	/* 1 << enum symcache_kind */
	bool ours;		/* made by kvmprof */
	u64 size;		/* bytes of all its files */
	u64 last_use;		/* seconds since 1970; as far as the file system notes it */
};

struct symcache_list {
	VEC(struct symcache_entry) entries;	/* least recently used first */
};

/* All entries; none when the folder is not there. -E2BIG: more than any cache has. */
int symcache_list(const struct symcache *cache, struct symcache_list *ret);
void symcache_list_deinit(struct symcache_list *list);

/* Takes out all that there is under @id. -ENOENT: nothing. */
int symcache_remove(struct symcache *cache, const struct build_id *id);

struct symcache_limits {
	u64 max_size;		/* bytes of all files; UINT64_MAX: any */
	u64 used_since;		/* seconds since 1970: what was not used since then goes */
	bool ours_only;		/* leave alone, and do not count, what kvmprof did not add */
};

struct symcache_pruned {
	size_t nr;		/* entries taken out */
	u64 bytes;
	u64 left;		/* bytes of those that stay and count */
};

/*
 * Takes out entries, least recently used first, until the rest is within @limits; never those that
 * this program added or uses through @cache. An error ends it; *@ret then says how far it came.
 */
int symcache_prune(struct symcache *cache, const struct symcache_limits *limits,
		   struct symcache_pruned *ret);

#endif
