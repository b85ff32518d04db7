/* SPDX-License-Identifier: GPL-2.0-only */
/* The symbol cache: perf's layout, several writers, hostile names, and where it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "build-elf.h"
#include "build-folder.h"
#include "symbols/cache.h"

static const struct build_id id = { 20, { 0xab, 0xcd, 0xef } };
static const char id_hex[] = "abcdef0000000000000000000000000000000000";

static int setup(void **state)
{
	*state = build_folder_make();
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	int err = build_folder_remove(*state);

	free(*state);
	return err;
}

static void expect_file(const char *dir, const char *name, const char *contents)
{
	_cleanup_free_ char *data = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &data, NULL), 0);
	assert_string_equal(data, contents);
}

static void expect_link(const char *dir, const char *target)
{
	char path[PATH_MAX], got[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s", dir, id_hex, id_hex + 2);
	len = readlink(path, got, sizeof(got) - 1);
	assert_true(len > 0);
	got[len] = '\0';
	assert_string_equal(got, target);
}

static const char text[] =
	"ffffffff81000000 T _text\n"
	"ffffffffc0201000 t ext4_read\t[ext4]\n"
	"ffffffff81000070 t startup\n";

static void test_kallsyms(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const char *dir = *state;
	char path[PATH_MAX];

	assert_int_equal(symcache_create(dir, &cache), 0);
	assert_string_equal(symcache_dir(cache), dir);
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_KALLSYMS, path, sizeof(path)), -ENOENT);
	assert_int_equal(symcache_add_kallsyms(cache, &id, text, strlen(text)), 0);
	expect_file(dir, "[kernel.kallsyms]/abcdef0000000000000000000000000000000000/kallsyms",
		    "ffffffff81000000 T _text\nffffffff81000070 t startup\n");
	expect_link(dir, "../../[kernel.kallsyms]/abcdef0000000000000000000000000000000000");
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_KALLSYMS, path, sizeof(path)), 0);
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_KALLSYMS, path, 10), -ENAMETOOLONG);
	/* What is there stays. */
	assert_int_equal(symcache_add_kallsyms(cache, &id, "1 T other\n", 10), 0);
	expect_file(dir, "[kernel.kallsyms]/abcdef0000000000000000000000000000000000/kallsyms",
		    "ffffffff81000000 T _text\nffffffff81000070 t startup\n");
}

static void test_bad_kallsyms(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_id none = { 0 };
	char path[PATH_MAX];

	assert_int_equal(symcache_create(*state, &cache), 0);
	assert_int_equal(symcache_add_kallsyms(cache, &none, text, strlen(text)), -EINVAL);
	assert_int_equal(symcache_add_kallsyms(cache, &id, text, strlen(text) - 1), -ENODATA);
	assert_int_equal(symcache_add_kallsyms(cache, &id, "what\n", 5), -EBADMSG);
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_KALLSYMS, path, sizeof(path)), -ENOENT);
}

static void test_module(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	struct elf_synth from = { .start = 0x1000, .size = 0x100, .build_id = id };
	char path[PATH_MAX], expected[PATH_MAX];

	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	from.symbols = symtab;
	assert_int_equal(symcache_create(*state, &cache), 0);
	assert_int_equal(symcache_add_module(cache, "6.1", "../ext4", &from), 0);
	expect_link(*state,
		    "../../lib/modules/6.1/_._ext4.ko/abcdef0000000000000000000000000000000000");
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path)), 0);
	snprintf(expected, sizeof(expected), "%s/.build-id/ab/%s/elf", (char *)*state, id_hex + 2);
	assert_string_equal(path, expected);
	from.build_id.size = 0;
	assert_int_equal(symcache_add_module(cache, NULL, "ext4", &from), -EINVAL);
}

/* An object of build id @of, with @nr symbols to tell it from others. */
static void make_file(const struct build_id *of, size_t nr, struct strbuf *out)
{
	static const struct build_elf_symbol symbols[16] = {
		[0 ... 15] = { "f", 0x1000, 16, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0,
			       BUILD_ELF_TEXT },
	};
	const struct build_elf spec = {
		.type = ET_DYN, .build_id = *of, .symbols = symbols, .nr_symbols = nr,
	};

	build_elf(&spec, out);
}

