/* SPDX-License-Identifier: GPL-2.0-only */
/* perf's mmap ring buffer, as linux/perf_event.h describes it. */
#include "capture/event-ring.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/cursor.h"
#include "base/errors.h"

#define RECORD_MAX 256	/* of a record: no more is wanted of a tracepoint's, others are smaller */

void event_ring_fill_attr(struct perf_event_attr *attr)
{
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;
	if (attr->type == PERF_TYPE_TRACEPOINT)
		attr->sample_type |= PERF_SAMPLE_RAW;
	attr->wakeup_events = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

int event_ring_open(int fd, size_t pages, struct event_ring *ret)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *map = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*ret = (struct event_ring){ .map = map, .size = pages * page };
	return 0;
}

void event_ring_close(struct event_ring *ring)
{
	if (ring->map)
		munmap(ring->map, ring->size + sysconf(_SC_PAGESIZE));
	ring->map = NULL;
}

/* Records may wrap around the buffer's end. */
static void copy_out(const struct event_ring *ring, u64 at, void *out, size_t size)
{
	const u8 *data = (const u8 *)ring->map + sysconf(_SC_PAGESIZE);
	size_t offset = at & (ring->size - 1);
	size_t first = MIN(size, ring->size - offset);

	memcpy(out, data + offset, first);
	memcpy((u8 *)out + first, data, size - first);
}

/* As much as there is room for. */
static void read_raw(struct cursor *c, struct event_overflow *overflow)
{
	u32 size = cursor_u32(c);

	size = MIN(size, MIN((size_t)WIRE_MAX_RAW, cursor_left(c)));
	overflow->raw_size = size;
	cursor_copy(c, overflow->raw, size);
}

static int parse_sample(struct cursor *c, u16 misc, struct event_overflow *ret)
{
	u16 mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct event_overflow overflow = {
		.guest = mode == PERF_RECORD_MISC_GUEST_KERNEL ||
			 mode == PERF_RECORD_MISC_GUEST_USER,
	};

	overflow.pc = cursor_u64(c);
	overflow.time = cursor_u64(c);
	overflow.period = cursor_u64(c);
	if (cursor_error(c))
		return -EBADMSG;
	if (cursor_left(c))
		read_raw(c, &overflow);
	*ret = overflow;
	return 1;
}

static u64 parse_lost(struct cursor *c, u32 type)
{
	if (type == PERF_RECORD_LOST)
		cursor_u64(c);	/* the event's id */
	return cursor_u64(c);
}

/* One record at @tail. 1: it was an overflow. */
static int read_record(const struct event_ring *ring, u64 tail, struct event_overflow *ret,
		       u64 *lost, u16 *ret_size)
{
	struct perf_event_header header;
	u8 record[RECORD_MAX];
	struct cursor c;

	copy_out(ring, tail, &header, sizeof(header));
	if (header.size < sizeof(header))
		return -EBADMSG;
	*ret_size = header.size;
	copy_out(ring, tail, record, MIN(header.size, sizeof(record)));
	cursor_init(&c, record, MIN(header.size, sizeof(record)));
	cursor_skip(&c, sizeof(header));
	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		return parse_sample(&c, header.misc, ret);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		*lost += parse_lost(&c, header.type);
		return 0;
	default:
		return 0;
	}
}

int event_ring_read(struct event_ring *ring, struct event_overflow *ret, u64 *lost)
{
	struct perf_event_mmap_page *page = ring->map;
	u64 tail = page->data_tail;
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	int found = 0;

	while (!found && tail != head) {
		u16 size = 0;

		found = head - tail > ring->size ? -EBADMSG :
						   read_record(ring, tail, ret, lost, &size);
		if (found < 0 || size > head - tail) {
			found = -EBADMSG;
			tail = head;
			break;
		}
		tail += size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return found;
}
