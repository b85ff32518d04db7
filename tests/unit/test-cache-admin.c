/* SPDX-License-Identifier: GPL-2.0-only */
/* Looking after the symbol cache: listing, removing, limits, links that lead out, many at once. */
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
#include "symbols/cache-admin.h"

#define FILE_SIZE_ABOUT 0x1000	/* bytes of a test file at least */

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

static struct build_id id_of(u8 nr)
{
	return (struct build_id){ 20, { 0xab, nr, 1 } };
}

static void add_file(struct symcache *cache, u8 nr, const char *path)
{
	const struct build_elf spec = { .type = ET_DYN, .build_id = id_of(nr) };
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;

	build_elf(&spec, &file);
	assert_int_equal(symcache_add_file(cache, &spec.build_id, SYMCACHE_ELF, path, file.data,
					   file.len), 0);
}

/* Makes the file of @nr look as if it was last used @seconds after 1970. */
static void set_use(const struct symcache *cache, u8 nr, time_t seconds)
{
	const struct timespec times[2] = { { seconds, 0 }, { seconds, 0 } };
	const struct build_id id = id_of(nr);
	char path[PATH_MAX], mark[PATH_MAX];

	assert_int_equal(symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path)), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	snprintf(mark, sizeof(mark), "%.*s/kvmprof", (int)(strlen(path) - 4), path);
	assert_int_equal(utimensat(AT_FDCWD, mark, times, 0), 0);
}

static bool has(const struct symcache *cache, u8 nr)
{
	const struct build_id id = id_of(nr);
	char path[PATH_MAX];

	return !symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path));
}

