/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the guest's kernel has made of code by itself, as a recording tells it: each program and
 * trampoline when it is first seen, and when it is seen no more.
 */
#ifndef ENGINE_KSYM_LOG_H
#define ENGINE_KSYM_LOG_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "guest/guest.h"
#include "perfdata/writer.h"

#define KSYM_LOG_MAX 65536	/* records of what came, and so of entries: the guest's choice */

struct ksym_log_entry {
	u64 start, hash;	/* of the name */
	u32 len;
	bool live;		/* the recording says that it is there */
	bool seen;		/* in this round */
};

/* Zeroed: empty. */
struct ksym_log {
	VEC(struct ksym_log_entry) entries;
	struct hashmap by_start;	/* start, hashed with .seed, to index + 1 */
	u64 seed;			/* 0: none yet */
	size_t nr_came;			/* records of what came */
	u64 left_out;			/* what found no room in one round, at most */
};

void ksym_log_deinit(struct ksym_log *log);

/*
 * Reads what there is now and writes what has changed, as of @time. What is gone is only known
 * when all lists could be followed to their ends. Once KSYM_LOG_MAX records were written, what is
 * new is left out and counted. -ENOMEM or a write error; a guest whose lists
 * cannot be read is no error.
 */
int ksym_log_update(struct ksym_log *log, const struct guest *guest,
		    struct perfdata_writer *writer, u64 time);

#endif
