/* SPDX-License-Identifier: GPL-2.0-only */
/* Lives of tasks: the records that tell of them, as they are read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "build-program.h"
#include "engine/lives.h"
#include "perfdata/reader.h"

#define NS_PER_S 1000000000ULL
#define PID 1234	/* of build-process.h */

struct fixture {
	char dir[32], path[64];
	struct build_program program;
	struct guest *guest;
	struct perfdata_writer *writer;
	struct lives *lives;
	u64 parent;		/* struct task_struct of process 77 */
	struct life life;
};

static void set_task(struct fixture *f, u64 task, u32 pid, u32 tid, u64 start, u64 leader)
{
	struct build_process *p = &f->program.process;

	build_set_u32(p, task + BUILD_TASK_PID, tid);
	build_set_u32(p, task + BUILD_TASK_TGID, pid);
	build_set(p, task + BUILD_TASK_START, start);
	build_set(p, task + BUILD_TASK_LEADER, leader);
	build_set(p, task + BUILD_TASK_PARENT, f->parent);
	build_set_u32(p, task + BUILD_TASK_EXIT_STATE, 0);
}

static u64 make_task(struct fixture *f, u32 pid, u32 tid, u64 start, u64 leader)
{
	u64 task = build_object(&f->program.process, 256, 64);

	set_task(f, task, pid, tid, start, leader ? leader : task);
	return task;
}

static int setup(void **state)
{
	const struct perfdata_writer_event event = { .name = "cpu-clock", .type = 1, .freq = true,
						     .period_or_freq = 99 };
	const struct perfdata_writer_options options = {
		.hostname = "vm", .arch = "x86_64", .nr_cpus = 1, .events = &event, .nr_events = 1,
	};
	struct fixture *f = calloc(1, sizeof(*f));
	struct vcpu_regs regs;

	*state = f;
	strcpy(f->dir, "/tmp/kvmprof-test.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/perf.data", f->dir);
	build_program_init(&f->program);
	f->parent = make_task(f, 77, 77, 1, 0);
	set_task(f, f->program.process.task, PID, PID, 5 * NS_PER_S, f->program.process.task);
	regs = build_guest_regs(&f->program.guest);
	assert_int_equal(guest_create(mem_fake_reader(f->program.guest.mem), NULL, &f->guest), 0);
	assert_int_equal(guest_identify(f->guest, &regs, NULL), 0);
	assert_int_equal(perfdata_writer_create(f->path, &options, &f->writer), 0);
	assert_int_equal(lives_create(f->guest, f->writer, &f->lives), 0);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	lives_destroy(f->lives);
	perfdata_writer_destroy(f->writer);
	guest_destroy(f->guest);
	build_program_deinit(&f->program);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void enter(struct fixture *f, u64 task, u32 pid, u32 tid, u64 mm, const char *comm, u64 time)
{
	struct wire_sample wire = {
		.flags = WIRE_F_TASK, .time = time,
		.task = { .task = task, .pid = pid, .tid = tid, .mm = mm },
	};

	memcpy(wire.task.comm, comm, MIN(strlen(comm), sizeof(wire.task.comm)));
	assert_int_equal(lives_enter(f->lives, &wire, &f->life), 0);
}

/* The file's records in a reader's order: "fork 3:4 by 1:1 @9; comm …". */
static void read_back(struct fixture *f, struct strbuf *out)
{
	static const char *const names[] = {
		[PERFDATA_COMM] = "comm", [PERFDATA_FORK] = "fork", [PERFDATA_EXIT] = "exit",
	};
	_cleanup_(perfdata_reader_close) struct perfdata_reader *reader = NULL;
	struct perfdata_reader_stats stats;
	struct perfdata_record r;

	assert_int_equal(perfdata_writer_finish(f->writer), 0);
	assert_int_equal(perfdata_reader_open(f->path, &reader, NULL), 0);
	while (perfdata_reader_next(reader, &r) > 0) {
		strbuf_addf(out, "%s %d:%d", names[r.kind], r.pid, r.tid);
		if (r.kind == PERFDATA_COMM)
			strbuf_addf(out, " %s%s", r.comm.comm, r.comm.exec ? " exec" : "");
		if (r.kind == PERFDATA_FORK)
			strbuf_addf(out, " by %d:%d", r.task.ppid, r.task.ptid);
		strbuf_addf(out, " @%llu\n", (unsigned long long)r.time);
	}
	perfdata_reader_stats(reader, &stats);
	assert_int_equal(stats.unordered, 0);
}

static void expect(struct fixture *f, const char *records)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	read_back(f, &text);
	assert_string_equal(strbuf_cstr(&text), records);
}

