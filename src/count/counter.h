/* SPDX-License-Identifier: GPL-2.0-only */
/* One event, counted on one vCPU thread in one mode of its CPU. */
#ifndef COUNT_COUNTER_H
#define COUNT_COUNTER_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "capture/capture.h"

enum count_mode {
	COUNT_GUEST,
	COUNT_HOST,
	COUNT_NR_MODES,
};

/* How an event is counted in a mode. */
enum count_way {
	COUNT_BY_PERF,
	COUNT_BY_TIME,	/* a clock: software does not know of guest mode, so it is KVM that says */
	COUNT_NEVER,	/* it does not happen there, or was not asked for */
};

enum count_way count_way(const struct capture_event *event, enum count_mode mode);

/* What was counted, of one thread or of several. */
struct count {
	u64 value;
	u64 on, counted;	/* ns that it was to count, and that it did */
	bool unsupported;	/* on one thread at least it cannot be counted */
	bool failed;		/* pinned, and has lost its counter: the value is none */
};

void count_add(struct count *count, const struct count *other);

/* What a figure has grown by; 0 where it was read later and is less. */
u64 count_grown(u64 now, u64 before);

/* @now less what was counted before. */
struct count count_since(const struct count *now, const struct count *before);

/* The value as it would be if the counter had been on all the time. */
u64 count_scaled(const struct count *count);

/* Per cent of the time that it was counted; 100 when it was never to. */
double count_share(const struct count *count);

/* Whether there is a value: neither unsupported nor failed, and it had a counter. */
bool count_is_valid(const struct count *count);

struct counter {
	int fd;			/* -1: there is none */
	int error;		/* why */
	struct count last;	/* as last read; stays when the thread has ended */
};

#define COUNTER_INIT ((struct counter){ .fd = -1 })

/* What is asked of the kernel, with the counter off. */
void counter_fill_attr(const struct capture_event *event, enum count_mode mode,
		       struct perf_event_attr *ret);

/*
 * Opens and starts it on thread @tid. An event that this host or this mode has no counter for is no
 * failure: it is unsupported, and .error says why. -ESRCH: no such thread; -EMFILE; -EACCES.
 */
int counter_open(const struct capture_event *event, enum count_mode mode, pid_t tid,
		 struct counter *ret);

/* Reads into .last; it stays as it is when there is nothing to read. */
void counter_read(struct counter *counter);
void counter_close(struct counter *counter);

#endif
