/* SPDX-License-Identifier: GPL-2.0-only */
/* Where files with symbols come from: the order, build ids, mounted guests, guest memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "build-elf.h"
#include "build-folder.h"
#include "mute-server.h"
#include "symbols/sources.h"

static const struct build_id wanted = { 20, { 0xab, 0xcd } };
static const struct build_id other = { 20, { 0x12, 0x34 } };

/* A folder with a host, a cache and a mounted guest in it. */
struct world {
	char dir[64];
	char root[128], cache[128], mount[128];
	struct symbol_sources_options options;
	struct symbol_sources *sources;
};

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	if (!world)
		return -1;
	snprintf(world->dir, sizeof(world->dir), BUILD_FOLDER);
	if (!mkdtemp(world->dir))
		return -1;
	snprintf(world->root, sizeof(world->root), "%s/host", world->dir);
	snprintf(world->cache, sizeof(world->cache), "%s/cache", world->dir);
	snprintf(world->mount, sizeof(world->mount), "%s/mount", world->dir);
	world->options = (struct symbol_sources_options){
		.cache_dir = world->cache, .root = world->root, .guestmount = world->mount,
	};
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;
	int err;

	symbol_sources_destroy(world->sources);
	err = build_folder_remove(world->dir);
	free(world);
	return err;
}

/* An object of build id @id; @mark is how many symbols it has, to know it by. */
static void build(const struct build_id *id, size_t mark, struct strbuf *out)
{
	static const struct build_elf_symbol symbols[8] = {
		[0 ... 7] = { "f", 0x1000, 16, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0,
			      BUILD_ELF_TEXT },
	};
	static const struct build_elf_load load = { 0x1000, BUILD_ELF_TEXT_OFFSET, 0x100, 0x100 };
	const struct build_elf spec = {
		.type = ET_DYN, .build_id = *id, .symbols = symbols, .nr_symbols = mark,
		.text_addr = 0x1000, .loads = &load, .nr_loads = 1,
	};

	build_elf(&spec, out);
}

static void put_file(const char *dir, const char *path, const struct build_id *id, size_t mark)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	char full[PATH_MAX];

	build(id, mark, &file);
	snprintf(full, sizeof(full), "%s%s", dir, path);
	assert_int_equal(file_write_atomic(full, file.data, file.len), 0);
}

static void put_cached(struct world *world, size_t mark)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;

	build(&wanted, mark, &file);
	assert_int_equal(symcache_create(world->cache, &cache), 0);
	assert_int_equal(symcache_add_file(cache, &wanted, SYMCACHE_ELF, "/bin/x", file.data,
					   file.len), 0);
}

/* The marks of what was offered, in order. */
struct offers {
	size_t marks[16], nr, enough;
};

static bool take(void *arg, struct elf_file *file)
{
	struct offers *offers = arg;

	assert_true(offers->nr < ARRAY_SIZE(offers->marks));
	offers->marks[offers->nr++] = elf_file_nr_symbols(file) - 1;
	elf_file_close(file);
	return offers->nr == offers->enough;
}

static struct offers find(struct world *world, enum symbol_object object, const char *path,
			  const struct build_id *id, const char *list)
{
	const struct symbol_query query = { object, *id, path, "6.1" };
	struct offers offers = { .nr = 0 };
	const char *why;

	symbol_sources_destroy(world->sources);
	world->sources = NULL;
	world->options.list.nr = 0;
	if (list)
		assert_int_equal(symbol_source_list_parse(list, &world->options.list, &why), 0);
	assert_int_equal(symbol_sources_create(&world->options, &world->sources), 0);
	assert_int_equal(symbol_sources_find(world->sources, &query, take, &offers), 0);
	return offers;
}

static void test_order(void **state)
{
	struct world *world = *state;
	struct offers offers;

	put_cached(world, 1);
	put_file(world->root, "/bin/x", &wanted, 2);
	put_file(world->mount, "/bin/x", &wanted, 3);
	offers = find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, NULL);
	assert_int_equal(offers.nr, 3);
	assert_int_equal(offers.marks[0], 1);
	assert_int_equal(offers.marks[1], 2);
	assert_int_equal(offers.marks[2], 3);
	offers = find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, "guestmount,cache");
	assert_int_equal(offers.nr, 2);
	assert_int_equal(offers.marks[0], 3);
	assert_int_equal(offers.marks[1], 1);
	assert_int_equal(symbol_sources_mismatches(world->sources), 0);
}

/* What is enough ends it. */
static void test_enough(void **state)
{
	const struct symbol_query query = { SYMBOL_OBJECT_USER, wanted, "/bin/x", NULL };
	struct world *world = *state;
	struct offers offers = { .enough = 2 };

	put_cached(world, 1);
	put_file(world->root, "/bin/x", &wanted, 2);
	put_file(world->mount, "/bin/x", &wanted, 3);
	assert_int_equal(symbol_sources_create(&world->options, &world->sources), 0);
	assert_int_equal(symbol_sources_find(world->sources, &query, take, &offers), 0);
	assert_int_equal(offers.nr, 2);
}