static bool exists(const char *dir, const char *name)
{
	char path[3 * PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !lstat(path, &st);
}

static void test_nothing(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct symcache_limits limits = { .max_size = 0 };
	const struct build_id id = id_of(1);
	struct symcache_pruned pruned;
	struct symcache_list list;
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s/not-there", (char *)*state);
	assert_int_equal(symcache_create(dir, &cache), 0);
	assert_int_equal(symcache_list(cache, &list), 0);
	assert_int_equal(list.entries.nr, 0);
	assert_int_equal(symcache_remove(cache, &id), -ENOENT);
	assert_int_equal(symcache_prune(cache, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, 0);
	assert_false(exists(*state, "not-there"));
}

static void test_list(void **state)
{
	static const char kallsyms[] = "ffffffff81000000 T _text\n";
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_id kernel = id_of(9);
	struct symcache_list list;

	assert_int_equal(symcache_create(*state, &cache), 0);
	add_file(cache, 1, "/usr/bin/one");
	add_file(cache, 2, "/usr/bin/two");
	assert_int_equal(symcache_add_kallsyms(cache, &kernel, kallsyms, strlen(kallsyms)), 0);
	set_use(cache, 1, 2000);
	set_use(cache, 2, 1000);
	assert_int_equal(symcache_list(cache, &list), 0);
	assert_int_equal(list.entries.nr, 3);
	assert_string_equal(list.entries.data[0].path, "/usr/bin/two");
	assert_int_equal(list.entries.data[0].last_use, 1000);
	assert_int_equal(list.entries.data[0].kinds, 1 << SYMCACHE_ELF);
	assert_true(list.entries.data[0].size >= FILE_SIZE_ABOUT);
	assert_true(list.entries.data[0].ours);
	assert_string_equal(list.entries.data[1].path, "/usr/bin/one");
	assert_string_equal(list.entries.data[2].path, "[kernel.kallsyms]");
	assert_int_equal(list.entries.data[2].kinds, 1 << SYMCACHE_KALLSYMS);
	assert_int_equal(list.entries.data[2].size, strlen(kallsyms));
	symcache_list_deinit(&list);
}

static void test_remove(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_id one = id_of(1);

	assert_int_equal(symcache_create(*state, &cache), 0);
	add_file(cache, 1, "/usr/bin/one");
	add_file(cache, 2, "/usr/lib/two");
	assert_int_equal(symcache_remove(cache, &one), 0);
	assert_int_equal(symcache_remove(cache, &one), -ENOENT);
	assert_false(has(cache, 1));
	assert_true(has(cache, 2));
	assert_false(exists(*state, "usr/bin"));
	assert_true(exists(*state, "usr/lib/two"));
}

static void test_limits(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *writer = NULL, *cache = NULL;
	struct symcache_limits limits = { .max_size = UINT64_MAX, .used_since = 1500 };
	struct symcache_pruned pruned;
	u64 each;

	assert_int_equal(symcache_create(*state, &writer), 0);
	assert_int_equal(symcache_create(*state, &cache), 0);
	for (u8 i = 1; i <= 5; i++) {
		add_file(writer, i, "/bin/x");
		set_use(writer, i, 1000 * i);
	}
	assert_int_equal(symcache_prune(cache, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, 1);
	assert_false(has(cache, 1));
	each = pruned.bytes;
	assert_int_equal(pruned.left, 4 * each);
	/* Use puts it at the end. */
	set_use(writer, 2, 9000);
	limits = (struct symcache_limits){ .max_size = 2 * each };
	assert_int_equal(symcache_prune(cache, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, 2);
	assert_int_equal(pruned.left, 2 * each);
	assert_true(has(cache, 2) && has(cache, 5));
	/* What this program added stays, whatever the limit. */
	limits.max_size = 0;
	assert_int_equal(symcache_prune(writer, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, 0);
	assert_int_equal(pruned.left, 2 * each);
}

/* As perf adds it: no mark of ours. */
static void test_ours_only(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *writer = NULL, *cache = NULL;
	const struct symcache_limits limits = { .ours_only = true };
	struct symcache_pruned pruned;
	char path[PATH_MAX];

	assert_int_equal(symcache_create(*state, &writer), 0);
	assert_int_equal(symcache_create(*state, &cache), 0);
	add_file(writer, 1, "/bin/x");
	add_file(writer, 2, "/bin/y");
	snprintf(path, sizeof(path), "%s/bin/y/ab02010000000000000000000000000000000000/kvmprof",
		 (char *)*state);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symcache_prune(cache, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, 1);
	assert_false(has(cache, 1));
	assert_true(has(cache, 2));
}

static void make_link(const char *dir, u8 nr, const char *target)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/.build-id/ab", dir);
	assert_int_equal(file_make_dirs(path), 0);
	snprintf(path, sizeof(path), "%s/.build-id/ab/%02x01%034d", dir, nr, 0);
	assert_int_equal(symlink(target, path), 0);
}

/* Links that somebody bent: the link goes, what it leads to stays. */
static void test_links_out(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct symcache_limits limits = { .max_size = 0, .used_since = UINT64_MAX };
	const char *base = *state;
	char dir[PATH_MAX], target[PATH_MAX], path[2 * PATH_MAX];
	struct symcache_pruned pruned;

	snprintf(dir, sizeof(dir), "%s/cache", base);
	for (u8 i = 1; i <= 4; i++) {
		snprintf(target, sizeof(target), "../../../out/ab%02x01%034d", i, 0);
		snprintf(path, sizeof(path), "%s/out/ab%02x01%034d/elf", base, i, 0);
		assert_int_equal(file_write_atomic(path, "x", 1), 0);
		if (i == 2)
			snprintf(target, sizeof(target), "%s/out/ab0201%034d", base, 0);
		if (i == 3)
			snprintf(target, sizeof(target), "../../lnk/ab0301%034d", 0);
		if (i == 4)
			snprintf(target, sizeof(target), "../../a/../../out/ab0401%034d", 0);
		make_link(dir, i, target);
	}
	snprintf(path, sizeof(path), "%s/lnk", dir);
	assert_int_equal(symlink("../out", path), 0);
	assert_int_equal(symcache_create(dir, &cache), 0);
	assert_int_equal(symcache_prune(cache, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, 4);
	for (u8 i = 1; i <= 4; i++) {
		snprintf(path, sizeof(path), "out/ab%02x01%034d/elf", i, 0);
		assert_true(exists(base, path));
		snprintf(path, sizeof(path), "cache/.build-id/ab/%02x01%034d", i, 0);
		assert_false(exists(base, path));
	}
}

/* Names that a guest chose. */
static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"../../etc/passwd", "/../../../x", "a\nb/\x1b[31m", "/.build-id/ab/cd",
		".kvmprof.lock", "//./..//.", "kvmprof", "[kernel.kallsyms]",
	};
	_cleanup_(symcache_destroy) struct symcache *cache = NULL, *other = NULL;
	const struct symcache_limits limits = { .max_size = 0 };
	char dir[PATH_MAX];
	struct symcache_pruned pruned;
	struct symcache_list list;

	snprintf(dir, sizeof(dir), "%s/a/b/cache", (char *)*state);
	assert_int_equal(symcache_create(dir, &cache), 0);
	assert_int_equal(symcache_create(dir, &other), 0);
	for (u8 i = 0; i < ARRAY_SIZE(names); i++)
		add_file(cache, i, names[i]);
	assert_int_equal(symcache_list(cache, &list), 0);
	assert_int_equal(list.entries.nr, ARRAY_SIZE(names));
	for (size_t i = 0; i < list.entries.nr; i++) {
		assert_non_null(list.entries.data[i].folder);
		assert_null(strchr(list.entries.data[i].path, '\n'));
		assert_null(strstr(list.entries.data[i].path, ".."));
	}
	symcache_list_deinit(&list);
	assert_false(exists(*state, "etc") || exists(*state, "x") || exists(*state, "a/x") ||
		     exists(*state, "a/b/x"));
	assert_int_equal(symcache_prune(other, &limits, &pruned), 0);
	assert_int_equal(pruned.nr, ARRAY_SIZE(names));
	assert_true(exists(dir, ".kvmprof.lock"));
}

static void add_many(const char *dir, int who)
{
	struct symcache *cache;

	if (symcache_create(dir, &cache))
		_exit(1);
	for (int i = 0; i < 40; i++)
		add_file(cache, (who * 7 + i) % 32, i % 2 ? "/bin/x" : "/lib/y/z");
	_exit(0);
}

static void prune_all(const char *dir)
{
	const struct symcache_limits limits = { .max_size = 0 };
	struct symcache_pruned pruned;
	struct symcache *cache;

	if (symcache_create(dir, &cache))
		_exit(1);
	for (int i = 0; i < 60; i++)
		if (symcache_prune(cache, &limits, &pruned))
			_exit(1);
	_exit(0);
}

/* Whatever is there is whole at any moment, and each add and prune succeeds. */
static void test_many_at_once(void **state)
{
	enum { WRITERS = 4, PRUNERS = 2 };
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_elf spec = { .type = ET_DYN, .build_id = id_of(0) };
	_cleanup_strbuf_ struct strbuf whole = STRBUF_INIT;
	int status, nr = 0;

	build_elf(&spec, &whole);
	assert_int_equal(symcache_create(*state, &cache), 0);
	for (int i = 0; i < WRITERS + PRUNERS; i++)
		if (!fork()) {
			if (i < WRITERS)
				add_many(*state, i);
			prune_all(*state);
		}
	while (nr < WRITERS + PRUNERS) {
		const struct build_id id = id_of(nr);
		_cleanup_free_ char *data = NULL;
		char path[PATH_MAX];
		size_t size;

		if (!symcache_find(cache, &id, SYMCACHE_ELF, path, sizeof(path)) &&
		    !file_read(AT_FDCWD, path, 1 << 20, &data, &size))
			assert_int_equal(size, whole.len);
		if (waitpid(-1, &status, WNOHANG) <= 0)
			continue;
		assert_int_equal(status, 0);
		nr++;
	}
}

/* Adds files of its own and, as another program would, keeps the folder to @max bytes. */
static void add_and_limit(const char *dir, int who, u64 max)
{
	const struct symcache_limits limits = { .max_size = max, .ours_only = true };
	struct symcache *writer, *pruner;
	struct symcache_pruned pruned;

	if (symcache_create(dir, &writer) || symcache_create(dir, &pruner))
		_exit(1);
	for (int i = 0; i < 32; i++) {
		add_file(writer, who * 32 + i, "/lib/y/z");
		if (i % 8 == 7 && symcache_prune(pruner, &limits, &pruned))
			_exit(1);
	}
	_exit(0);
}

/* Four recorders end at the same time: the folder is within its limit then, and whole. */
static void test_limit_of_many(void **state)
{
	enum { WRITERS = 4 };
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_elf spec = { .type = ET_DYN, .build_id = id_of(0) };
	_cleanup_strbuf_ struct strbuf whole = STRBUF_INIT;
	struct symcache_list list;
	u64 max, size = 0;
	int status;

	build_elf(&spec, &whole);
	max = 10 * whole.len + whole.len / 2;
	for (int i = 0; i < WRITERS; i++)
		if (!fork())
			add_and_limit(*state, i, max);
	for (int i = 0; i < WRITERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(symcache_create(*state, &cache), 0);
	assert_int_equal(symcache_list(cache, &list), 0);
	assert_int_equal(list.entries.nr, 10);
	vec_for_each(&list.entries, entry) {
		assert_int_equal(entry->size, whole.len);
		size += entry->size;
	}
	assert_true(size <= max);
	symcache_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_list, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remove, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ours_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_links_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limit_of_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
