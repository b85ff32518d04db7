/* SPDX-License-Identifier: GPL-2.0-only */
/* A perf event's own ring buffer, for events that no BPF program takes. */
#ifndef CAPTURE_EVENT_RING_H
#define CAPTURE_EVENT_RING_H

#include <linux/perf_event.h>

#include "base/types.h"
#include "model/wire.h"

/* One overflow of a sampling event. */
struct event_overflow {
	u64 pc;
	u64 time;	/* CLOCK_MONOTONIC */
	u64 period;
	bool guest;	/* a guest was running */
	u16 raw_size;	/* of a tracepoint: the first bytes of its record */
	u8 raw[WIRE_MAX_RAW];
};

struct event_ring {
	void *map;	/* NULL: closed */
	size_t size;	/* of the data behind the first page, a power of two */
};

/* Asks for what event_ring_read() needs, and for a wake-up at every sample. */
void event_ring_fill_attr(struct perf_event_attr *attr);

/* Maps the buffer of event @fd, @pages of data (a power of two). */
int event_ring_open(int fd, size_t pages, struct event_ring *ret);
void event_ring_close(struct event_ring *ring);

/*
 * Takes the next overflow out. 1 with it, 0 when there is none. Adds to *@lost what the kernel says
 * it dropped. -EBADMSG: the buffer does not hold together; nothing more comes out of it.
 */
int event_ring_read(struct event_ring *ring, struct event_overflow *ret, u64 *lost);

#endif