/* Its main thread comes first, and what was there before was there ever. */
static void test_first_seen(void **state)
{
	struct fixture *f = *state;
	u64 leader = f->program.process.task, mm = f->program.process.mm;
	u64 thread = make_task(f, PID, 1300, 6 * NS_PER_S, leader);

	build_guest_poke(&f->program.guest, leader + BUILD_TASK_COMM, "main", 5);
	enter(f, thread, PID, 1300, mm, "worker", 10);
	assert_int_equal(f->life.since, 0);
	assert_int_not_equal(f->life.number, 0);
	enter(f, leader, PID, PID, mm, "main", 20);
	enter(f, thread, PID, 1300, mm, "renamed", 30);
	enter(f, leader, PID, PID, 0, "main", 35);	/* on its way out */
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 main @0\n"
		  "fork 1234:1300 by 1234:1234 @0\n"
		  "comm 1234:1300 worker @0\n"
		  "comm 1234:1300 renamed @30\n");
}

static void test_exec(void **state)
{
	struct fixture *f = *state;
	u64 task = f->program.process.task, mm = f->program.process.mm, number;

	enter(f, task, PID, PID, mm, "sh", NS_PER_S);
	number = f->life.number;
	enter(f, task, PID, PID, mm, "sh", NS_PER_S + 5);
	assert_int_equal(f->life.number, number);
	enter(f, task, PID, PID, mm + 64, "sh", NS_PER_S + 10);
	assert_int_not_equal(f->life.number, number);
	assert_int_equal(f->life.since, NS_PER_S + 10);
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 sh @0\n"
		  "comm 1234:1234 sh exec @1000000010\n");
}

/* The same numbers, the same memory even, but it began later: another process. */
static void test_reused(void **state)
{
	struct fixture *f = *state;
	u64 task = f->program.process.task, mm = f->program.process.mm, number;

	enter(f, task, PID, PID, mm, "old", NS_PER_S);
	number = f->life.number;
	set_task(f, task, PID, PID, 9 * NS_PER_S, task);
	enter(f, task, PID, PID, mm, "old", NS_PER_S + 50);	/* believed for a while */
	enter(f, task, PID, PID, mm, "new", 3 * NS_PER_S);
	assert_int_not_equal(f->life.number, number);
	assert_int_equal(f->life.since, 3 * NS_PER_S - NS_PER_S / 10);
	/* Another task is looked at at once. */
	task = make_task(f, PID, PID, 11 * NS_PER_S, 0);
	enter(f, task, PID, PID, mm, "newer", 3 * NS_PER_S + 10);
	assert_int_equal(f->life.since, 3 * NS_PER_S + 1);
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 old @0\n"
		  "exit 1234:1234 @2900000000\n"
		  "fork 1234:1234 by 77:77 @2900000000\n"
		  "comm 1234:1234 new @2900000000\n"
		  "exit 1234:1234 @3000000001\n"
		  "fork 1234:1234 by 77:77 @3000000001\n"
		  "comm 1234:1234 newer @3000000001\n");
}

