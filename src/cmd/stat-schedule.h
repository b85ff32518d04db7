/* SPDX-License-Identifier: GPL-2.0-only */
/* When `kvmprof stat` does what. Times are in ms of one clock, whichever. */
#ifndef CMD_STAT_SCHEDULE_H
#define CMD_STAT_SCHEDULE_H

#include "base/types.h"

#define STAT_FOLLOW_MS 500	/* how soon a new VM or vCPU is noticed */

/* What is to be done now. */
enum stat_due {
	STAT_DUE_FOLLOW = 1 << 0,	/* look for what came and went */
	STAT_DUE_PRINT = 1 << 1,	/* print an interval */
	STAT_DUE_END = 1 << 2,
};

struct stat_schedule {
	u64 interval;		/* 0: none are printed */
	u64 end, next_follow, next_print;	/* UINT64_MAX: never */
	u64 prints_left;	/* 0: no limit */
	bool printed_all;	/* it ended with an interval: none is left over */
};

/* From @now on. @duration, @interval and @count (of intervals, then the end) may be 0: none. */
void stat_schedule_begin(struct stat_schedule *self, u64 now, u64 duration, u64 interval,
			 u64 count);

/* How long nothing is due. */
u64 stat_schedule_wait(const struct stat_schedule *self, u64 now);

/* What has become due, STAT_DUE_*, once; who comes late makes up for nothing. */
u32 stat_schedule_take(struct stat_schedule *self, u64 now);

#endif
