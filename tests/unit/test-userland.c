/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest processes while they are recorded: rules by address, and the records of what is mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "build-program.h"
#include "engine/userland.h"
#include "perfdata/reader.h"
#include "starve.h"

#define TEXT BUILD_PROGRAM_TEXT
#define JIT BUILD_PROGRAM_JIT
#define FUNCTION BUILD_PROGRAM_FUNCTION
#define AGAIN (JIT + 0x10000)
#define NS_PER_S 1000000000ULL

struct fixture {
	char dir[32], path[64];
	struct build_program program;
	struct guest *guest;
	struct perfdata_writer *writer;
	struct userland *userland;
	struct wire_sample wire;
	struct life life;
};

static void create_writer(struct fixture *f)
{
	const struct perfdata_writer_event event = { .name = "cpu-clock", .type = 1, .freq = true,
						     .period_or_freq = 99 };
	const struct perfdata_writer_options options = {
		.hostname = "vm", .arch = "x86_64", .nr_cpus = 1, .events = &event, .nr_events = 1,
	};

	strcpy(f->dir, "/tmp/kvmprof-test.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/perf.data", f->dir);
	assert_int_equal(perfdata_writer_create(f->path, &options, &f->writer), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct vcpu_regs regs;

	*state = f;
	build_program_init(&f->program);
	regs = build_guest_regs(&f->program.guest);
	assert_int_equal(guest_create(mem_fake_reader(f->program.guest.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	create_writer(f);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer,
	}, &f->userland), 0);
	f->wire = build_program_wire(&f->program, NS_PER_S);
	f->life = (struct life){ .number = 1 };
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	userland_destroy(f->userland);
	perfdata_writer_destroy(f->writer);
	guest_destroy(f->guest);
	build_program_deinit(&f->program);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void enter(struct fixture *f, u64 time)
{
	f->wire.time = time;
	assert_int_equal(userland_enter(f->userland, &f->wire, &f->life), 0);
}

static int find(struct fixture *f, u64 pc, s32 *ret_offset)
{
	struct cfi_row row;
	int err = userland_find_row(f->userland, GVA(pc), &row);

	if (!err)
		*ret_offset = row.cfa.offset;
	return err;
}

/* Of the finished file: its records of mappings. */
struct records {
	unsigned int mmaps;
	char names[8][64];
};

static void read_records(struct fixture *f, struct records *ret)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_record record;

	*ret = (struct records){ 0 };
	assert_int_equal(perfdata_writer_finish(f->writer), 0);
	assert_int_equal(perfdata_reader_open(f->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0) {
		if (record.kind == PERFDATA_MMAP && ret->mmaps < 8)
			snprintf(ret->names[ret->mmaps++], 64, "%s", record.mmap.filename);
	}
}

static void test_rules(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	struct records records;
	s32 offset = 0;

	build_program_cache(&f->program);
	enter(f, NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), 0);
	assert_int_equal(offset, 8);
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	assert_int_equal(offset, 24);
	assert_int_equal(find(f, TEXT + FUNCTION + 64, &offset), -ENOENT);
	assert_int_equal(find(f, JIT + 16, &offset), -ENOENT);
	assert_int_equal(find(f, 4096, &offset), -ENOENT);
	enter(f, NS_PER_S + 1);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 1);
	assert_int_equal(counts.reread, 0);
	assert_int_equal(counts.objects.from_guest, 1);
	assert_int_equal(counts.objects.unnamed, 1);
	read_records(f, &records);
	assert_int_equal(records.mmaps, 2);	/* those that can be executed */
	assert_string_equal(records.names[0], "/usr/libx.so");
	assert_string_equal(records.names[1], "[JIT]");
}

static void test_nothing_cached(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	s32 offset = 0;

	enter(f, NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), -ENODATA);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.objects.missing, 1);
	/* Its pages come in; it is looked for again, but not at once. */
	build_program_cache(&f->program);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), -ENODATA);
	enter(f, 4 * NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	assert_int_equal(offset, 24);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.objects.from_guest, 1);
	assert_int_equal(counts.objects.missing, 0);
}

