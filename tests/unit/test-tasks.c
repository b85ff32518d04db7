/* SPDX-License-Identifier: GPL-2.0-only */
/* The list of a guest's processes, whole, torn and endless; and one task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build-process.h"
#include "guest/tasks.h"

#define NR 5

struct fixture {
	struct build_guest build;
	struct build_process p;
	struct guest *guest;
	u64 head;
	u64 tasks[NR];
};

static void open_fixture(struct fixture *f)
{
	struct build_guest_options options = build_guest_release(6);
	u64 place;

	build_guest_init(&f->build, &options);
	build_process_init(&f->p, &f->build);
	f->head = f->build.start + BUILD_GUEST_VARIABLES + BUILD_GUEST_INIT_TASK +
		  BUILD_TASK_LIST;
	place = f->head;
	for (u32 i = 0; i < NR; i++) {
		char comm[16] = "";

		f->tasks[i] = build_object(&f->p, 256, 64);
		snprintf(comm, sizeof(comm), "task-%u", i);
		build_guest_poke(&f->build, f->tasks[i] + BUILD_TASK_COMM, comm, sizeof(comm));
		build_set_u32(&f->p, f->tasks[i] + BUILD_TASK_PID, 100 + i);
		build_set_u32(&f->p, f->tasks[i] + BUILD_TASK_TGID, 100 + i);
		build_set(&f->p, f->tasks[i] + BUILD_TASK_MM, i ? f->p.mm : 0);
		build_list_add(&f->p, &place, f->tasks[i] + BUILD_TASK_LIST);
	}
	build_list_add(&f->p, &place, f->head);
	f->guest = build_process_identify(&f->p);
	assert_non_null(f->guest);
}

static void close_fixture(struct fixture *f)
{
	guest_destroy(f->guest);
	build_guest_deinit(&f->build);
}

struct seen {
	const struct fixture *f;
	unsigned int nr, stop_after;
};

static int see(void *ctx, const struct wire_task *task)
{
	struct seen *seen = ctx;
	char comm[16];

	if (seen->nr < NR) {
		snprintf(comm, sizeof(comm), "task-%u", seen->nr);
		assert_string_equal(task->comm, comm);
		assert_int_equal(task->task, seen->f->tasks[seen->nr]);
		assert_int_equal(task->pid, 100 + seen->nr);
		assert_int_equal(task->tid, 100 + seen->nr);
		assert_int_equal(task->mm, seen->nr ? seen->f->p.mm : 0);
	}
	seen->nr++;
	return seen->nr == seen->stop_after ? 42 : 0;
}

static void walk(const struct fixture *f, int err, unsigned int nr)
{
	struct seen seen = { .f = f };

	assert_int_equal(guest_for_each_process(f->guest, see, &seen), err);
	assert_int_equal(seen.nr, nr);
}

static void test_list(void **state)
{
	struct fixture f;
	struct seen seen = { .f = &f, .stop_after = 3 };

	(void)state;
	open_fixture(&f);
	walk(&f, 0, NR);
	assert_int_equal(guest_for_each_process(f.guest, see, &seen), 42);
	assert_int_equal(seen.nr, 3);
	build_set(&f.p, f.head, f.head);
	walk(&f, 0, 0);
	close_fixture(&f);
}

static void test_not_identified(void **state)
{
	struct guest *guest;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(guest_create(mem_fake_reader(f.build.mem), NULL, &guest), 0);
	assert_int_equal(guest_for_each_process(guest, NULL, NULL), -ENOENT);
	guest_destroy(guest);
	close_fixture(&f);
}

static void test_hostile_list(void **state)
{
	struct fixture f;
	struct seen seen = { .f = &f };

	(void)state;
	open_fixture(&f);
	build_set(&f.p, f.tasks[2] + BUILD_TASK_LIST, 0xdead000000000100);
	walk(&f, -EFAULT, 3);
	/* A tail that is bitten. */
	build_set(&f.p, f.tasks[4] + BUILD_TASK_LIST, f.tasks[4] + BUILD_TASK_LIST);
	build_set(&f.p, f.tasks[2] + BUILD_TASK_LIST, f.tasks[3] + BUILD_TASK_LIST);
	assert_int_equal(guest_for_each_process(f.guest, see, &seen), -EBADMSG);
	assert_int_equal(seen.nr, GUEST_MAX_PROCESSES);
	close_fixture(&f);
}

/* A thread, 205 of process 104, whose parent is 102. */
static struct wire_task make_thread(struct fixture *f)
{
	struct wire_task task = { .task = build_object(&f->p, 256, 64), .tid = 205, .pid = 104 };

	build_set_u32(&f->p, task.task + BUILD_TASK_PID, 205);
	build_set_u32(&f->p, task.task + BUILD_TASK_TGID, 104);
	build_set(&f->p, task.task + BUILD_TASK_START, 77);
	build_set(&f->p, task.task + BUILD_TASK_LEADER, f->tasks[4]);
	build_set(&f->p, task.task + BUILD_TASK_PARENT, f->tasks[2]);
	build_set(&f->p, f->tasks[4] + BUILD_TASK_START, 66);
	return task;
}

static void test_facts(void **state)
{
	struct guest_task_facts facts;
	struct wire_task task, other;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	task = make_thread(&f);
	assert_int_equal(guest_task_read(f.guest, &task, &facts), 0);
	assert_int_equal(facts.start_time, 77);
	assert_int_equal(facts.leader, f.tasks[4]);
	assert_int_equal(facts.leader_start_time, 66);
	assert_string_equal(facts.leader_comm, "task-4");
	assert_true(facts.has_parent);
	assert_int_equal(facts.parent, 102);
	assert_false(facts.ended);
	build_set_u32(&f.p, task.task + BUILD_TASK_EXIT_STATE, 0x20);
	assert_int_equal(guest_task_read(f.guest, &task, &facts), 0);
	assert_true(facts.ended);
	/* Pointers into nothing: what they lead to is not known, the rest is. */
	build_set(&f.p, task.task + BUILD_TASK_LEADER, 0xdead000000000100);
	build_set(&f.p, task.task + BUILD_TASK_PARENT, 8);
	assert_int_equal(guest_task_read(f.guest, &task, &facts), 0);
	assert_int_equal(facts.start_time, 77);
	assert_int_equal(facts.leader_start_time, 0);
	assert_string_equal(facts.leader_comm, "");
	assert_false(facts.has_parent);
	other = task;
	other.tid++;
	assert_int_equal(guest_task_read(f.guest, &other, &facts), -ESTALE);
	other.task = 0xdead000000000100;
	assert_int_equal(guest_task_read(f.guest, &other, &facts), -EFAULT);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_not_identified),
		cmocka_unit_test(test_hostile_list),
		cmocka_unit_test(test_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
