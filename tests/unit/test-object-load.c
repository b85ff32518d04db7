/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading an object: what comes of files that are whole, lie, change, or are not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-elf.h"
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

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(build_id), TEST(gone), TEST(no_file), TEST(read_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