static void test_new_mapping(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	struct records records;
	s32 offset = 0;
	u64 mm = f->program.process.mm;

	build_program_cache(&f->program);
	enter(f, NS_PER_S);
	build_vma(&f->program.process, JIT + 0x10000, JIT + 0x14000, BUILD_VM_READ | BUILD_VM_EXEC,
		  f->program.mapped_file, 0);
	build_hang_mappings(&f->program.process, 1, 0);
	build_set_u32(&f->program.process, mm + BUILD_MM_SEQ, 77);
	/* The list is young and believed, until an address is not in it. */
	enter(f, NS_PER_S + 2);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), 0);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.reread, 0);
	assert_int_equal(find(f, JIT + 0x10000, &offset), -ENOENT);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.reread, 1);
	assert_int_equal(counts.objects.from_guest, 1);	/* one file, mapped twice */
	read_records(f, &records);
	assert_int_equal(records.mmaps, 3);
}

/* Another program, or another process of that number: what it has is told again. */
static void test_another_life(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct fixture *f = *state;
	struct userland_counts counts;
	struct perfdata_record record;
	unsigned int first = 0, second = 0;

	enter(f, NS_PER_S);
	enter(f, NS_PER_S + 5);
	f->life = (struct life){ .number = 2, .since = NS_PER_S + 7 };
	enter(f, NS_PER_S + 10);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 2);
	assert_int_equal(counts.reread, 0);
	f->wire.task.mm += 64;	/* no mm is there: it cannot be read */
	enter(f, 2 * NS_PER_S);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.failed, 1);
	assert_int_equal(perfdata_writer_finish(f->writer), 0);
	assert_int_equal(perfdata_reader_open(f->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0) {
		first += record.kind == PERFDATA_MMAP && !record.time;
		second += record.kind == PERFDATA_MMAP && record.time == NS_PER_S + 7;
	}
	assert_int_equal(first, 2);
	assert_int_equal(second, 2);
}

/* A sample that waited has what was mapped when it was taken, whatever has become of that. */
static void test_mapped_since(void **state)
{
	struct fixture *f = *state;
	struct build_process *p = &f->program.process;
	struct userland_view *before, *after;
	s32 offset;
	bool gone;

	build_program_cache(&f->program);
	enter(f, NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), 0);
	assert_non_null(before = userland_hold(f->userland));
	build_vma(p, AGAIN, AGAIN + ALIGN_UP(f->program.file.len, 4096),
		  BUILD_VM_READ | BUILD_VM_EXEC, f->program.mapped_file, 0);
	build_hang_mappings(p, 1, 0);
	build_set_u32(p, p->mm + BUILD_MM_SEQ, 77);
	enter(f, 2 * NS_PER_S);
	assert_int_equal(find(f, AGAIN + FUNCTION, &offset), 0);
	assert_non_null(after = userland_hold(f->userland));
	assert_false(userland_has_changed(f->userland, GVA(AGAIN)));
	userland_enter_again(f->userland, &f->wire, before, &gone);
	assert_false(gone);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), 0);
	assert_false(userland_has_changed(f->userland, GVA(TEXT)));
	assert_int_equal(find(f, AGAIN + FUNCTION, &offset), -ENOENT);
	assert_true(userland_has_changed(f->userland, GVA(AGAIN)));
	userland_enter_again(f->userland, &f->wire, after, &gone);
	assert_false(gone);
	assert_int_equal(find(f, AGAIN + FUNCTION, &offset), 0);
	assert_false(userland_has_changed(f->userland, GVA(AGAIN)));
	f->life.number++;
	enter(f, 3 * NS_PER_S);
	userland_enter_again(f->userland, &f->wire, before, &gone);
	assert_true(gone);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), 0);
	userland_let_go(f->userland, before);
	userland_enter_again(f->userland, &f->wire, after, &gone);
	assert_true(gone);
	assert_int_equal(find(f, AGAIN + FUNCTION, &offset), 0);
	userland_let_go(f->userland, after);
}

/* A guest that changes what it has mapped all the time is not kept in all its states. */
static void test_held(void **state)
{
	struct userland_view *views[64];
	struct fixture *f = *state;
	unsigned int nr = 0;

	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .max_bytes = 16384,
	}, &f->userland), 0);
	for (; nr < 64; nr++) {
		f->life.number++;
		enter(f, (nr + 1) * NS_PER_S);
		views[nr] = userland_hold(f->userland);
		if (!views[nr])
			break;
	}
	assert_in_range(nr, 2, 60);
	userland_let_go(f->userland, views[0]);
	userland_let_go(f->userland, views[1]);
	assert_non_null(views[0] = userland_hold(f->userland));
	userland_let_go(f->userland, views[0]);
	for (unsigned int i = 2; i < nr; i++)
		userland_let_go(f->userland, views[i]);
}

