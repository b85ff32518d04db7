/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of processors as an operating system reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/mptable.h"

#define SIZE (1 << 20)

static struct memory memory = { .nr = 1, .size = SIZE };

static int setup(void **state)
{
	(void)state;
	memory.slots[0] = (struct memory_slot){ .size = SIZE, .hva = calloc(1, SIZE) };
	return memory.slots[0].hva ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(memory.slots[0].hva);
	return 0;
}

static uint8_t sum(const uint8_t *bytes, size_t size)
{
	uint8_t result = 0;

	while (size--)
		result += *bytes++;
	return result;
}

/* On a paragraph between 0xf0000 and 1 MiB. */
static const uint8_t *find_pointer(void)
{
	for (size_t at = 0xf0000; at < SIZE; at += 16)
		if (!memcmp(memory.slots[0].hva + at, "_MP_", 4))
			return memory.slots[0].hva + at;
	return NULL;
}

/* Walks the entries, counts them by type. */
static size_t walk(const uint8_t *table, unsigned int counts[5])
{
	size_t at = 44;
	uint16_t nr;

	memcpy(&nr, table + 34, sizeof(nr));
	memset(counts, 0, 5 * sizeof(counts[0]));
	for (unsigned int i = 0; i < nr; i++) {
		uint8_t type = table[at];

		assert_in_range(type, 0, 4);
		if (type == 0)
			assert_int_equal(table[at + 1], counts[0]);
		counts[type]++;
		at += type ? 8 : 20;
	}
	return at;
}

static void test_table(void **state)
{
	(void)state;
	for (unsigned int nr = 1; nr <= MPTABLE_MAX_CPUS; nr++) {
		const uint8_t *pointer, *table;
		unsigned int counts[5];
		uint32_t at;
		uint16_t length;

		assert_int_equal(mptable_write(&memory, nr), 0);
		pointer = find_pointer();
		assert_non_null(pointer);
		assert_int_equal(sum(pointer, 16), 0);
		memcpy(&at, pointer + 4, sizeof(at));
		table = memory.slots[0].hva + at;
		assert_memory_equal(table, "PCMP", 4);
		memcpy(&length, table + 4, sizeof(length));
		assert_int_equal(sum(table, length), 0);
		assert_int_equal(walk(table, counts), length);
		assert_int_equal(counts[0], nr);
		assert_int_equal(counts[1], 1);
		assert_int_equal(counts[2], 1);
		assert_int_equal(counts[3], 16);
		assert_int_equal(counts[4], 2);
	}
}

static void test_refused(void **state)
{
	const struct memory small = { .nr = 1, .size = 4096, .slots = { memory.slots[0] } };

	(void)state;
	assert_int_equal(mptable_write(&memory, 0), -EINVAL);
	assert_int_equal(mptable_write(&memory, MPTABLE_MAX_CPUS + 1), -EINVAL);
	assert_int_equal(mptable_write(&small, 1), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
