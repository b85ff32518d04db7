/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes of samples: either byte order, cut short, and bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "build.h"
#include "perfdata/note.h"

static const struct perfdata_note note = {
	.magic = PERFDATA_NOTE_MAGIC,
	.version = PERFDATA_NOTE_VERSION,
	.kernel_stop = 5,
	.user_stop = 1,
	.flags = PERFDATA_NOTE_MOVED,
	.host_tid = 0x1234,
};

static int read_note(const void *data, size_t size, struct perfdata_note *ret)
{
	struct perfdata_record record = {
		.kind = PERFDATA_SAMPLE,
		.sample = { .raw = data, .raw_size = size },
	};

	return perfdata_note_read(&record, ret);
}

static void test_reads(void **state)
{
	struct perfdata_note got;

	(void)state;
	assert_int_equal(sizeof(note), 12);
	assert_int_equal(read_note(&note, sizeof(note), &got), 0);
	assert_memory_equal(&got, &note, sizeof(note));
}

/* Behind a tracepoint's record it is the last. */
static void test_behind(void **state)
{
	struct {
		u32 record[6];
		struct perfdata_note note;
	} raw = { { PERFDATA_NOTE_MAGIC, 1, 2 }, note };
	struct perfdata_note got;

	(void)state;
	assert_int_equal(read_note(&raw, sizeof(raw), &got), 0);
	assert_memory_equal(&got, &note, sizeof(note));
	assert_int_equal(read_note(&raw, sizeof(raw) - 1, &got), -ENOENT);
}

static void test_other_byte_order(void **state)
{
	struct perfdata_note swapped = note, got;

	(void)state;
	swapped.magic = __builtin_bswap32(note.magic);
	swapped.host_tid = __builtin_bswap32(note.host_tid);
	assert_int_equal(read_note(&swapped, sizeof(swapped), &got), 0);
	assert_memory_equal(&got, &note, sizeof(note));
}

static void test_none(void **state)
{
	struct perfdata_note other = note, got;

	(void)state;
	for (size_t cut = 0; cut < sizeof(note); cut++)
		assert_int_equal(read_note(&note, cut, &got), -ENOENT);
	assert_int_equal(read_note(NULL, 0, &got), -ENOENT);
	other.version++;
	assert_int_equal(read_note(&other, sizeof(other), &got), -ENOENT);
	other = note;
	other.magic ^= 1;
	assert_int_equal(read_note(&other, sizeof(other), &got), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_other_byte_order),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