static void expect_bytes(const char *dir, const char *name, const struct strbuf *contents)
{
	_cleanup_free_ char *data = NULL;
	char path[PATH_MAX];
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(file_read(AT_FDCWD, path, 1 << 20, &data, &size), 0);
	assert_int_equal(size, contents->len);
	assert_memory_equal(data, contents->data, size);
}

static void test_files(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT, debug = STRBUF_INIT;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const char *dir = *state;

	make_file(&id, 0, &file);
	make_file(&id, 4, &debug);
	assert_int_equal(symcache_create(dir, &cache), 0);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/usr//bin/../x", file.data,
					   file.len), 0);
	expect_bytes(dir, "usr/bin/_./x/abcdef0000000000000000000000000000000000/elf", &file);
	expect_link(dir, "../../usr/bin/_./x/abcdef0000000000000000000000000000000000");
	/* Another file of the same build id goes where the link leads, whatever its name. */
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_DEBUG, "/other", debug.data,
					   debug.len), 0);
	expect_bytes(dir, "usr/bin/_./x/abcdef0000000000000000000000000000000000/debug", &debug);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_KALLSYMS, "/x", "x", 1), -EINVAL);
	/* What is there stays. */
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", debug.data, debug.len),
			 0);
	expect_bytes(dir, "usr/bin/_./x/abcdef0000000000000000000000000000000000/elf", &file);
}

/* A segment that has nothing in the file may be said to be behind its end. */
static void test_empty_segment(void **state)
{
	static const struct build_elf_load loads[] = {
		{ 0x400000, 0, 0x100, 0x100 },
		{ 0x41fff0, 0x90000, 0, 0x150 },
		{ 0x420000, 0x90000, 1, 1 },
	};
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;

	assert_int_equal(symcache_create(*state, &cache), 0);
	for (size_t nr = 3; nr >= 2; nr--) {
		const struct build_elf spec = {
			.type = ET_DYN, .build_id = id, .loads = loads, .nr_loads = nr,
		};
		_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;

		build_elf(&spec, &file);
		assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", file.data,
						   file.len), nr == 3 ? -EBADMSG : 0);
	}
}

/* Not an object, another's build id, and the beginnings of one. */
static void test_bad_files(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_id other = { 20, { 1 } };
	char path[PATH_MAX];

	make_file(&id, 3, &file);
	assert_int_equal(symcache_create(*state, &cache), 0);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", "elf", 3), -EBADMSG);
	assert_int_equal(symcache_add_file(cache, &other, SYMCACHE_ELF, "/x", file.data, file.len),
			 -EBADMSG);
	for (size_t size = 0; size < file.len; size++) {
		_cleanup_free_ char *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy, file.data, size);
		assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", copy, size),
				 -EBADMSG);
	}
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path)), -ENOENT);
	assert_int_equal(symcache_find(cache, &other, SYMCACHE_ELF, path, sizeof(path)), -ENOENT);
}

static void test_bad_paths(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	char path[PATH_MAX + 100];

	assert_int_equal(symcache_create(*state, &cache), 0);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "", "x", 1), -EINVAL);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "///", "x", 1), -EINVAL);
	memset(path, 'x', sizeof(path));
	path[NAME_MAX + 1] = '\0';
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, path, "x", 1), -ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 ? 'x' : '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, path, "x", 1), -ENAMETOOLONG);
}

static void test_dangling_link(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	char path[PATH_MAX];

	assert_int_equal(symcache_create(*state, &cache), 0);
	snprintf(path, sizeof(path), "%s/.build-id/ab", (char *)*state);
	assert_int_equal(file_make_dirs(path), 0);
	snprintf(path, sizeof(path), "%s/.build-id/ab/%s", (char *)*state, id_hex + 2);
	assert_int_equal(symlink("../../gone", path), 0);
	make_file(&id, 0, &file);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", file.data, file.len), 0);
	expect_link(*state, "../../x/abcdef0000000000000000000000000000000000");
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path)), 0);
}

