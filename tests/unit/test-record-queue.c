/* SPDX-License-Identifier: GPL-2.0-only */
/* Records that wait: their order, and what happens when there is no more room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/vec.h"
#include "capture/record-queue.h"

#define ROOM 256

static void expect_first(struct record_queue *queue, u8 byte, size_t size)
{
	size_t is;
	const u8 *record = record_queue_first(queue, &is);

	assert_non_null(record);
	assert_int_equal((uintptr_t)record % 8, 0);
	assert_int_equal(is, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(record[i], byte);
}

static bool put(struct record_queue *queue, u8 byte, size_t size)
{
	u8 record[2 * ROOM];

	memset(record, byte, sizeof(record));
	return record_queue_put(queue, record, size);
}

static void test_full(void **state)
{
	struct record_queue queue;
	size_t size;

	(void)state;
	assert_int_equal(record_queue_init(&queue, ROOM), 0);
	assert_null(record_queue_first(&queue, &size));
	assert_false(put(&queue, 1, ROOM));
	assert_false(put(&queue, 1, ROOM + 1));
	assert_true(put(&queue, 1, ROOM - 8));
	assert_false(put(&queue, 2, 1));
	expect_first(&queue, 1, ROOM - 8);
	record_queue_drop(&queue);
	assert_null(record_queue_first(&queue, &size));
	for (u8 i = 0; i < ROOM / 16; i++)
		assert_true(put(&queue, i, 1 + i % 8));
	assert_false(put(&queue, 99, 1));
	for (u8 i = 0; i < ROOM / 16; i++) {
		expect_first(&queue, i, 1 + i % 8);
		record_queue_drop(&queue);
		assert_true(put(&queue, 100 + i, 8));	/* there is room for one again */
		assert_false(put(&queue, 99, 1));
	}
	record_queue_deinit(&queue);
}

static void test_no_room_at_all(void **state)
{
	struct record_queue queue;
	size_t size;

	(void)state;
	assert_int_equal(record_queue_init(&queue, 7), 0);
	assert_false(put(&queue, 1, 1));
	assert_null(record_queue_first(&queue, &size));
	record_queue_deinit(&queue);
}

/* Any order of puts and drops, against a plain list. */
static void test_order(void **state)
{
	VEC(size_t) sizes = VEC_INIT;
	struct record_queue queue;
	size_t first = 0, refused = 0, is;
	u32 random = 1;

	(void)state;
	assert_int_equal(record_queue_init(&queue, ROOM), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		size_t size = 1 + (random >> 8) % 100;

		random = random * 1103515245 + 12345;
		if (random >> 31) {
			if (put(&queue, sizes.nr, size))
				assert_int_equal(vec_push(&sizes, size), 0);
			else
				refused++;
		} else if (first < sizes.nr) {
			expect_first(&queue, first, sizes.data[first]);
			record_queue_drop(&queue);
			first++;
		} else {
			assert_null(record_queue_first(&queue, &is));
		}
	}
	assert_true(refused && first > 1000);
	vec_deinit(&sizes);
	record_queue_deinit(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_no_room_at_all),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
