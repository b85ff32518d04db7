/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples that wait: a ring of records, each behind a small head. */
#include "engine/parked.h"

#include <string.h>
#include <sys/mman.h>

#define KEEP_BYTES (256U << 10)	/* of the area's memory, when it is empty */

/* 8-byte aligned, as records have to be. */
struct head {
	u64 time;
	const void *what;	/* NULL: done with, or never a sample: the rest of the area */
	void *held;
	u32 size;		/* with the record behind it */
	u32 pad;
};

struct parked {
	u8 *area;
	u32 first, end;		/* of what is in use; .end <= .first: it goes on at 0 */
	bool full;		/* .first == .end: that is all, not nothing */
	u32 high;		/* bytes from the start that were written */
	size_t nr;
	u64 oldest;
};

int parked_create(struct parked **ret)
{
	struct parked *parked = calloc(1, sizeof(*parked));

	if (!parked)
		return -ENOMEM;
	parked->oldest = UINT64_MAX;
	parked->area = mmap(NULL, PARKED_MAX_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (parked->area == MAP_FAILED) {
		free(parked);
		return -ENOMEM;
	}
	/* Best effort: a kernel may be built without. */
	madvise(parked->area, PARKED_MAX_BYTES, MADV_DONTDUMP);
	*ret = parked;
	return 0;
}

void parked_destroy(struct parked *parked)
{
	if (!parked)
		return;
	munmap(parked->area, PARKED_MAX_BYTES);
	free(parked);
}

static struct head *head_at(const struct parked *parked, u32 at)
{
	return (struct head *)(parked->area + at);
}

static bool is_empty(const struct parked *parked)
{
	return parked->first == parked->end && !parked->full;
}

/* Bytes from .end on that are free and in one piece. */
static u32 room(const struct parked *parked)
{
	if (parked->full)
		return 0;
	return (parked->end < parked->first ? parked->first : PARKED_MAX_BYTES) - parked->end;
}

/* What is behind @size bytes at @at: the area's start where too little is left for a head. */
static u32 next_of(u32 at, u32 size)
{
	at += size;
	return PARKED_MAX_BYTES - at < sizeof(struct head) ? 0 : at;
}

static void take_room(struct parked *parked, u32 size)
{
	parked->high = MAX(parked->high, parked->end + size);
	parked->end = next_of(parked->end, size);
	parked->full = parked->end == parked->first;
}

/* Where a record of that size goes; NULL: nowhere. */
static struct head *reserve(struct parked *parked, u32 size)
{
	struct head *head = head_at(parked, parked->end);
	u32 left = room(parked);

	/* The rest of the area is too short, and is left out. */
	if (!parked->full && left < size && parked->end >= parked->first && parked->first >= size) {
		*head = (struct head){ .size = left };
		take_room(parked, left);
		head = head_at(parked, parked->end);
		left = room(parked);
	}
	if (left < size)
		return NULL;
	take_room(parked, size);
	return head;
}

int parked_add(struct parked *parked, const struct sample *sample, const void *what, void *held)
{
	const struct wire_sample *wire = sample->wire;
	u32 size = sizeof(struct head) + ALIGN_UP(wire->size, 8);
	struct head *head;

	if (wire->size > PARKED_MAX_BYTES / 2)
		return -ENOBUFS;
	head = reserve(parked, size);
	if (!head)
		return -ENOBUFS;
	*head = (struct head){ .time = wire->time, .what = what, .held = held, .size = size };
	memcpy(head + 1, wire, wire->size);
	parked->nr++;
	parked->oldest = MIN(parked->oldest, wire->time);
	return 0;
}

size_t parked_nr(const struct parked *parked)
{
	return parked->nr;
}

u64 parked_oldest(const struct parked *parked)
{
	return parked->oldest;
}

static void drop_first(struct parked *parked)
{
	while (!is_empty(parked) && !head_at(parked, parked->first)->what) {
		parked->first = next_of(parked->first, head_at(parked, parked->first)->size);
		parked->full = false;
	}
	if (!is_empty(parked))
		return;
	parked->first = parked->end = 0;
	if (parked->high > KEEP_BYTES)
		madvise(parked->area, PARKED_MAX_BYTES, MADV_DONTNEED);
	parked->high = 0;
}

static void visit(struct parked *parked, struct head *head, parked_fn *fn, void *ctx)
{
	struct sample sample;

	if (!head->what)
		return;
	/* It was whole when it was copied. */
	if (!sample_init(&sample, head + 1, head->size - sizeof(*head)))
		head->what = fn(ctx, &sample, head->what, head->held);
	else
		head->what = NULL;
	if (!head->what)
		parked->nr--;
	else
		parked->oldest = MIN(parked->oldest, head->time);
}

void parked_for_each(struct parked *parked, parked_fn *fn, void *ctx)
{
	u32 at = parked->first;
	bool more = !is_empty(parked);

	parked->oldest = UINT64_MAX;
	while (more) {
		struct head *head = head_at(parked, at);

		visit(parked, head, fn, ctx);
		at = next_of(at, head->size);
		more = at != parked->end;
	}
	drop_first(parked);
}