/* As very old perf did it: the link is to the object's file. */
static void test_old_style(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	char path[PATH_MAX], found[PATH_MAX];

	assert_int_equal(symcache_create(*state, &cache), 0);
	snprintf(path, sizeof(path), "%s/.build-id/ab/%s", (char *)*state, id_hex + 2);
	assert_int_equal(file_write_atomic(path, "old", 3), 0);
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_ELF, found, sizeof(found)), 0);
	assert_string_equal(found, path);
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_DEBUG, found, sizeof(found)), -ENOENT);
}

/* All succeed, and what is there is whole. */
static void test_many_writers(void **state)
{
	enum { NR = 16 };
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	char path[PATH_MAX];
	int status;

	make_file(&id, 5, &file);
	assert_int_equal(symcache_create(*state, &cache), 0);
	for (int i = 0; i < NR; i++) {
		if (fork())
			continue;
		_exit(symcache_add_file(cache, &id, SYMCACHE_ELF, "/a/b/c", file.data, file.len) ?
		      1 : 0);
	}
	for (int i = 0; i < NR; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path)), 0);
	expect_bytes(*state, "a/b/c/abcdef0000000000000000000000000000000000/elf", &file);
}

/* What is refused leaves nothing behind. */
static void test_limit(void **state)
{
	_cleanup_strbuf_ struct strbuf small = STRBUF_INIT, large = STRBUF_INIT;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_id other = { 20, { 1 } };
	char path[PATH_MAX];

	make_file(&id, 0, &small);
	make_file(&other, 4, &large);
	assert_true(large.len > small.len);
	assert_int_equal(symcache_create(*state, &cache), 0);
	symcache_limit_added(cache, small.len + large.len - 1);
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", small.data, small.len),
			 0);
	assert_int_equal(symcache_add_file(cache, &other, SYMCACHE_ELF, "/y", large.data,
					   large.len), -E2BIG);
	assert_int_equal(symcache_find(cache, &other, SYMCACHE_ELF, path, sizeof(path)), -ENOENT);
	/* What is there already takes no room. */
	assert_int_equal(symcache_add_file(cache, &id, SYMCACHE_ELF, "/x", small.data, small.len),
			 0);
	assert_int_equal(symcache_add_kallsyms(cache, &other, text, strlen(text)), 0);
	symcache_limit_added(cache, 0);
	assert_int_equal(symcache_add_file(cache, &other, SYMCACHE_ELF, "/y", large.data,
					   large.len), 0);
}

static void expect_default(const char *expected)
{
	char dir[PATH_MAX];

	assert_int_equal(symcache_default_dir(dir, sizeof(dir)), 0);
	assert_string_equal(dir, expected);
}

static void test_default_dir(void **state)
{
	static const char config[] =
		"# comment\n[report]\n\tdir = /wrong\n[buildid]\n\tdirs = /wrong\n"
		"\t dir\t=  /one two \r\n[other]\ndir = /wrong\n";
	char path[PATH_MAX], expected[PATH_MAX];

	setenv("HOME", *state, 1);
	unsetenv("PERF_CONFIG");
	snprintf(expected, sizeof(expected), "%s/.debug", (char *)*state);
	expect_default(expected);
	snprintf(path, sizeof(path), "%s/.perfconfig", (char *)*state);
	assert_int_equal(file_write_atomic(path, config, strlen(config)), 0);
	expect_default("/one two");
	setenv("PERF_CONFIG", "/nonexistent", 1);
	expect_default(expected);
	setenv("PERF_CONFIG", path, 1);
	expect_default("/one two");
	unsetenv("PERF_CONFIG");
}

/* Whether anything could be stored there is known before it is. */
static void test_check(void **state)
{
	static const struct {
		const char *dir;
		int want;
	} cases[] = {
		{ "/tmp", 0 },
		{ "/tmp/kvmprof-none/of/these/", 0 },
		{ "/kvmprof-none", 0 },
		{ "kvmprof-none", 0 },
		{ "/dev/null/debug", -ENOTDIR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(symcache_destroy) struct symcache *cache = NULL;

		assert_int_equal(symcache_create(cases[i].dir, &cache), 0);
		assert_int_equal(symcache_check(cache), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check),
		cmocka_unit_test_setup_teardown(test_kallsyms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_kallsyms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_module, setup, teardown),
		cmocka_unit_test_setup_teardown(test_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_segment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dangling_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_style, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_writers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_default_dir, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