/* Wherever they are, files of another build id are counted and not offered. */
static void test_mismatches(void **state)
{
	struct world *world = *state;
	const struct build_id none = { 0 };
	char vmlinux[PATH_MAX];

	put_file(world->root, "/bin/x", &other, 2);
	put_file(world->mount, "/bin/x", &other, 3);
	put_file(world->mount, "/12/bin/x", &other, 4);
	/* Somebody's file under the wrong name in the cache. */
	put_file(world->cache, "/.build-id/ab/cd000000000000000000000000000000000000/elf", &other,
		 5);
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, NULL).nr, 0);
	assert_int_equal(symbol_sources_mismatches(world->sources), 4);
	put_file(world->dir, "/vmlinux", &other, 6);
	snprintf(vmlinux, sizeof(vmlinux), "%s/vmlinux", world->dir);
	world->options.vmlinux = vmlinux;
	assert_int_equal(find(world, SYMBOL_OBJECT_KERNEL, "[kernel.kallsyms]", &wanted, NULL).nr,
			 0);
	assert_true(symbol_sources_mismatches(world->sources) >= 1);
	/* Without one to compare with only the host's own file is believed, as by perf. */
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/x", &none, NULL).marks[0], 2);
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/x", &none, "guestmount").nr, 0);
	assert_int_equal(find(world, SYMBOL_OBJECT_KERNEL, "[kernel.kallsyms]", &none, NULL).nr, 0);
}

static void test_vmlinux(void **state)
{
	struct world *world = *state;
	char vmlinux[PATH_MAX];
	struct offers offers;

	put_file(world->dir, "/given", &wanted, 1);
	snprintf(vmlinux, sizeof(vmlinux), "%s/given", world->dir);
	world->options.vmlinux = vmlinux;
	put_file(world->root, "/boot/vmlinux-6.1", &wanted, 2);
	put_file(world->mount, "/7/usr/lib/debug/boot/vmlinux-6.1", &wanted, 3);
	offers = find(world, SYMBOL_OBJECT_KERNEL, "[kernel.kallsyms]", &wanted, NULL);
	assert_int_equal(offers.nr, 3);
	assert_int_equal(offers.marks[0], 1);
	assert_int_equal(offers.marks[1], 2);
	assert_int_equal(offers.marks[2], 3);
}

/* Of several guests that of the right build id; and what looks like a link to the host. */
static void test_guestmount(void **state)
{
	struct world *world = *state;
	char link[PATH_MAX], target[PATH_MAX];
	struct offers offers;

	put_file(world->mount, "/100/bin/x", &other, 1);
	put_file(world->mount, "/200/bin/x", &wanted, 2);
	put_file(world->mount, "/abc/bin/x", &wanted, 3);	/* no guest's */
	offers = find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, "guestmount");
	assert_int_equal(offers.nr, 1);
	assert_int_equal(offers.marks[0], 2);
	assert_int_equal(symbol_sources_mismatches(world->sources), 1);

	/* An absolute link is of the guest's root, and no way leads up from that. */
	snprintf(link, sizeof(link), "%s/200/bin/y", world->mount);
	assert_int_equal(symlink("/bin/x", link), 0);
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/y", &wanted, "guestmount").nr, 1);
	put_file(world->dir, "/secret", &wanted, 4);
	snprintf(link, sizeof(link), "%s/200/bin/z", world->mount);
	snprintf(target, sizeof(target), "%s/secret", world->dir);
	assert_int_equal(symlink(target, link), 0);
	snprintf(link, sizeof(link), "%s/100/bin/z", world->mount);
	assert_int_equal(symlink("../../../secret", link), 0);
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/z", &wanted, "guestmount").nr, 0);
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/../../../secret", &wanted,
			      "guestmount").nr, 0);
}

/* Makes the file that @arg names empty, and reads it. */
static bool take_emptied(void *arg, struct elf_file *file)
{
	const char *bytes;
	size_t size;

	assert_int_equal(truncate(arg, 0), 0);
	bytes = elf_file_bytes(file, &size);
	assert_non_null(bytes);
	assert_memory_equal(bytes, "\177ELF", 4);
	elf_file_close(file);
	return true;
}

/* What files are while they are read is their owners' matter, who may be guests. */
static void test_shrinking(void **state)
{
	static const char *const lists[] = { "host", "guestmount" };
	struct world *world = *state;
	const struct symbol_query query = { SYMBOL_OBJECT_USER, wanted, "/bin/x", "6.1" };
	const char *dirs[] = { world->root, world->mount }, *why;
	struct stat st;
	char path[PATH_MAX];

	world->options.copies = true;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		put_file(dirs[i], "/bin/x", &wanted, 1);
		snprintf(path, sizeof(path), "%s/bin/x", dirs[i]);
		world->options.list.nr = 0;
		assert_int_equal(symbol_source_list_parse(lists[i], &world->options.list, &why), 0);
		symbol_sources_destroy(TAKE_PTR(world->sources));
		assert_int_equal(symbol_sources_create(&world->options, &world->sources), 0);
		assert_int_equal(symbol_sources_find(world->sources, &query, take_emptied, path),
				 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, 0);	/* it was offered */
	}
}

