/* SPDX-License-Identifier: GPL-2.0-only */
/* Build ids and the notes that hold them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>

#include "build.h"
#include "objfile/build-id.h"

static const u8 bytes[BUILD_ID_MAX] = { 0xab, 0xcd, 0x01 };

static void put_note(struct strbuf *sb, const char *name, u32 type, const void *desc, u32 size)
{
	put_u32(sb, strlen(name) + 1);
	put_u32(sb, size);
	put_u32(sb, type);
	strbuf_add(sb, name, strlen(name) + 1);
	put_align(sb, 4);
	strbuf_add(sb, desc, size);
	put_align(sb, 4);
}

static void test_make(void **state)
{
	struct build_id id = build_id_make(bytes, 3);
	char hex[BUILD_ID_HEX];

	(void)state;
	build_id_hex(&id, hex);
	assert_string_equal(hex, "abcd01");
	assert_int_equal(build_id_make(bytes, BUILD_ID_MAX + 1).size, 0);
	assert_int_equal(build_id_make(bytes + 3, 17).size, 0);
	assert_int_equal(build_id_make(NULL, 4).size, 0);
	id = build_id_make(bytes, 0);
	build_id_hex(&id, hex);
	assert_string_equal(hex, "");
}

static void test_notes(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	struct build_id id = { 0 };
	size_t start;

	(void)state;
	put_note(&sb, "Linux", 0x100, "abcde", 5);
	put_note(&sb, "Xen", NT_GNU_BUILD_ID, bytes, 20);
	assert_int_equal(build_id_from_notes(sb.data, sb.len, false, &id), -ENOENT);
	start = sb.len;
	put_note(&sb, "GNU", NT_GNU_BUILD_ID, bytes, 20);
	assert_int_equal(build_id_from_notes(sb.data, sb.len, false, &id), 0);
	assert_int_equal(id.size, 20);
	assert_memory_equal(id.data, bytes, 20);
	for (size_t cut = start + 1; cut < sb.len; cut++) {
		_cleanup_free_ char *copy = malloc(cut);

		assert_non_null(copy);
		memcpy(copy, sb.data, cut);
		assert_int_equal(build_id_from_notes(copy, cut, false, &id), -ENODATA);
	}
	assert_int_equal(build_id_from_notes(NULL, 0, false, &id), -ENOENT);
}

/* The last note's padding may be missing; huge sizes are no way out of the range. */
static void test_edges(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	const u32 huge[] = { 4, 0xffffffff, NT_GNU_BUILD_ID, 0x00554e47 };
	const u32 swapped[] = { __builtin_bswap32(4), __builtin_bswap32(4),
				__builtin_bswap32(NT_GNU_BUILD_ID), 0x00554e47, 0x01020304 };
	struct build_id id;

	(void)state;
	put_note(&sb, "GNU", NT_GNU_BUILD_ID, bytes, 3);
	assert_int_equal(build_id_from_notes(sb.data, sb.len - 1, false, &id), 0);
	assert_int_equal(id.size, 3);
	assert_int_equal(build_id_from_notes(huge, sizeof(huge), false, &id), -ENODATA);
	assert_int_equal(build_id_from_notes(swapped, sizeof(swapped), true, &id), 0);
	assert_int_equal(id.size, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