static void test_no_user_space(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	s32 offset;

	f->wire.flags |= WIRE_F_KTHREAD;
	enter(f, NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), -ENODATA);
	f->wire.flags = 0;
	enter(f, NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), -ENODATA);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes + counts.failed, 0);
}

/* The loader reads it meanwhile; what waits for it is told when it is there. */
static void test_loader(void **state)
{
	_cleanup_(worker_destroy) struct worker *loader = NULL;
	struct fixture *f = *state;
	struct userland_counts counts;
	struct userland_view *view;
	s32 offset = 0;
	bool gone;

	assert_int_equal(worker_create(&loader), 0);
	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .objects.loader = loader,
	}, &f->userland), 0);
	build_program_cache(&f->program);
	enter(f, NS_PER_S);
	assert_null(userland_waits_for(f->userland));
	assert_non_null(view = userland_hold(f->userland));
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), -EAGAIN);
	assert_non_null(userland_waits_for(f->userland));
	assert_true(userland_is_pending(f->userland,
					userland_waits_for(f->userland)));
	assert_int_equal(find(f, JIT + 16, &offset), -ENOENT);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.objects.unread, 1);
	assert_int_equal(userland_wait(f->userland, clock_now_ns() + 60 * NS_PER_S), 0);
	/* It is taken in when the owner says so. */
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), -EAGAIN);
	assert_true(userland_collect(f->userland));
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	/* The rules come first, then all that is to be done with the object. */
	while (!userland_wait(f->userland, clock_now_ns() + 60 * NS_PER_S))
		assert_true(userland_collect(f->userland));
	assert_false(userland_collect(f->userland));
	userland_enter_again(f->userland, &f->wire, view, &gone);
	assert_false(gone);
	assert_null(userland_waits_for(f->userland));
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	assert_int_equal(offset, 24);
	assert_int_equal(userland_wait(f->userland, clock_now_ns()), -ENOENT);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.objects.from_guest, 1);
	assert_int_equal(counts.objects.unread, 0);
	/* Another program by then: known by the sample's mm, and its memory is not to be read. */
	build_set(&f->program.process, f->program.process.task + BUILD_TASK_MM, 0);
	userland_enter_again(f->userland, &f->wire, view, &gone);
	assert_true(gone);
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	userland_let_go(f->userland, view);
	userland_destroy(TAKE_PTR(f->userland));
}

/* Destroying it does not wait for what waits, and frees all. */
static void test_loader_left(void **state)
{
	_cleanup_(worker_destroy) struct worker *loader = NULL;
	struct fixture *f = *state;
	s32 offset = 0;

	assert_int_equal(worker_create(&loader), 0);
	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .objects.loader = loader,
	}, &f->userland), 0);
	enter(f, NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), -EAGAIN);
	userland_destroy(TAKE_PTR(f->userland));
}

/* More processes than are kept: old ones are read again when they come back. */
static void test_many(void **state)
{
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	unsigned int mmaps[2] = { 0 };
	struct perfdata_record record;
	struct fixture *f = *state;
	struct userland_counts counts;
	struct wire_task task = f->wire.task;

	enter(f, NS_PER_S);
	strcpy(f->wire.task.comm, "others");
	for (u64 i = 1; i <= USERLAND_MAX_PROCESSES; i++) {
		f->wire.task.pid = 5000 + i;
		enter(f, NS_PER_S + i);
	}
	f->wire.task = task;
	enter(f, 2 * NS_PER_S);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 2);
	assert_int_equal(counts.failed, USERLAND_MAX_PROCESSES);
	/* What has been told before does not hold since ever. */
	assert_int_equal(perfdata_writer_finish(f->writer), 0);
	assert_int_equal(perfdata_reader_open(f->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &record) > 0)
		mmaps[record.time == 2 * NS_PER_S] += record.kind == PERFDATA_MMAP;
	assert_int_equal(mmaps[0], 2);
	assert_int_equal(mmaps[1], 2);
}

