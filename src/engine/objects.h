/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that a guest's processes have mapped: what each is known by, the rules that unwind its
 * code, and its symbols' way into the cache. Each is read once, when the first address falls on it.
 *
 * Contents come from the guest's page cache. Where that lacks what is needed, the other sources of
 * symbols are asked for a file of the same build id; last, and apart from the others, servers.
 *
 * Threads: all functions are for one thread, the owner's. Objects are loaded on the threads of the
 * workers that are given, in jobs that share nothing with it, and taken in by objects_collect().
 * Without workers they are loaded in place. That keeps who records from waiting, for a server even
 * minutes, while samples pile up; and jobs of servers from keeping others waiting.
 */
#ifndef ENGINE_OBJECTS_H
#define ENGINE_OBJECTS_H

#include "base/worker.h"
#include "guest/file.h"
#include "symbols/cache.h"
#include "symbols/sources.h"
#include "unwind/cfi.h"

#define OBJECTS_MAX 16384
#define OBJECTS_MAX_TABLES (512ULL << 20)	/* bytes of all tables together */
#define OBJECTS_MAX_WAITING 64			/* to be loaded, by each of the workers */

/* What became of each object that was needed; of each only one counts, and .store_failed. */
struct objects_counts {
	u64 from_guest;		/* rules wholly from the guest's memory */
	u64 from_file;		/* from a whole file of the same build id */
	u64 partial;		/* from the guest, with holes that nothing filled */
	u64 no_rules;		/* the object has none */
	u64 missing;		/* not in the guest's memory, and nowhere else */
	u64 bad;		/* malformed, or of a kind that is not known */
	u64 limit;		/* too large, or too many */
	u64 unread;		/* still being read, or waiting for it */
	u64 unnamed;		/* beside that: names of exported functions only, or none */
	u64 store_failed;	/* beside that: symbols that could not be put into the cache */
};

struct object;
struct objects;

static inline bool objects_same_key(const struct guest_file_key *a,
				    const struct guest_file_key *b)
{
	return a->inode == b->inode && a->ino == b->ino && a->major == b->major &&
	       a->minor == b->minor && a->generation == b->generation;
}

/* All of it must outlive the objects, and the workers' threads, which end with the workers. */
struct objects_options {
	const struct guest *guest;
	struct symcache *cache;		/* NULL: symbols are stored nowhere */
	struct symbol_sources *sources;	/* quick ones, used by .loader; NULL: the guest's memory */
	struct symbol_sources *servers;	/* slow ones, used by .fetcher; NULL: none */
	struct worker *loader;		/* NULL: in place */
	struct worker *fetcher;		/* NULL: in place */
};

int objects_create(const struct objects_options *options, struct objects **ret);

/* With objects_stop_loading(). */
void objects_destroy(struct objects *objects);
DEFINE_CLEANUP(struct objects *, objects_destroy)

/*
 * The object that @mapping of @process shows: a file or the vDSO. Of its contents only the build id
 * is read. NULL for other mappings, and when there are too many objects or memory is short. Valid
 * as long as @objects.
 */
struct object *objects_get(struct objects *objects, const struct guest_process *process,
			   const struct guest_mapping *mapping);

/* How many there are. */
size_t objects_nr(const struct objects *objects);

/* None when it has none or it is not known. */
const struct build_id *object_build_id(const struct object *object);

/*
 * The rule at @offset of the file that mapping @i of @process shows, which is @object. @now: ns, to
 * try again what was not in memory. -ENOENT: none covers it; -ENODATA: not known, for it is not in
 * the guest's memory; -EAGAIN: the object is being read, see objects_is_pending().
 */
int objects_find_row(struct objects *objects, struct object *object,
		     const struct guest_process *process, size_t i, u64 offset, u64 now,
		     struct cfi_row *ret_row);

/*
 * Whether to look for its rules again is of no use before an objects_collect() has taken something
 * in: it is being read, or waits and there is no room for it.
 */
bool objects_is_pending(const struct objects *objects, const struct object *object);

/* Takes in what was loaded since. Whether there was something; next to no work when not. */
bool objects_collect(struct objects *objects);

/*
 * Waits until there is something to collect, at most until @deadline, CLOCK_MONOTONIC in ns.
 * -ETIMEDOUT; -ENOENT: nothing is being loaded (servers do not count).
 */
int objects_wait(struct objects *objects, u64 deadline);

/* Tells servers to stop; waits for nothing. */
void objects_stop_fetching(struct objects *objects);

/*
 * Ends loading: what waits is dropped; an object that is being read is waited for as long as that
 * is out of the guest's memory, and not while rules are compiled or files of the host's are read,
 * which may take for ever. Servers are told to stop and not waited for. What was not read stays so.
 */
void objects_stop_loading(struct objects *objects);

void objects_get_counts(const struct objects *objects, struct objects_counts *ret);

#endif
