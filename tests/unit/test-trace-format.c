/* SPDX-License-Identifier: GPL-2.0-only */
/* Formats of tracepoints, as kernels 6.1 and 6.12 write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "capture/trace-format.h"

#define COMMON                                                                                \
	"name: some\nID: 7\nformat:\n"                                                        \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"        \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char some[] = COMMON
	"\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:s16 delta;\toffset:24;\tsize:2;\tsigned:1;\n"
	"\tfield:char comm[16];\toffset:26;\tsize:16;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:const char * text;\toffset:48;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"%x\", REC->exit_reason\n";

static void expect(const struct trace_format *format, const char *name, u16 offset, u16 size,
		   enum trace_field_kind kind, bool is_signed)
{
	const struct trace_field *field = trace_format_find(format, name);

	assert_non_null(field);
	assert_int_equal(field->offset, offset);
	assert_int_equal(field->size, size);
	assert_int_equal(field->kind, kind);
	assert_int_equal(field->is_signed, is_signed);
}

static void test_fields(void **state)
{
	struct trace_format format;

	(void)state;
	assert_int_equal(trace_format_parse(some, &format), 0);
	assert_int_equal(format.fields.nr, 10);
	assert_int_equal(format.size, 56);
	expect(&format, "common_pid", 4, 4, TRACE_FIELD_NUMBER, true);
	expect(&format, "exit_reason", 8, 4, TRACE_FIELD_NUMBER, false);
	expect(&format, "guest_rip", 16, 8, TRACE_FIELD_NUMBER, false);
	expect(&format, "delta", 24, 2, TRACE_FIELD_NUMBER, true);
	expect(&format, "comm", 26, 16, TRACE_FIELD_OTHER, false);
	expect(&format, "name", 44, 4, TRACE_FIELD_DYNAMIC, false);
	expect(&format, "text", 48, 8, TRACE_FIELD_NUMBER, false);
	assert_null(trace_format_find(&format, "exit"));
	trace_format_deinit(&format);
}

/* However it is cut: an error, or the fields before. */
static void test_cut(void **state)
{
	char text[sizeof(some)];

	(void)state;
	for (size_t len = 0; len < sizeof(some); len++) {
		struct trace_format format;
		int err;

		memcpy(text, some, len);
		text[len] = '\0';
		err = trace_format_parse(text, &format);
		if (err) {
			assert_int_equal(err, -EBADMSG);
			continue;
		}
		assert_in_range(format.size, TRACE_COMMON_SIZE, 56);
		trace_format_deinit(&format);
	}
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
		"", "format:\n", "field:int a;\toffset:0;\tsize:4;\tsigned:1;\n",
		COMMON "field:int;\toffset:8;\tsize:4;\tsigned:1;\n",
		COMMON "field:int a\toffset:8;\tsize:4;\tsigned:1;\n",
		COMMON "field:int a;\toffset:x;\tsize:4;\tsigned:1;\n",
		COMMON "field:int a;\toffset:70000;\tsize:4;\tsigned:1;\n",
		COMMON "field:int a;\toffset:8;\tsize:4;\n"
		       "\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;\n",
	};
	struct trace_format format;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(trace_format_parse(bad[i], &format), -EBADMSG);
}

static void test_tidy(void **state)
{
	struct trace_format format;
	u8 record[64];
	u32 word;

	(void)state;
	assert_int_equal(trace_format_parse(some, &format), 0);
	memset(record, 0xee, sizeof(record));
	trace_format_tidy(&format, record, 56, 0x1234, -2);
	assert_int_equal(record[0] | record[1] << 8, 0x1234);
	assert_int_equal(record[2] | record[3], 0);
	memcpy(&word, record + 4, sizeof(word));
	assert_int_equal((s32)word, -2);
	assert_int_equal(record[8], 0xee);
	/* Empty: of no length, at a byte that is 0. */
	memcpy(&word, record + 44, sizeof(word));
	assert_int_equal(word >> 16, 0);
	assert_int_equal(record[word & 0xffff], 0);
	assert_int_equal(record[56], 0xee);
	/* Nothing beyond the end. */
	memset(record, 0xee, sizeof(record));
	trace_format_tidy(&format, record, 46, 1, 1);
	assert_int_equal(record[44], 0xee);
	trace_format_tidy(&format, record, 4, 1, 1);
	trace_format_deinit(&format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_tidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