/* Those that have ended are noticed; what they still run changes nothing. */
static void test_ended(void **state)
{
	struct fixture *f = *state;
	u64 leader = f->program.process.task, mm = f->program.process.mm;
	u64 thread = make_task(f, PID, 1300, 6 * NS_PER_S, leader);

	enter(f, leader, PID, PID, mm, "main", NS_PER_S);
	enter(f, thread, PID, 1300, mm, "worker", NS_PER_S + 10);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 20), 0);
	build_set_u32(&f->program.process, thread + BUILD_TASK_EXIT_STATE, 0x10);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 30), 0);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 40), 0);
	enter(f, thread, PID, 1300, mm, "worker", NS_PER_S + 50);
	/* Its number is another thread's, its memory another task's. */
	set_task(f, thread, PID, 1300, 8 * NS_PER_S, leader);
	enter(f, thread, PID, 1300, mm, "second", NS_PER_S + 60);
	set_task(f, leader, 99, 99, 8 * NS_PER_S, leader);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 70), 0);
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 main @0\n"
		  "fork 1234:1300 by 1234:1234 @0\n"
		  "comm 1234:1300 worker @0\n"
		  "exit 1234:1300 @1000000021\n"
		  "exit 1234:1234 @1000000041\n"
		  "fork 1234:1300 by 1234:1234 @1000000051\n"
		  "comm 1234:1300 second @1000000051\n");
}

/* execve() in a thread, which takes the main one's place; the end of that was seen first. */
static void test_exec_in_thread(void **state)
{
	struct fixture *f = *state;
	u64 leader = f->program.process.task, mm = f->program.process.mm, number;
	u64 thread = make_task(f, PID, 1300, 6 * NS_PER_S, leader);

	enter(f, leader, PID, PID, mm, "old", NS_PER_S);
	enter(f, thread, PID, 1300, mm, "worker", NS_PER_S + 10);
	number = f->life.number;
	set_task(f, thread, PID, PID, 5 * NS_PER_S, thread);
	set_task(f, leader, PID, 1300, 6 * NS_PER_S, thread);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 20), 0);
	enter(f, thread, PID, PID, mm + 64, "new", NS_PER_S + 30);
	assert_int_not_equal(f->life.number, number);
	enter(f, thread, PID, PID, mm + 64, "new", NS_PER_S + 40);
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 old @0\n"
		  "fork 1234:1300 by 1234:1234 @0\n"
		  "comm 1234:1300 worker @0\n"
		  "exit 1234:1234 @1000000001\n"
		  "fork 1234:1234 by 77:77 @1000000002\n"
		  "comm 1234:1234 new @1000000002\n"
		  "exit 1234:1300 @1000000011\n");
}

/* The same, and another thread of the new program is the first that is seen. */
static void test_exec_thread_first(void **state)
{
	struct fixture *f = *state;
	u64 leader = f->program.process.task, mm = f->program.process.mm, number;
	u64 thread = make_task(f, PID, 1300, 6 * NS_PER_S, leader), second;

	enter(f, leader, PID, PID, mm, "old", NS_PER_S);
	number = f->life.number;
	set_task(f, thread, PID, PID, 5 * NS_PER_S, thread);
	set_task(f, leader, PID, 1300, 6 * NS_PER_S, thread);
	build_guest_poke(&f->program.guest, thread + BUILD_TASK_COMM, "new", 4);
	second = make_task(f, PID, 1400, 8 * NS_PER_S, thread);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 20), 0);
	enter(f, second, PID, 1400, mm + 64, "second", NS_PER_S + 30);
	assert_int_not_equal(f->life.number, number);
	number = f->life.number;
	enter(f, thread, PID, PID, mm + 64, "new", NS_PER_S + 40);
	assert_int_equal(f->life.number, number);
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 old @0\n"
		  "fork 1234:1400 by 1234:1234 @0\n"
		  "comm 1234:1400 second @0\n"
		  "exit 1234:1234 @1000000001\n"
		  "fork 1234:1234 by 77:77 @1000000002\n"
		  "comm 1234:1234 new @1000000002\n");
}

