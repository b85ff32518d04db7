/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records into time order. perf record drains one buffer a CPU, round after round, and promises
 * only that no record of a round is older than all of the round before the last. So at each end
 * of a round everything up to the newest time of the round before can go: the order that results
 * is perf's own (tools/perf/util/ordered-events.c), equal times in file order.
 */
#ifndef PERFDATA_ORDER_H
#define PERFDATA_ORDER_H

#include "base/vec.h"
#include "perfdata/stream.h"

struct perfdata_order_entry {
	u64 time;
	struct perfdata_raw raw;
};

struct perfdata_order {
	VEC(struct perfdata_order_entry) entries;
	VEC(struct perfdata_order_entry) merged;	/* scratch of the sort */
	VEC(size_t) runs;				/* starts of the ascending runs */
	size_t head;		/* first entry not yet taken */
	size_t ready;		/* entries before it may be taken */
	u64 max_time;		/* newest one waiting */
	u64 limit;		/* what the next end of a round lets go */
	u64 last_taken;
	u64 nr_unordered;	/* came after a newer one had been taken */
};

void perfdata_order_deinit(struct perfdata_order *order);

/* Only when nothing is ready. Takes over @raw's reference. 0 or -ENOMEM. */
int perfdata_order_push(struct perfdata_order *order, u64 time, struct perfdata_raw *raw);

/* At the end of a round, and at the end of the file. 0 or -ENOMEM. */
int perfdata_order_finish_round(struct perfdata_order *order);
int perfdata_order_finish(struct perfdata_order *order);

/* When too much waits: lets the older half of the time span go. 0 or -ENOMEM. */
int perfdata_order_finish_half(struct perfdata_order *order);

/* The next ready record, whose reference goes to the caller. */
bool perfdata_order_take(struct perfdata_order *order, struct perfdata_raw *ret);

static inline size_t perfdata_order_nr(const struct perfdata_order *order)
{
	return order->entries.nr - order->head;
}

#endif
