/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that a guest's processes have mapped: what each is known by, the rules that unwind its
 * code, and its symbols' way into the cache. Each is read once, when the first address falls on it.
 *
 * Contents come from the guest's page cache. Where that lacks what is needed, the other sources of
 * symbols are asked for a file of the same build id.
 */
#ifndef ENGINE_OBJECTS_H
#define ENGINE_OBJECTS_H

#include "guest/file.h"
#include "symbols/cache.h"
#include "symbols/sources.h"
#include "unwind/cfi.h"

#define OBJECTS_MAX 16384
#define OBJECTS_MAX_TABLES (512ULL << 20)	/* bytes of all tables together */

/* What became of each object that was needed; of each only one counts. */
struct objects_counts {
	u64 from_guest;		/* rules wholly from the guest's memory */
	u64 from_file;		/* from a whole file of the same build id */
	u64 partial;		/* from the guest, with holes that nothing filled */
	u64 no_rules;		/* the object has none */
	u64 missing;		/* not in the guest's memory, and nowhere else */
	u64 bad;		/* malformed, or of a kind that is not known */
	u64 limit;		/* too large, or too many */
	u64 store_failed;	/* symbols that could not be put into the cache */
};

struct object;
struct objects;

static inline bool objects_same_key(const struct guest_file_key *a,
				    const struct guest_file_key *b)
{
	return a->inode == b->inode && a->ino == b->ino && a->major == b->major &&
	       a->minor == b->minor && a->generation == b->generation;
}

/*
 * What is given must outlive it. @cache NULL: symbols are stored nowhere; @sources NULL: only the
 * guest's memory is read.
 */
int objects_create(const struct guest *guest, struct symcache *cache,
		   struct symbol_sources *sources, struct objects **ret);
void objects_destroy(struct objects *objects);
DEFINE_CLEANUP(struct objects *, objects_destroy)

/*
 * The object that @mapping of @process shows: a file or the vDSO. Of its contents only the build id
 * is read. NULL for other mappings, and when there are too many objects or memory is short. Valid
 * as long as @objects.
 */
struct object *objects_get(struct objects *objects, const struct guest_process *process,
			   const struct guest_mapping *mapping);

/* None when it has none or it is not known. */
const struct build_id *object_build_id(const struct object *object);

/*
 * The rule at @offset of the file that @mapping of @process shows, which is @object. Slow the first
 * time: reads and compiles. @now: ns, to try again what was not in memory. -ENOENT: none covers it;
 * -ENODATA: not known, for it is not in the guest's memory.
 */
int objects_find_row(struct objects *objects, struct object *object,
		     const struct guest_process *process, const struct guest_mapping *mapping,
		     u64 offset, u64 now, struct cfi_row *ret_row);

void objects_get_counts(const struct objects *objects, struct objects_counts *ret);

#endif
