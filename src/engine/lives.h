/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lives of a guest's tasks as far as samples show them, and the records that tell a reader of
 * them as perf inside the guest would have: FORK and COMM when a task is first seen, COMM when its
 * name or program changes, EXIT when it is known to have ended. A pid that is used again is another
 * process, to the reader too.
 *
 * Threads: for one.
 */
#ifndef ENGINE_LIVES_H
#define ENGINE_LIVES_H

#include "guest/guest.h"
#include "model/wire.h"
#include "perfdata/writer.h"

#define LIVES_MAX 65536		/* tasks that are remembered; then from the start */
#define LIVES_LOOK_AT 32	/* in one lives_look() */

/* What a sample's process is to those who record what it has mapped. */
struct life {
	u64 number;	/* another one for each process and program; 0: not known */
	u64 since;	/* ns: what it has when it is first seen it had from here on; 0: ever */
};

struct lives;

/* Both must outlive it. */
int lives_create(const struct guest *guest, struct perfdata_writer *writer, struct lives **ret);
void lives_destroy(struct lives *lives);
DEFINE_CLEANUP(struct lives *, lives_destroy)

/* Writes what is new of the task of @wire. The writer's errors, and -ENOMEM. */
int lives_enter(struct lives *lives, const struct wire_sample *wire, struct life *ret);

/* Looks for tasks that have ended, a few each time. @now: ns, of the newest sample. As above. */
int lives_look(struct lives *lives, u64 now);

#endif
