/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading an object: the files that have what the guest lacks, and those that go into the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-elf.h"
#include "build-program.h"
#include "engine/object-load.h"

struct fixture {
	char dir[32];
	struct build_program program;
	struct guest *guest;
	struct symcache *cache;
	struct symbol_sources *sources;
	struct object_load load;
};

static const struct build_id id = { .size = 20, .data = { 0xab, 0xcd, 0xef } };

static const struct build_elf_symbol symbols[] = {
	{ "static_function", 0x1000, 16, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, BUILD_ELF_TEXT },
};

static const char *path_in(const struct fixture *f, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

static void run(const struct fixture *f, const char *fmt)
{
	char command[256];

	snprintf(command, sizeof(command), fmt, f->dir);
	assert_int_equal(system(command), 0);
}

static int setup(void **state)
{
	_cleanup_(guest_process_destroy) struct guest_process *seen = NULL;
	struct fixture *f = calloc(1, sizeof(*f));
	struct wire_sample wire;
	struct vcpu_regs regs;

	*state = f;
	strcpy(f->dir, "/tmp/kvmprof-test.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	build_program_init(&f->program);
	build_program_cache(&f->program);
	regs = build_guest_regs(&f->program.guest);
	assert_int_equal(guest_create(mem_fake_reader(f->program.guest.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	assert_int_equal(symcache_create(path_in(f, "cache"), &f->cache), 0);
	assert_int_equal(symbol_sources_create(&(struct symbol_sources_options){
		.cache_dir = path_in(f, "cache"), .root = f->dir,
	}, &f->sources), 0);
	wire = build_program_wire(&f->program, 1);
	assert_int_equal(guest_process_read(f->guest, &wire.task, &seen), 0);
	f->load = (struct object_load){
		.guest = f->guest, .cache = f->cache, .sources = f->sources,
		.mapping = seen->mappings.data[0], .build_id = id,
	};
	assert_int_equal(guest_process_excerpt(seen, 0, &f->load.process), 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	object_load_deinit(&f->load);
	symbol_sources_destroy(f->sources);
	symcache_destroy(f->cache);
	guest_destroy(f->guest);
	build_program_deinit(&f->program);
	run(f, "rm -r %s");
	free(f);
	return 0;
}

static void put(const struct fixture *f, const char *name, const struct build_elf *spec)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	FILE *file;

	build_elf(spec, &out);
	assert_int_equal(strbuf_error(&out), 0);
	file = fopen(path_in(f, name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(out.data, 1, out.len, file), out.len);
	assert_int_equal(fclose(file), 0);
}

static bool is_cached(const struct fixture *f, enum symcache_kind kind)
{
	char path[PATH_MAX];

	return !symcache_find(f->cache, &id, kind, path, sizeof(path));
}

/* Where there is no other file, what the guest has is all. */
static void test_guest_alone(void **state)
{
	struct fixture *f = *state;

	object_load_run(&f->load);
	assert_int_equal(f->load.state, OBJECT_FROM_GUEST);
	assert_non_null(f->load.table);
	assert_false(f->load.named);
	assert_true(object_load_is_short(&f->load));
	assert_false(is_cached(f, SYMCACHE_ELF));
	assert_false(is_cached(f, SYMCACHE_DEBUG));
}

#define DEBUG_DIR "usr/lib/debug/.build-id/ab"
#define DEBUG_NAME "cdef0000000000000000000000000000000000.debug"

/* The guest's memory has all rules but not the names: these are on the host, split off. */
static void test_debug_file(void **state)
{
	const struct build_elf spec = {
		.type = ET_DYN, .machine = EM_X86_64, .build_id = id, .is_debug = true,
		.symbols = symbols, .nr_symbols = ARRAY_SIZE(symbols), .text_addr = 0x1000,
	};
	struct fixture *f = *state;

	run(f, "mkdir -p %s/" DEBUG_DIR);
	put(f, DEBUG_DIR "/" DEBUG_NAME, &spec);
	object_load_run(&f->load);
	assert_int_equal(f->load.state, OBJECT_FROM_GUEST);
	assert_true(f->load.named);
	assert_false(object_load_is_short(&f->load));
	assert_true(is_cached(f, SYMCACHE_DEBUG));
	assert_false(is_cached(f, SYMCACHE_ELF));
	assert_false(f->load.store_failed);
}

/* Of another build id it is not this one's. */
static void test_other_build_id(void **state)
{
	const struct build_elf spec = {
		.type = ET_DYN, .machine = EM_X86_64, .is_debug = true,
		.build_id = { .size = 20, .data = { 0xab, 0xcd, 0xee } },
		.symbols = symbols, .nr_symbols = ARRAY_SIZE(symbols), .text_addr = 0x1000,
	};
	struct fixture *f = *state;

	run(f, "mkdir -p %s/" DEBUG_DIR);
	put(f, DEBUG_DIR "/" DEBUG_NAME, &spec);
	object_load_run(&f->load);
	assert_false(f->load.named);
	assert_false(is_cached(f, SYMCACHE_DEBUG));
}

/* The host's own file of the same path; its rules are not needed. */
static void test_own_file(void **state)
{
	const struct build_elf spec = {
		.type = ET_DYN, .machine = EM_X86_64, .build_id = id, .text_addr = 0x1000,
		.symbols = symbols, .nr_symbols = ARRAY_SIZE(symbols),
	};
	struct fixture *f = *state;

	run(f, "mkdir -p %s/usr");
	put(f, BUILD_PROGRAM_PATH + 1, &spec);
	object_load_run(&f->load);
	assert_int_equal(f->load.state, OBJECT_FROM_GUEST);
	assert_true(f->load.named);
	assert_true(is_cached(f, SYMCACHE_ELF));
	assert_false(f->load.store_failed);
}

/* Asked to stop it does not look further. */
static void test_stopped(void **state)
{
	struct fixture *f = *state;

	run(f, "mkdir -p %s/usr");
	put(f, BUILD_PROGRAM_PATH + 1, &(struct build_elf){
		.type = ET_DYN, .machine = EM_X86_64, .build_id = id, .text_addr = 0x1000,
		.symbols = symbols, .nr_symbols = ARRAY_SIZE(symbols),
	});
	f->load.stop = true;
	object_load_run(&f->load);
	assert_int_equal(f->load.state, OBJECT_FROM_GUEST);
	assert_false(is_cached(f, SYMCACHE_ELF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_guest_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_debug_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
