/* SPDX-License-Identifier: GPL-2.0-only */
/* The base layer: cursor, string buffer, hash map, escaping, files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "build.h"

static void test_cursor_reads(void **state)
{
	const u8 data[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct cursor c;

	(void)state;
	cursor_init(&c, data, sizeof(data));
	assert_int_equal(cursor_u8(&c), 1);
	assert_int_equal(cursor_u64(&c), 0x0908070605040302ULL);
	assert_int_equal(cursor_error(&c), 0);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_error(&c), -ENODATA);
	assert_int_equal(c.error_at, 9);
	cursor_init(&c, data, sizeof(data));
	c.swap = true;
	assert_int_equal(cursor_u32(&c), 0x01020304);
	assert_int_equal(cursor_seek(&c, 10), -ENODATA);
	assert_int_equal(cursor_u8(&c), 0);
}

static void test_cursor_leb128(void **state)
{
	const u8 good[] = { 0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f };
	const u8 ten[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 };
	const u8 bad[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02 };
	struct cursor c;

	(void)state;
	cursor_init(&c, good, sizeof(good));
	assert_int_equal(cursor_uleb128(&c), 624485);
	assert_int_equal(cursor_sleb128(&c), -1);
	assert_int_equal(cursor_sleb128(&c), -128);
	cursor_init(&c, ten, sizeof(ten));
	assert_true(cursor_uleb128(&c) == UINT64_MAX);
	cursor_init(&c, bad, sizeof(bad));
	assert_int_equal(cursor_uleb128(&c), 0);
	assert_int_equal(cursor_error(&c), -EBADMSG);
	for (size_t cut = 0; cut < sizeof(ten); cut++) {
		cursor_init(&c, ten, cut);
		assert_int_equal(cursor_uleb128(&c), 0);
		assert_int_equal(cursor_error(&c), -ENODATA);
	}
}

static void test_cursor_strings(void **state)
{
	const char data[] = "one\0two";
	struct cursor c, sub;
	size_t len;

	(void)state;
	cursor_init(&c, data, sizeof(data));
	assert_string_equal(cursor_string(&c, 16, &len), "one");
	assert_int_equal(len, 3);
	assert_null(cursor_string(&c, 2, NULL));
	assert_int_equal(cursor_error(&c), -E2BIG);
	cursor_init(&c, data, 7);
	cursor_seek(&c, 4);
	assert_null(cursor_string(&c, 16, NULL));
	assert_int_equal(cursor_error(&c), -ENODATA);
	cursor_init(&c, data, sizeof(data));
	assert_int_equal(cursor_sub(&c, 4, 4, &sub), 0);
	assert_string_equal(cursor_string(&sub, 16, NULL), "two");
	assert_int_equal(cursor_sub(&c, 4, 5, &sub), -ENODATA);
	assert_int_equal(cursor_sub(&c, SIZE_MAX, 2, &sub), -ENODATA);
}

static void test_strbuf(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	(void)state;
	assert_string_equal(strbuf_cstr(&sb), "");
	strbuf_addf(&sb, "%d-%s", 7, "seven");
	strbuf_addc(&sb, '!');
	assert_string_equal(strbuf_cstr(&sb), "7-seven!");
	strbuf_addf(&sb, "%0500d", 1);
	assert_int_equal(sb.len, 508);
	assert_int_equal(strbuf_grow(&sb, SIZE_MAX), -ENOMEM);
	strbuf_adds(&sb, "dropped");
	assert_int_equal(sb.len, 508);
	assert_int_equal(strbuf_error(&sb), -ENOMEM);
}

static void test_hashmap(void **state)
{
	struct hashmap map = HASHMAP_INIT;
	bool is_new;

	(void)state;
	assert_null(hashmap_get(&map, 0));
	for (u64 i = 0; i < 10000; i++) {
		u64 *value = hashmap_put(&map, i << 12, &is_new);

		assert_non_null(value);
		assert_true(is_new);
		*value = i;
	}
	assert_int_equal(map.nr, 10000);
	for (u64 i = 0; i < 10000; i++)
		assert_int_equal(*hashmap_get(&map, i << 12), i);
	assert_null(hashmap_get(&map, 1));
	hashmap_put(&map, 0, &is_new);
	assert_false(is_new);
	hashmap_clear(&map);
	assert_null(hashmap_get(&map, 0));
	hashmap_deinit(&map);
}

static void test_escape(void **state)
{
	char out[64], tiny[6];

	(void)state;
	escape_terminal("a\x1b[31mb\n", out, sizeof(out));
	assert_string_equal(out, "a\\x1b[31mb\\x0a");
	escape_terminal("na\xc3\xafve \xe2\x80\xae.", out, sizeof(out));
	assert_string_equal(out, "na\xc3\xafve \\xe2\\x80\\xae.");
	escape_terminal("\xc2\x9b", out, sizeof(out));
	assert_string_equal(out, "\\xc2\\x9b");
	assert_int_equal(escape_terminal("ab\x01", tiny, sizeof(tiny)), 2);
	escape_path_component("../../etc/passwd", out, sizeof(out));
	assert_string_equal(out, "_._.._etc_passwd");
	escape_path_component("", out, sizeof(out));
	assert_string_equal(out, "_");
}

static void test_file_atomic(void **state)
{
	char dir[] = "/tmp/kvmprof-test.XXXXXX", path[64];
	_cleanup_free_ char *data = NULL;
	struct stat st;
	size_t size;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a/b/c", dir);
	assert_int_equal(file_write_atomic(path, "hello", 5), 0);
	assert_int_equal(file_read(AT_FDCWD, path, 4, &data, &size), -E2BIG);
	assert_int_equal(file_read(AT_FDCWD, path, 5, &data, &size), 0);
	assert_int_equal(size, 5);
	assert_string_equal(data, "hello");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	unlink(path);
	snprintf(path, sizeof(path), "%s/a/b", dir);
	assert_int_equal(rmdir(path), 0);	/* no temporary file is left */
	snprintf(path, sizeof(path), "%s/a", dir);
	rmdir(path);
	rmdir(dir);
}

static void test_file_device(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(file_write_atomic("/dev/full", "x", 1), -ENOSPC);
	assert_int_equal(stat("/dev/full", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void test_vec(void **state)
{
	VEC(int) v = VEC_INIT;
	int sum = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(vec_push(&v, i), 0);
	vec_for_each(&v, p)
		sum += *p;
	assert_int_equal(sum, 4950);
	vec_deinit(&v);
}

static void test_file_limit(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = MIN(limit.rlim_max, 64);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	file_limit_raise();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur == limit.rlim_max);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cursor_reads),
		cmocka_unit_test(test_cursor_leb128),
		cmocka_unit_test(test_cursor_strings),
		cmocka_unit_test(test_strbuf),
		cmocka_unit_test(test_hashmap),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_file_atomic),
		cmocka_unit_test(test_file_device),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_vec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
