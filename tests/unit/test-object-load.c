/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading an object: what comes of files that are whole, lie, change, or are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-elf.h"
#include "build-folder.h"
#include "build-program.h"
#include "engine/object-load.h"

#define PAGE 4096ULL
#define AT 0x7f1000000000ULL

static const struct build_id own = { 20, { 0xab, 0xcd } };
static const struct build_id other = { 20, { 0x12, 0x34 } };

/* A file with a build id and no rules. */
struct fixture {
	struct build_program program;
	struct guest *guest;
	struct guest_process *process;
	struct strbuf file;
	u64 inode;
	size_t mapping;
};

static void put_page(struct fixture *f, u64 index)
{
	struct build_process *p = &f->program.process;
	u64 pfn = build_folio(p, f->inode, index, 0);

	assert_int_equal(mem_fake_set(f->program.guest.mem, GPA(pfn * PAGE),
				      f->file.data + index * PAGE,
				      MIN(PAGE, f->file.len - index * PAGE)), 0);
	build_cache_store(p, f->inode, index, 0, build_page(pfn));
}

static int setup(void **state)
{
	const struct build_elf spec = { .type = ET_DYN, .build_id = own, .note_in_segment = true };
	struct fixture *f = calloc(1, sizeof(*f));
	const struct guest_mapping *mapping;
	struct wire_task task;
	struct vcpu_regs regs;

	*state = f;
	build_program_init(&f->program);
	build_elf(&spec, &f->file);
	f->inode = build_program_map(&f->program, "some.so", &f->file, AT);
	regs = build_guest_regs(&f->program.guest);
	assert_int_equal(guest_create(mem_fake_reader(f->program.guest.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	task = build_process_task(&f->program.process);
	assert_int_equal(guest_process_read(f->guest, &task, &f->process), 0);
	mapping = guest_process_find(f->process, GVA(AT));
	assert_non_null(mapping);
	f->mapping = mapping - f->process->mappings.data;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	guest_process_destroy(f->process);
	guest_destroy(f->guest);
	build_program_deinit(&f->program);
	strbuf_deinit(&f->file);
	free(f);
	return 0;
}

/* Loads mapping @i, whose object was known by @id. */
static enum object_state load(struct fixture *f, size_t i, const struct build_id *id,
			      struct build_id *ret_id)
{
	struct object_load load = {
		.guest = f->guest, .mapping = f->process->mappings.data[i],
	};

	if (id)
		load.build_id = *id;
	assert_int_equal(guest_process_excerpt(f->process, i, &load.process), 0);
	object_load_run(&load);
	*ret_id = load.build_id;
	assert_int_equal(!load.table, load.state != OBJECT_FROM_GUEST &&
				      load.state != OBJECT_PARTIAL);
	object_load_deinit(&load);
	return load.state;
}

static void test_build_id(void **state)
{
	struct fixture *f = *state;
	struct build_id id;

	assert_int_equal(load(f, f->mapping, &own, &id), OBJECT_NO_RULES);
	assert_int_equal(load(f, f->mapping, NULL, &id), OBJECT_NO_RULES);
	assert_true(build_id_equal(&id, &own));
	/* One inode that had another build id when it was first seen. */
	assert_int_equal(load(f, f->mapping, &other, &id), OBJECT_BAD);
	assert_true(build_id_equal(&id, &other));
}

/* Its inode is another file's by now; or nothing of it is cached. */
static void test_gone(void **state)
{
	struct fixture *f = *state;
	struct build_id id;

	build_set(&f->program.process, f->inode + BUILD_INODE_NUMBER, 78);
	assert_int_equal(load(f, f->mapping, &own, &id), OBJECT_MISSING);
	build_set(&f->program.process, f->inode + BUILD_INODE_NUMBER, 77);
	assert_int_equal(load(f, f->mapping, &own, &id), OBJECT_NO_RULES);
	build_set(&f->program.process,
		  build_get(&f->program.process, f->inode + BUILD_INODE_MAPPING) +
		  BUILD_MAPPING_PAGES, 0);
	assert_int_equal(load(f, f->mapping, &own, &id), OBJECT_MISSING);
}

static void test_no_file(void **state)
{
	struct fixture *f = *state;
	struct build_id id;

	memset(f->file.data, 'x', 4);
	put_page(f, 0);
	assert_int_equal(load(f, f->mapping, NULL, &id), OBJECT_BAD);
	build_set(&f->program.process, f->inode + BUILD_INODE_SIZE, FILE_IMAGE_MAX_SIZE + 1);
	assert_int_equal(load(f, f->mapping, NULL, &id), OBJECT_LIMIT);
}

/* Memory that goes away at any read. */
static void test_read_errors(void **state)
{
	struct fixture *f = *state;
	struct mem_fake *mem = f->program.guest.mem;
	struct build_id id;
	u64 reads = mem_fake_reads(mem);

	load(f, f->mapping, &own, &id);
	reads = mem_fake_reads(mem) - reads;
	for (u64 after = 0; after < reads; after++) {
		enum object_state now;

		mem_fake_fail(mem, after, -EFAULT);
		now = load(f, f->mapping, &own, &id);
		assert_true(now != OBJECT_FROM_GUEST && now != OBJECT_FROM_FILE);
		mem_fake_fail(mem, 0, 0);
	}
}

/* A file of the host's with that build id and a function; made @size bytes long. */
static void put_host_file(const char *dir, const char *path, bool is_debug, off_t size)
{
	static const struct build_elf_symbol symbol = {
		"f", 0x1000, 16, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, BUILD_ELF_TEXT,
	};
	static const struct build_elf_load segment = { 0x1000, BUILD_ELF_TEXT_OFFSET, 0x100,
						       0x100 };
	const struct build_elf spec = {
		.type = ET_DYN, .machine = EM_X86_64, .build_id = own, .symbols = &symbol,
		.nr_symbols = 1, .text_addr = 0x1000, .loads = &segment, .nr_loads = 1,
		.is_debug = is_debug,
	};
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	char full[256];

	build_elf(&spec, &file);
	snprintf(full, sizeof(full), "%s/host%s", dir, path);
	assert_int_equal(file_write_atomic(full, file.data, file.len), 0);
	if (size)
		assert_int_equal(truncate(full, size), 0);
}

/* Loads what the guest has and lets the host's files in @dir complete it, into the cache there. */
static void load_with_host(struct fixture *f, const char *dir, bool failed_before,
			   struct symcache *cache, bool *ret_failed)
{
	_cleanup_(symbol_sources_destroy) struct symbol_sources *sources = NULL;
	char root[128];
	const struct symbol_sources_options options = {
		.list = { .order = { SYMBOL_SOURCE_HOST }, .nr = 1 }, .root = root,
		.cache_dir = dir,
	};
	struct object_load load = {
		.guest = f->guest, .mapping = f->process->mappings.data[f->mapping],
		.build_id = own, .cache = cache, .store_failed = failed_before,
	};

	snprintf(root, sizeof(root), "%s/host", dir);
	assert_int_equal(symbol_sources_create(&options, &sources), 0);
	load.sources = sources;
	assert_int_equal(guest_process_excerpt(f->process, f->mapping, &load.process), 0);
	object_load_run(&load);
	assert_true(load.named);
	*ret_failed = load.store_failed;
	object_load_deinit(&load);
}

/* A debug file that is too large to store is not the end of looking for names. */
static void test_large_debug_file(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	char dir[64] = BUILD_FOLDER, debug[128] = "/usr/lib/debug/.build-id/ab/cd", path[256];
	struct fixture *f = *state;
	bool failed;

	assert_non_null(mkdtemp(dir));
	for (unsigned int i = 2; i < 20; i++)
		strcat(debug, "00");
	strcat(debug, ".debug");
	put_host_file(dir, "/usr/lib/debug/usr/some.so.debug", true, (64 << 20) + 1);
	put_host_file(dir, debug, true, 0);
	assert_int_equal(symcache_create(dir, &cache), 0);
	load_with_host(f, dir, false, cache, &failed);
	assert_false(failed);
	assert_int_equal(symcache_find(cache, &own, SYMCACHE_DEBUG, path, sizeof(path)), 0);
	assert_int_equal(build_folder_remove(dir), 0);
}

/* That something could not be stored is not undone by what could. */
static void test_store_failed(void **state)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	char dir[64] = BUILD_FOLDER, path[256];
	struct fixture *f = *state;
	bool failed;

	assert_non_null(mkdtemp(dir));
	put_host_file(dir, "/usr/some.so", false, 0);
	assert_int_equal(symcache_create(dir, &cache), 0);
	load_with_host(f, dir, true, cache, &failed);
	assert_true(failed);
	assert_int_equal(symcache_find(cache, &own, SYMCACHE_ELF, path, sizeof(path)), 0);
	assert_int_equal(build_folder_remove(dir), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(build_id), TEST(gone), TEST(no_file), TEST(read_errors),
		TEST(large_debug_file), TEST(store_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