/* What cannot be read for a while has not ended; nor is it another one without a start time. */
static void test_unreadable(void **state)
{
	struct fixture *f = *state;
	struct mem_fake *mem = f->program.guest.mem;
	u64 task = f->program.process.task, mm = f->program.process.mm;

	enter(f, task, PID, PID, mm, "sh", NS_PER_S);
	mem_fake_fail(mem, 0, -EFAULT);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 10), 0);
	mem_fake_fail(mem, 0, 0);
	set_task(f, task, PID, PID, 0, task);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 20), 0);
	enter(f, task, PID, PID, mm, "sh", 3 * NS_PER_S);
	expect(f, "fork 1234:1234 by 77:77 @0\n"
		  "comm 1234:1234 sh @0\n");
}

/* A task that could not be read at first is not another one when it can be. */
static void test_unread(void **state)
{
	struct fixture *f = *state;
	struct mem_fake *mem = f->program.guest.mem;
	u64 task = f->program.process.task, mm = f->program.process.mm;

	mem_fake_fail(mem, 0, -EFAULT);
	enter(f, task, PID, PID, mm, "sh", NS_PER_S);
	mem_fake_fail(mem, 0, -ESRCH);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 10), 0);
	mem_fake_fail(mem, 0, 0);
	assert_int_equal(lives_look(f->lives, NS_PER_S + 20), 0);
	enter(f, task, PID, PID, mm, "sh", 3 * NS_PER_S);
	expect(f, "fork 1234:1234 by -1:-1 @0\n"
		  "comm 1234:1234 sh @0\n");
}

/* A kernel thread in the memory of one process after the other runs no other program. */
static void test_borrowed_memory(void **state)
{
	struct fixture *f = *state;
	struct wire_sample wire = {
		.flags = WIRE_F_TASK | WIRE_F_KTHREAD, .time = NS_PER_S,
		.task = { .task = make_task(f, 50, 50, 7, 0), .pid = 50, .tid = 50,
			  .comm = "vhost" },
	};

	for (u64 i = 0; i < 4; i++) {
		wire.task.mm = i * 4096;
		wire.time += 10;
		assert_int_equal(lives_enter(f->lives, &wire, &f->life), 0);
	}
	expect(f, "fork 50:50 by 77:77 @0\n"
		  "comm 50:50 vhost @0\n");
}

/* More than are remembered: nothing grows, and what may have been told before is told as new. */
static void test_many(void **state)
{
	struct fixture *f = *state;
	u64 task = f->program.process.task, mm = f->program.process.mm;
	u32 nr = 0;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	enter(f, task, PID, PID, mm, "first", NS_PER_S);
	for (u32 i = 0; i < LIVES_MAX + 10; i++)
		enter(f, 0xdead000000000100, 100000 + i, 100000 + i, mm, "x", NS_PER_S + i);
	enter(f, task, PID, PID, mm, "first", NS_PER_S + 2 * LIVES_MAX);
	assert_int_not_equal(f->life.since, 0);
	read_back(f, &text);
	for (const char *at = strbuf_cstr(&text); (at = strstr(at, "fork 1234:1234 by")); at++)
		nr++;
	assert_int_equal(nr, 2);
}

/* No task, and the idle tasks, have names but no beginning. */
static void test_no_task(void **state)
{
	struct fixture *f = *state;
	struct wire_sample wire = { .time = 5 };

	assert_int_equal(lives_enter(f->lives, &wire, &f->life), 0);
	wire.time = 6;
	assert_int_equal(lives_enter(f->lives, &wire, &f->life), 0);
	enter(f, 0xdead000000000100, 0, 0, 0, "swapper/0", 7);
	enter(f, 0xdead000000000200, 0, 0, 0, "swapper/0", 8);
	expect(f, "comm 0:0 swapper/0 @0\n"
		  "comm -1:-1 [unknown] @5\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_seen), TEST(exec), TEST(reused), TEST(ended), TEST(unread),
		TEST(exec_in_thread), TEST(exec_thread_first), TEST(unreadable),
		TEST(borrowed_memory), TEST(many), TEST(no_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
