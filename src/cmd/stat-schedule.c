/* SPDX-License-Identifier: GPL-2.0-only */
/* When `kvmprof stat` does what. */
#include "cmd/stat-schedule.h"

void stat_schedule_begin(struct stat_schedule *self, u64 now, u64 duration, u64 interval,
			 u64 count)
{
	*self = (struct stat_schedule){
		.interval = interval,
		.end = duration ? now + duration : UINT64_MAX,
		.next_follow = now + STAT_FOLLOW_MS,
		.next_print = interval ? now + interval : UINT64_MAX,
		.prints_left = count,
	};
}

u64 stat_schedule_wait(const struct stat_schedule *self, u64 now)
{
	u64 next = MIN(self->end, MIN(self->next_print, self->next_follow));

	return next > now ? next - now : 0;
}

/* The next stays in step with the first. */
static void skip_missed(u64 *next, u64 interval, u64 now)
{
	*next += ((now - *next) / interval + 1) * interval;
}

/* What is left when time is over belongs to the interval that the end makes. */
static u32 take_print(struct stat_schedule *self, u64 now)
{
	if (now < self->next_print || now >= self->end)
		return 0;
	skip_missed(&self->next_print, self->interval, now);
	if (!self->prints_left || --self->prints_left)
		return STAT_DUE_PRINT;
	self->printed_all = true;
	return STAT_DUE_PRINT | STAT_DUE_END;
}

u32 stat_schedule_take(struct stat_schedule *self, u64 now)
{
	u32 due = take_print(self, now);

	if (now >= self->next_follow) {
		self->next_follow = now + STAT_FOLLOW_MS;
		due |= STAT_DUE_FOLLOW;
	}
	return due | (now >= self->end ? STAT_DUE_END : 0);
}