/* Enters a process that is gone, @pid, which looks like a fork of the program: what is its rule? */
static int find_forked(struct fixture *f, u64 time, s32 pid, s32 *ret_offset)
{
	f->wire.task.pid = pid;
	f->wire.task.mm = 0x1000;
	f->life.number++;
	enter(f, time);
	return find(f, TEXT + FUNCTION + 4, ret_offset);
}

/* What was forked and is gone has what it was forked from, where it looks like that. */
static void test_forked(void **state)
{
	struct fixture *f = *state;
	struct wire_sample program;
	struct userland_counts counts;
	struct records records;
	s32 offset = 0;

	build_program_cache(&f->program);
	f->wire.user_sp = JIT + 4096 + 64;
	program = f->wire;
	enter(f, NS_PER_S);
	strcpy(f->wire.task.comm, "other");
	assert_int_equal(find_forked(f, NS_PER_S + 1, 5001, &offset), -ENODATA);
	f->wire = program;
	f->wire.user_sp = JIT + 64;	/* no memory of its own */
	assert_int_equal(find_forked(f, NS_PER_S + 2, 5002, &offset), -ENODATA);
	f->wire = program;
	f->wire.user_pc = JIT + 16;	/* of no file */
	assert_int_equal(find_forked(f, NS_PER_S + 3, 5003, &offset), -ENODATA);
	f->wire = program;
	f->wire.flags |= WIRE_F_USER_GONE;	/* another program's memory, by now */
	assert_int_equal(find_forked(f, NS_PER_S + 3, 5006, &offset), -ENODATA);
	f->wire = program;
	assert_int_equal(find_forked(f, NS_PER_S + 4, 5004, &offset), 0);
	assert_int_equal(offset, 24);
	/* One that was not read itself is as good. */
	f->wire = program;
	assert_int_equal(find_forked(f, NS_PER_S + 5, 5005, &offset), 0);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 1);
	assert_int_equal(counts.failed, 6);
	assert_int_equal(counts.inherited, 2);
	read_records(f, &records);
	assert_int_equal(records.mmaps, 6);
	assert_string_equal(records.names[4], "/usr/libx.so");
}

/* Addresses of 32 bits are so little random that each run of a program looks like a fork of one. */
static void test_forked_32(void **state)
{
	const u64 stack = 0xffdd0000;
	struct fixture *f = *state;
	struct build_process *p = &f->program.process;
	struct userland_counts counts;
	s32 offset;

	p->nr_vmas = 0;
	build_vma(p, 0xf7d00000, 0xf7d20000, BUILD_VM_READ | BUILD_VM_EXEC, f->program.mapped_file,
		  0);
	build_vma(p, stack, stack + 0x21000, BUILD_VM_READ | BUILD_VM_WRITE, 0, 0);
	build_hang_mappings(p, 1, 0);
	build_program_cache(&f->program);
	f->wire.user_pc = 0xf7d00000 + FUNCTION;
	f->wire.user_sp = stack + 0x20000;
	enter(f, NS_PER_S);
	assert_int_equal(find(f, f->wire.user_pc + 4, &offset), 0);
	assert_int_equal(find_forked(f, NS_PER_S + 1, 5001, &offset), -ENODATA);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 1);
	assert_int_equal(counts.inherited, 0);
}

/* Each sample may be of a new process that is gone: only so many are looked at and copied. */
static void test_many_forked(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	u64 before;

	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .max_kin = 100,
	}, &f->userland), 0);
	f->wire.user_sp = JIT + 4096 + 64;
	enter(f, NS_PER_S);
	f->wire.task.mm = 0x1000;
	for (u64 i = 1; i <= 100; i++) {
		f->wire.task.pid = 5000 + i;
		f->life.number++;
		enter(f, NS_PER_S + i);
	}
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.failed, 100);
	assert_in_range(counts.inherited, 5, 50);
	before = counts.inherited;
	enter(f, 3 * NS_PER_S);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.inherited, before + 1);
}

