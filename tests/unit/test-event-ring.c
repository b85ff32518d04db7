/* SPDX-License-Identifier: GPL-2.0-only */
/* The reader of perf's ring buffer, over buffers made here: wrapping, losses, nonsense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/types.h"
#include "capture/event-ring.h"

#define DATA_BYTES 4096U
#define SAMPLE_BYTES 32
#define GUEST PERF_RECORD_MISC_GUEST_USER
#define HOST PERF_RECORD_MISC_KERNEL

static struct event_ring ring;
static struct perf_event_mmap_page *page;
static u8 *data;

static int setup(void **state)
{
	size_t page_size = sysconf(_SC_PAGESIZE);

	(void)state;
	page = calloc(1, page_size + DATA_BYTES);
	data = (u8 *)page + page_size;
	ring = (struct event_ring){ .map = page, .size = DATA_BYTES };
	return page ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(page);
	return 0;
}

static void put(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[(page->data_head + i) % DATA_BYTES] = ((const u8 *)bytes)[i];
	page->data_head += size;
}

static void put_record(u32 type, u16 misc, u64 a, u64 b, u64 c)
{
	struct {
		struct perf_event_header header;
		u64 words[3];
	} record = { { type, misc, SAMPLE_BYTES }, { a, b, c } };

	put(&record, sizeof(record));
}

static void test_samples(void **state)
{
	struct event_overflow overflow;
	u64 lost = 0;

	(void)state;
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 0);
	put_record(PERF_RECORD_SAMPLE, GUEST, 1, 2, 3);
	put_record(PERF_RECORD_SAMPLE, HOST, 4, 5, 6);
	put_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_GUEST_KERNEL | PERF_RECORD_MISC_EXACT_IP,
		   7, 8, 9);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_true(overflow.guest);
	assert_int_equal(overflow.pc, 1);
	assert_int_equal(overflow.time, 2);
	assert_int_equal(overflow.period, 3);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_false(overflow.guest);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_true(overflow.guest);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 0);
	assert_int_equal(page->data_tail, page->data_head);
	assert_int_equal(lost, 0);
}

/* A tracepoint's: its record comes with it, as much as is wanted. */
static void test_raw(void **state)
{
	struct {
		struct perf_event_header header;
		u64 words[3];
		u32 size;
		u8 raw[404];
	} record = { { PERF_RECORD_SAMPLE, GUEST, sizeof(record) }, { 1, 2, 3 }, 12, { 0 } };
	struct event_overflow overflow;
	u64 lost = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(record.raw); i++)
		record.raw[i] = i;
	record.header.size = offsetof(typeof(record), raw) + 12;
	put(&record, record.header.size);
	record.header.size = sizeof(record);
	record.size = sizeof(record.raw);
	put(&record, record.header.size);
	/* What it says does not fit into it. */
	record.header.size = offsetof(typeof(record), raw) + 4;
	put(&record, record.header.size);
	put_record(PERF_RECORD_SAMPLE, GUEST, 1, 2, 3);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_int_equal(overflow.raw_size, 12);
	assert_memory_equal(overflow.raw, record.raw, 12);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_int_equal(overflow.raw_size, WIRE_MAX_RAW);
	assert_memory_equal(overflow.raw, record.raw, WIRE_MAX_RAW);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_int_equal(overflow.raw_size, 4);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_int_equal(overflow.raw_size, 0);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 0);
}

/* Records lie across the buffer's end at every possible place. */
static void test_wrap(void **state)
{
	struct event_overflow overflow;
	u64 lost = 0;

	(void)state;
	for (u64 i = 0; i < 3 * DATA_BYTES / 8; i++) {
		page->data_head += 8;
		page->data_tail += 8;
		put_record(PERF_RECORD_SAMPLE, GUEST, i, i + 1, i + 2);
		assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
		assert_int_equal(overflow.pc, i);
		assert_int_equal(overflow.period, i + 2);
	}
}

static void test_others(void **state)
{
	struct perf_event_header big = { PERF_RECORD_MMAP2, 0, 1024 };
	struct event_overflow overflow;
	u8 zeros[1024 - sizeof(big)] = { 0 };
	u64 lost = 0;

	(void)state;
	put_record(PERF_RECORD_LOST, 0, 77, 5, 0);
	put_record(PERF_RECORD_LOST_SAMPLES, 0, 3, 0, 0);
	put_record(PERF_RECORD_THROTTLE, 0, 1, 2, 3);
	put(&big, sizeof(big));
	put(zeros, sizeof(zeros));
	put_record(PERF_RECORD_SAMPLE, GUEST, 1, 2, 3);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 1);
	assert_int_equal(overflow.pc, 1);
	assert_int_equal(lost, 8);
}

static void expect_bad(u16 size)
{
	struct perf_event_header header = { PERF_RECORD_SAMPLE, GUEST, size };
	struct event_overflow overflow;
	u64 lost = 0, word = 0;

	put(&header, sizeof(header));
	put(&word, sizeof(word));
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), -EBADMSG);
	/* Nothing more comes out of it, and nobody waits for it. */
	assert_int_equal(page->data_tail, page->data_head);
	assert_int_equal(event_ring_read(&ring, &overflow, &lost), 0);
}

static void test_bad(void **state)
{
	(void)state;
	for (u16 size = 0; size < SAMPLE_BYTES; size++) {
		if (size != 16 + 8)
			expect_bad(size);
	}
	expect_bad(UINT16_MAX);
	page->data_head = page->data_tail + DATA_BYTES + 8;
	expect_bad(SAMPLE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(test_raw, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