static u64 known_pages;	/* of what the guest below has */

static int find_in_guest(void *arg, const struct symbol_query *query, struct file_image **ret)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	u8 page[FILE_IMAGE_PAGE];

	if (strcmp(query->path, "/bin/x"))
		return -ENOENT;
	build(arg, 7, &file);
	assert_int_equal(file_image_create(file.len, ret), 0);
	for (u64 at = 0; at < file.len; at += sizeof(page)) {
		memset(page, 0, sizeof(page));
		memcpy(page, file.data + at, MIN(file.len - at, sizeof(page)));
		if (known_pages >> at / sizeof(page) & 1)
			file_image_set_page(*ret, at, page);
	}
	return 0;
}

static void test_guest_memory(void **state)
{
	struct world *world = *state;
	struct offers offers;

	put_cached(world, 1);
	world->options.guest = (struct symbol_guest_ops){ find_in_guest, (void *)&wanted };
	known_pages = UINT64_MAX;
	offers = find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, NULL);
	assert_int_equal(offers.marks[0], 7);
	assert_int_equal(offers.marks[1], 1);
	/* With a hole; what is there twice counts once. */
	known_pages = ~2ULL;
	offers = find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, "guest");
	assert_int_equal(offers.nr, 1);
	assert_int_equal(offers.marks[0], 1);
	known_pages = 0;
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, "guest").nr, 0);
	world->options.guest.arg = (void *)&other;
	known_pages = UINT64_MAX;
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, "guest").nr, 0);
	assert_int_equal(symbol_sources_mismatches(world->sources), 1);
}

static void test_modules(void **state)
{
	static const char text[] =
		"nf_tables 356352 134 - Live 0xffffffffc0a00000\n"
		"nf 4096 0 - Live 0xffffffffc0b00000 (O)\n"
		"hidden 4096 0 - Live 0x0000000000000000\n"
		"broken";
	struct world *world = *state;
	char path[PATH_MAX];
	u64 start = 0;

	snprintf(path, sizeof(path), "%s/modules", world->dir);
	assert_int_equal(file_write_atomic(path, text, strlen(text)), 0);
	world->options.modules = path;
	assert_int_equal(symbol_sources_create(&world->options, &world->sources), 0);
	assert_int_equal(symbol_sources_module_start(world->sources, "nf", &start), 0);
	assert_int_equal(start, 0xffffffffc0b00000);
	assert_int_equal(symbol_sources_module_start(world->sources, "hidden", &start), -ENOENT);
	assert_int_equal(symbol_sources_module_start(world->sources, "broken", &start), -ENOENT);
	assert_int_equal(symbol_sources_module_start(world->sources, "n", &start), -ENOENT);
	assert_null(symbol_sources_problem(world->sources));
}

static void set_stop(void *arg)
{
	*(atomic_bool *)arg = true;
}

static bool take_none(void *arg, struct elf_file *file)
{
	(void)arg;
	elf_file_close(file);
	return false;
}

/* The client's own limit is 90 seconds without a byte. */
static void test_stop(void **state)
{
	struct world *world = *state;
	atomic_bool stop = false;
	struct symbol_query query = { .build_id = wanted, .path = "/bin/x", .stop = &stop };
	struct mute_server server;
	char url[64], folder[256];

	if (!mute_server_has_client())
		skip();		/* the client's library is not installed */
	world->options.list = (struct symbol_source_list){
		.order = { SYMBOL_SOURCE_DEBUGINFOD }, .nr = 1,
	};
	assert_int_equal(mute_server_start(&server, set_stop, &stop), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", server.port);
	snprintf(folder, sizeof(folder), "%s/client", world->dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
	assert_int_equal(symbol_sources_create(&world->options, &world->sources), 0);
	assert_int_equal(symbol_sources_find(world->sources, &query, take_none, NULL), 0);
	mute_server_stop(&server);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	assert_null(symbol_sources_problem(world->sources));
	assert_int_not_equal(server.time, 0);
	assert_true(clock_now_ns() - server.time < 30000000000ULL);
}

/* Nobody asked for servers: nothing is said of them. */
static void test_no_debuginfod(void **state)
{
	struct world *world = *state;

	unsetenv("DEBUGINFOD_URLS");
	assert_int_equal(find(world, SYMBOL_OBJECT_USER, "/bin/x", &wanted, "debuginfod").nr, 0);
	assert_null(symbol_sources_problem(world->sources));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mismatches, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vmlinux, setup, teardown),
		cmocka_unit_test_setup_teardown(test_guestmount, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shrinking, setup, teardown),
		cmocka_unit_test_setup_teardown(test_guest_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_debuginfod, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
