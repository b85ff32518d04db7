/* SPDX-License-Identifier: GPL-2.0-only */
/* Records into time order: natural merge sort, since each CPU's buffer is sorted already. */
#include "perfdata/order.h"

#include <string.h>

void perfdata_order_deinit(struct perfdata_order *order)
{
	for (size_t i = order->head; i < order->entries.nr; i++)
		perfdata_raw_release(&order->entries.data[i].raw);
	vec_deinit(&order->entries);
	vec_deinit(&order->merged);
	vec_deinit(&order->runs);
	*order = (struct perfdata_order){ 0 };
}

int perfdata_order_push(struct perfdata_order *order, u64 time, struct perfdata_raw *raw)
{
	struct perfdata_order_entry entry = { .time = time, .raw = *raw };
	bool empty = !perfdata_order_nr(order);

	if (vec_push(&order->entries, entry))
		return -ENOMEM;
	order->max_time = empty ? time : MAX(order->max_time, time);
	order->nr_unordered += time < order->last_taken;
	raw->chunk = NULL;
	return 0;
}

/* Starts of the ascending runs, with a sentinel at the end. */
static int find_runs(struct perfdata_order *order)
{
	const struct perfdata_order_entry *e = order->entries.data;

	order->runs.nr = 0;
	if (vec_push(&order->runs, 0))
		return -ENOMEM;
	for (size_t i = 1; i < order->entries.nr; i++)
		if (e[i].time < e[i - 1].time && vec_push(&order->runs, i))
			return -ENOMEM;
	return vec_push(&order->runs, order->entries.nr);
}

/* Merges [from, mid) and [mid, to) of the entries to the same place of the scratch. */
static void merge_runs(struct perfdata_order *order, size_t from, size_t mid, size_t to)
{
	const struct perfdata_order_entry *in = order->entries.data;
	struct perfdata_order_entry *out = order->merged.data + from;
	size_t a = from, b = mid;

	while (a < mid && b < to)
		*out++ = in[b].time < in[a].time ? in[b++] : in[a++];
	memcpy(out, in + a, (mid - a) * sizeof(*in));
	memcpy(out + (mid - a), in + b, (to - b) * sizeof(*in));
}

/* Merges neighbouring runs once; there are half as many then. */
static void merge_pass(struct perfdata_order *order)
{
	__typeof__(order->entries) swap;
	size_t *runs = order->runs.data;
	size_t nr = order->runs.nr - 1, kept = 0;

	for (size_t i = 0; i < nr; i += 2) {
		size_t mid = runs[i + 1], to = i + 1 < nr ? runs[i + 2] : mid;

		merge_runs(order, runs[i], mid, to);
		runs[kept++] = runs[i];
	}
	runs[kept] = order->entries.nr;
	order->runs.nr = kept + 1;
	order->merged.nr = order->entries.nr;
	memcpy(&swap, &order->entries, sizeof(swap));
	memcpy(&order->entries, &order->merged, sizeof(swap));
	memcpy(&order->merged, &swap, sizeof(swap));
}

static void drop_taken(struct perfdata_order *order)
{
	size_t left = perfdata_order_nr(order);

	if (!order->head)
		return;
	memmove(order->entries.data, order->entries.data + order->head,
		left * sizeof(*order->entries.data));
	order->entries.nr = left;
	order->head = order->ready = 0;
}

static int sort_entries(struct perfdata_order *order)
{
	int err;

	drop_taken(order);
	err = find_runs(order);
	if (!err)
		err = vec_reserve(&order->merged, order->entries.nr);
	if (err)
		return err;
	while (order->runs.nr > 2)
		merge_pass(order);
	return 0;
}

static int let_go(struct perfdata_order *order, u64 limit)
{
	int err = sort_entries(order);
	size_t low = 0, high = order->entries.nr;

	if (err)
		return err;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (order->entries.data[mid].time <= limit)
			low = mid + 1;
		else
			high = mid;
	}
	order->ready = low;
	return 0;
}

int perfdata_order_finish_round(struct perfdata_order *order)
{
	int err = 0;

	if (!perfdata_order_nr(order))
		return 0;
	if (order->limit)
		err = let_go(order, order->limit);
	order->limit = order->max_time;
	return err;
}

int perfdata_order_finish(struct perfdata_order *order)
{
	return let_go(order, UINT64_MAX);
}

int perfdata_order_finish_half(struct perfdata_order *order)
{
	const struct perfdata_order_entry *e;
	int err = sort_entries(order);

	if (err || !order->entries.nr)
		return err;
	e = order->entries.data;
	return let_go(order, e[0].time + (e[order->entries.nr - 1].time - e[0].time) / 2);
}

bool perfdata_order_take(struct perfdata_order *order, struct perfdata_raw *ret)
{
	struct perfdata_order_entry *entry;

	if (order->head == order->ready)
		return false;
	entry = &order->entries.data[order->head++];
	order->last_taken = entry->time;
	*ret = entry->raw;
	entry->raw.chunk = NULL;
	return true;
}
