/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user space of one guest while it is recorded: which of its processes a sample is of, what
 * that has mapped at an address, how code there is unwound, and the records that tell a reader of
 * the recording the same, as perf inside the guest would have written them.
 *
 * Processes are read when a sample shows them, and again when their mappings have changed.
 */
#ifndef ENGINE_USERLAND_H
#define ENGINE_USERLAND_H

#include "engine/lives.h"
#include "engine/objects.h"
#include "model/sample.h"
#include "perfdata/writer.h"

#define USERLAND_MAX_PROCESSES 2048	/* kept; the longest unused ones go first */

struct userland_counts {
	struct objects_counts objects;
	u64 processes;		/* read for the first time */
	u64 reread;		/* read again: they had mapped something, or run another program */
	u64 partial;		/* of all reads, those that came out incomplete */
	u64 failed;		/* reads that failed */
	u64 inherited;		/* of them, of processes that were known by what forked them */
	u64 left_out;		/* mappings that the recording does not have: too many */
};

struct userland;

struct userland_options {
	const struct guest *guest;
	struct perfdata_writer *writer;
	struct objects_options objects;	/* but .guest, which is the one above */
	u64 max_reads;		/* of guest memory for processes, in a second; 0: the default */
	u64 max_kin;		/* of processes compared, and mappings and files copied, the same */
	u64 max_bytes;		/* that what is known of processes may take; 0: the default */
	u64 max_records;	/* of mappings in one recording; 0: the default */
};

/* What @options point to must outlive it, as engine/objects.h says. */
int userland_create(const struct userland_options *options, struct userland **ret);
void userland_destroy(struct userland *userland);
DEFINE_CLEANUP(struct userland *, userland_destroy)

/*
 * Makes the process of @wire the one that userland_find_row() is about, and writes what is new of
 * it. The errors are those of the writer, which stick: a process that cannot be read has no
 * mappings. -ENOMEM does not stick; nothing is known of the process then, until the next sample.
 */
int userland_enter(struct userland *userland, const struct wire_sample *wire,
		   const struct life *life);

/*
 * What is known now of what the process entered has mapped, for a sample that is to be entered
 * again: until userland_let_go(). NULL: nothing, or more is held by now than may be.
 */
struct userland_view *userland_hold(struct userland *userland);
void userland_let_go(struct userland *userland, struct userland_view *view);

/*
 * As userland_enter() for a sample that was entered before, when @view was held, and waited: its
 * process may have mapped other things since, or be gone. Nothing is read again and no record
 * written. *@ret_gone: its task is no more what it was then, so that memory is not to be read by
 * its page tables.
 */
void userland_enter_again(struct userland *userland, const struct wire_sample *wire,
			  struct userland_view *view, bool *ret_gone);

/* Whether the process of a sample that was entered again has something else at @pc by now. */
bool userland_has_changed(const struct userland *userland, gva_t pc);

/* unwind_ops.find_user_row() for the process entered: as objects_find_row(). */
int userland_find_row(struct userland *userland, gva_t pc, struct cfi_row *ret_row);

/* The object for which that was -EAGAIN since the sample was entered; NULL: for none. */
const struct object *userland_waits_for(const struct userland *userland);

/* The functions of engine/objects.h. */
bool userland_is_pending(const struct userland *userland, const struct object *object);
bool userland_collect(struct userland *userland);
int userland_wait(struct userland *userland, u64 deadline);
void userland_stop_fetching(struct userland *userland);
void userland_stop_loading(struct userland *userland);

void userland_get_counts(const struct userland *userland, struct userland_counts *ret);

/* As lines "what: number", those that are zero left out, for the recording's accounting. */
void userland_counts_write(const struct userland_counts *counts, struct strbuf *out);

#endif
