/* SPDX-License-Identifier: GPL-2.0-only */
/* What was counted of a vCPU or of several, and the arithmetic of it. */
#ifndef COUNT_SUMS_H
#define COUNT_SUMS_H

#include "capture/capture.h"
#include "count/counter.h"
#include "count/exits.h"

/* Which of the sums are known. */
enum tally_known {
	TALLY_KNOWS_SCHED = 1 << 0,	/* run, steal */
	TALLY_KNOWS_GUEST = 1 << 1,
	TALLY_KNOWS_HALT = 1 << 2,	/* halt, poll */
	TALLY_KNOWS_EXITS = 1 << 3,
	TALLY_KNOWS_REASONS = 1 << 4,
};

/* Of a vCPU or of several added up. Times are in ns. */
struct tally_sums {
	struct count *counts;	/* nr_events * COUNT_NR_MODES; those by time have none */
	u64 followed;		/* how long */
	u64 run, steal, guest, halt, poll;
	u64 exits;
	u32 known;		/* of all that are in it */
	exit_reasons reasons;
};

struct count *tally_count(const struct tally_sums *sums, u32 event, enum count_mode mode);

/*
 * The value of an event in a mode, also of one that is counted by time, which is in ns. Invalid
 * where it is not known, or @event does not happen there.
 */
struct count tally_value(const struct tally_sums *sums, const struct capture_event *events,
			 u32 event, enum count_mode mode);

int tally_sums_init(struct tally_sums *sums, u32 nr_events);
void tally_sums_deinit(struct tally_sums *sums);
/* Adds all of @other; what is not known of one is not of both. */
int tally_sums_add(struct tally_sums *sums, const struct tally_sums *other, u32 nr_events);
/* @now less @before, into @ret, which is empty. */
int tally_sums_since(const struct tally_sums *now, const struct tally_sums *before, u32 nr_events,
		     struct tally_sums *ret);

#endif
