/* SPDX-License-Identifier: GPL-2.0-only */
/* Event names to perf_event_open's numbers; capture_events_add() is in capture.h. */
#ifndef CAPTURE_EVENTS_H
#define CAPTURE_EVENTS_H

#include <linux/perf_event.h>

#include "capture/capture.h"

#define EVENT_DEFAULT_FREQ 997	/* Hz; a prime, so as not to march with the guest's timers */

/* Where the kernel describes its events, and how it is asked whether one works. */
struct event_source {
	const char *sysfs;	/* "/sys" */
	const char *tracefs;	/* "/sys/kernel/tracing" */
	const char *proc;	/* "/proc" */
	/* 0, or the errno of perf_event_open() for @attr. */
	int (*probe)(const struct perf_event_attr *attr);
	/* trace_filter_check() */
	int (*check_filter)(const char *tracefs, const char *name, u64 id, const char *text,
			    char **ret_said);
};

/* The functions of that name in capture.h against @source. */
int events_add(const struct event_source *source, const char *text,
	       struct capture_events *events, const char **ret_why);
int events_filter(const struct event_source *source, struct capture_events *events,
		  const char *filter, char **ret_said);
int events_add_default(const struct event_source *source, struct capture_events *events,
		       const char **ret_why);

/* What a hardware event's refusal by perf_event_open() with @err means here, a constant. */
const char *event_refusal_text(int err);

/* Counts time: in software, where no mode of the CPU makes a difference. */
bool event_is_clock(const struct capture_event *event);
bool event_is_hardware(const struct capture_event *event);

/* @event as the kernel takes it, disabled, sampling. The caller adds what it wants to get. */
void event_fill_attr(const struct capture_event *event, struct perf_event_attr *ret_attr);

#endif
