/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks of a kernel without BTF: found by what the first three of them hold, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-process.h"
#include "guest/task-find.h"
#include "guest/tasks.h"

#define TASK_BYTES 8192
#define READS 100000

/* As 4.19 has them, more or less; far from those of the fixture's BTF. */
enum { STACK = 0x18, LIST = 0x488, MM = 0x4d8, PID = 0x5c0, COMM = 0x780 };

struct fixture {
	struct build_guest build;
	struct build_process p;
	u64 tasks[4];	/* init_task, process 1, kthreadd, another */
};

static void add_task(struct fixture *f, unsigned int i, const char *name)
{
	u64 task = build_object(&f->p, TASK_BYTES, 64), stack = build_object(&f->p, 16384, 16384);
	char comm[16] = "";

	strncpy(comm, name, sizeof(comm) - 1);
	build_set(&f->p, stack, 0x57ac6e9d);
	build_set(&f->p, task + STACK, stack);
	build_set_u32(&f->p, task + PID, i);
	build_set_u32(&f->p, task + PID + 4, i);
	build_guest_poke(&f->build, task + COMM, comm, sizeof(comm));
	f->tasks[i] = task;
}

static void link_tasks(struct fixture *f)
{
	for (unsigned int i = 0; i < 4; i++) {
		u64 next = f->tasks[(i + 1) % 4] + LIST;

		build_set(&f->p, f->tasks[i] + LIST, next);
		build_set(&f->p, next + 8, f->tasks[i] + LIST);
	}
}

static void open_fixture(struct fixture *f)
{
	struct build_guest_options options = build_guest_release(1);
	static const char *const names[] = { "swapper/0", "init", "kthreadd", "rcu_gp" };

	build_guest_init(&f->build, &options);
	build_process_init(&f->p, &f->build);
	for (unsigned int i = 0; i < 4; i++)
		add_task(f, i, names[i]);
	link_tasks(f);
	build_set(&f->p, f->tasks[1] + MM, f->p.mm);
	build_set(&f->p, f->tasks[1] + MM + 8, f->p.mm);
	/* Idle tasks and kernel threads borrow one. */
	build_set(&f->p, f->tasks[0] + MM + 8, f->p.mm);
	build_set(&f->p, f->tasks[2] + MM + 8, f->p.mm);
}

static void close_fixture(struct fixture *f)
{
	build_guest_deinit(&f->build);
}

static int find(struct fixture *f, struct kernel_layout *layout)
{
	struct vcpu_regs regs = build_guest_regs(&f->build);
	struct mmu_space space;
	struct kread k;

	layout_init(layout);
	assert_int_equal(mmu_space_init(&space, &regs), 0);
	kread_init(&k, mem_fake_reader(f->build.mem), &space, READS);
	return task_find_layout(layout, &k, f->tasks[0]);
}

static void test_found(void **state)
{
	struct kernel_layout layout;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_int_equal(find(&f, &layout), 0);
	assert_int_equal(layout.task_pid, PID);
	assert_int_equal(layout.task_tgid, PID + 4);
	assert_int_equal(layout.task_comm, COMM);
	assert_int_equal(layout.task_stack, STACK);
	assert_int_equal(layout.task_mm, MM);
	assert_int_equal(layout.user.task_list, LIST);
	assert_true(layout_has_task(&layout));
	close_fixture(&f);
}

/* A word somewhere that must not be so, or that makes a second place as good as the first. */
static void test_doubtful(void **state)
{
	static const struct { unsigned int task; u32 offset; u64 value; } wrong[] = {
		{ 0, COMM, 0x72656b6f726b },	/* another name */
		{ 2, COMM, 0x64 },
		{ 1, PID, 0x200000001 },	/* a thread's, not a process's */
		{ 2, LIST + 8, 0 },		/* not linked back */
		{ 1, MM, 0 },			/* not run yet */
		{ 1, MM + 8, 0xffff888100000040 },
		{ 2, STACK, 0xffff888100000008 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct kernel_layout layout;
		struct fixture f;

		open_fixture(&f);
		build_set(&f.p, f.tasks[wrong[i].task] + wrong[i].offset, wrong[i].value);
		assert_int_equal(find(&f, &layout), -ENOENT);
		assert_false(layout_has_task(&layout));
		assert_int_equal(layout.task_comm, LAYOUT_NONE);
		close_fixture(&f);
	}
}

static void test_ambiguous(void **state)
{
	struct kernel_layout layout;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	for (unsigned int i = 0; i < 3; i++)
		build_set(&f.p, f.tasks[i] + 0x900, (u64)i << 32 | i);
	/* The words before and behind are zeros, as those of init_task are; but not all three's. */
	assert_int_equal(find(&f, &layout), -ENOENT);
	close_fixture(&f);
}

/* Each word of the three tasks, with what could lead anywhere. */
static void test_hostile(void **state)
{
	static const u64 values[] = { 0, ~0ULL, 0xffff888100000000, 0xff00000000000000 };
	struct fixture f;

	(void)state;
	open_fixture(&f);
	for (unsigned int task = 0; task < 3; task++) {
		for (u32 offset = 0; offset < 0x800; offset += 8) {
			u64 place = f.tasks[task] + offset, kept = build_get(&f.p, place);
			struct kernel_layout layout;

			for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
				int err;

				build_set(&f.p, place, values[i]);
				err = find(&f, &layout);
				assert_true(err == 0 || err == -ENOENT);
			}
			build_set(&f.p, place, kept);
		}
	}
	close_fixture(&f);
}

/* Memory that is not there; and a limit of reads. */
static void test_missing(void **state)
{
	struct vcpu_regs regs;
	struct kernel_layout layout;
	struct mmu_space space;
	struct fixture f;
	struct kread k;

	(void)state;
	open_fixture(&f);
	f.tasks[0] = 0xffff888200000000;
	assert_int_equal(find(&f, &layout), -ENOENT);
	close_fixture(&f);
	open_fixture(&f);
	regs = build_guest_regs(&f.build);
	layout_init(&layout);
	assert_int_equal(mmu_space_init(&space, &regs), 0);
	kread_init(&k, mem_fake_reader(f.build.mem), &space, 2);
	assert_true(task_find_layout(&layout, &k, f.tasks[0]) < 0);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_doubtful),
		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