/* More mappings than a recording may have: that is told, and rules are found all the same. */
static void test_too_many_mappings(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	struct records records;
	s32 offset = 0;

	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .max_records = 3,
	}, &f->userland), 0);
	build_program_cache(&f->program);
	enter(f, NS_PER_S);
	f->life.number++;
	enter(f, 2 * NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.left_out, 1);
	read_records(f, &records);
	assert_int_equal(records.mmaps, 3);
}

/* What could not be read is tried again, soon at first and then less often. */
static void test_tried_again(void **state)
{
	static const u64 reads[] = { 0, 20, 60, 140, 300, 500, 700 };	/* ms */
	struct fixture *f = *state;
	struct userland_counts counts;

	f->wire.task.mm = 0x1000;
	for (unsigned int i = 0; i < ARRAY_SIZE(reads); i++) {
		u64 time = NS_PER_S + reads[i] * 1000000;

		if (i)
			enter(f, time - 1);
		userland_get_counts(f->userland, &counts);
		assert_int_equal(counts.failed, i);
		enter(f, time);
		userland_get_counts(f->userland, &counts);
		assert_int_equal(counts.failed, i + 1);
	}
}

/* To read one can take long, and be large, if the guest wants it so. */
static void test_costly(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;

	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .max_reads = 1,
	}, &f->userland), 0);
	enter(f, NS_PER_S);
	f->life.number++;
	enter(f, NS_PER_S + 1);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 1);
	assert_int_equal(counts.failed, 1);
	enter(f, 2 * NS_PER_S);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 2);
	assert_int_equal(counts.failed, 1);
	userland_destroy(f->userland);
	assert_int_equal(userland_create(&(struct userland_options){
		.guest = f->guest, .writer = f->writer, .max_bytes = 1,
	}, &f->userland), 0);
	enter(f, 3 * NS_PER_S);
	enter(f, 3 * NS_PER_S + 1);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 2);
}

/* Which a guest can bring about: it ends nothing, and nothing of it stays. */
static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct userland_counts counts;
	int err, find_err;
	s32 offset;

	build_program_cache(&f->program);
	if (!starve_begin())
		skip();
	err = userland_enter(f->userland, &f->wire, &f->life);
	find_err = find(f, TEXT + FUNCTION, &offset);
	starve_end();
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(find_err, -ENODATA);
	enter(f, 2 * NS_PER_S);
	assert_int_equal(find(f, TEXT + FUNCTION, &offset), 0);
	userland_get_counts(f->userland, &counts);
	assert_int_equal(counts.processes, 1);
}

/* A process that was forgotten while a sample of it waits, and that there is no memory for then. */
static void test_no_memory_again(void **state)
{
	struct fixture *f = *state;
	struct userland_view *view;
	struct wire_sample program;
	s32 offset = 0;
	bool gone;
	int err;

	build_program_cache(&f->program);
	enter(f, NS_PER_S);
	assert_non_null(view = userland_hold(f->userland));
	program = f->wire;
	for (u64 i = 1; i <= USERLAND_MAX_PROCESSES; i++) {
		f->wire.task.pid = 5000 + i;
		enter(f, NS_PER_S + i);
	}
	f->wire = program;
	f->wire.time = 2 * NS_PER_S;
	if (starve_begin()) {
		err = userland_enter(f->userland, &f->wire, &f->life);
		starve_end();
		assert_int_equal(err, -ENOMEM);
	}
	userland_enter_again(f->userland, &program, view, &gone);
	assert_true(gone);
	assert_int_equal(find(f, TEXT + FUNCTION + 4, &offset), 0);
	assert_int_equal(offset, 24);
	userland_let_go(f->userland, view);
}

static void test_counts_text(void **state)
{
	const struct userland_counts counts = { .processes = 3, .objects.partial = 2 };
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	userland_counts_write(&counts, &text);
	assert_string_equal(strbuf_cstr(&text), "processes read: 3\n"
			    "objects with some rules not in guest memory: 2\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rules),	    TEST(nothing_cached), TEST(new_mapping),
		TEST(another_life), TEST(no_user_space),  TEST(many),
		TEST(mapped_since), TEST(held),	  TEST(forked),	  TEST(costly),	  TEST(tried_again),
		TEST(too_many_mappings),
		TEST(many_forked),  TEST(forked_32),
		TEST(no_memory),    TEST(no_memory_again),
		TEST(loader),	    TEST(loader_left),
		cmocka_unit_test(test_counts_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
