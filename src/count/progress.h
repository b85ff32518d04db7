/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far one vCPU has come: sums out of what the host says of it from time to time. The kernel's
 * figures stand somewhere when we begin, so only what they grow by counts.
 */
#ifndef COUNT_PROGRESS_H
#define COUNT_PROGRESS_H

#include "count/exits.h"
#include "count/sums.h"
#include "count/times.h"

enum reading_has {
	READING_HAS_TIMES = 1 << 0,
	READING_HAS_HALT = 1 << 1,
	READING_HAS_EXITS = 1 << 2,	/* by BPF, and then their reasons can be had, too */
	READING_HAS_NR_EXITS = 1 << 3,	/* their number only */
};

/* What the host says of a vCPU at one moment, but for its events and the reasons of its exits. */
struct reading {
	u64 now;		/* clock_now_ns() */
	u32 has;		/* which of those below are there: READING_HAS_* */
	struct thread_times times;
	struct vm_vcpu_halt halt;
	struct exit_times exits;
	u64 nr_exits;
};

struct progress {
	u64 since;			/* when it began to be followed */
	struct thread_times first_times;
	u64 first_halt, first_poll;
	struct halt_clock halt_clock;
	struct tally_sums total;	/* since then */
	/* Of that, what is of before the beginning of all, and what is in reports of intervals. */
	struct tally_sums before, reported;
};

int progress_init(struct progress *progress, u32 nr_events);
void progress_deinit(struct progress *progress);

/* The first reading: what it has is what is known, now and later. */
void progress_begin(struct progress *progress, const struct reading *first);

/* A later one. What it lacks stays as it was. */
void progress_take(struct progress *progress, const struct reading *reading);

/* The exits' reasons are counted anew at each reading: clear, add each, end. 0 or -ENOMEM. */
void progress_clear_reasons(struct progress *progress);
int progress_add_reason(struct progress *progress, const struct exit_reason *reason);
void progress_end_reasons(struct progress *progress);

/* Whether there is anything since the last report of an interval, or since the beginning of all. */
bool progress_has_more(const struct progress *progress, bool interval);

/* Adds that to @sums. 0 or -ENOMEM. */
int progress_add_to(const struct progress *progress, bool interval, u32 nr_events,
		    struct tally_sums *sums);

/* What there is so far is reported, or with @interval false is of before the beginning of all. */
int progress_mark(struct progress *progress, bool interval, u32 nr_events);

#endif
