/* SPDX-License-Identifier: GPL-2.0-only */
/* The places in an i386 kernel's tasks, found in a guest that has little more than those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "build-i386.h"
#include "guest/layout-i386.h"

struct fixture {
	struct build_i386 build;
	struct image image;
	struct mmu_space space;
	struct vcpu_regs regs;
};

static const u32 *const tasks = build_i386_tasks;

static void setup(struct fixture *f)
{
	build_i386_init(&f->build, MMU_MODE_X86_PAE);
	f->image = (struct image){
		.start = BUILD_I386_HIGH | BUILD_I386_TEXT, .size = BUILD_I386_TEXT_SIZE,
		.data = f->build.text, .word = 4,
	};
	f->space = build_pagetable_space(&f->build.pages);
	f->regs = build_i386_regs(&f->build);
}

static void teardown(struct fixture *f)
{
	build_i386_deinit(&f->build);
}

static void put(struct fixture *f, u32 address, u32 value)
{
	build_i386_put(&f->build, address, value);
}

static int find(struct fixture *f, struct layout_i386 *found)
{
	return layout_i386_find(&f->image, &f->space, mem_fake_reader(f->build.mem), &f->regs,
				found);
}

static void assert_found(const struct layout_i386 *found)
{
	assert_int_equal(found->current_task, BUILD_I386_HIGH | BUILD_I386_CURRENT);
	assert_int_equal(found->task_stack, BUILD_I386_STACK);
	assert_int_equal(found->task_flags, BUILD_I386_FLAGS);
	assert_int_equal(found->task_mm, BUILD_I386_MM);
	assert_int_equal(found->task_pid, BUILD_I386_PID);
	assert_int_equal(found->task_tgid, BUILD_I386_PID + 4);
	assert_int_equal(found->task_comm, BUILD_I386_COMM);
}

static void test_found(void **state)
{
	static struct fixture f;
	struct layout_i386 found;

	(void)state;
	setup(&f);
	assert_int_equal(find(&f, &found), 0);
	assert_found(&found);
	/* What runs is a task of the kernel's, or the first. */
	put(&f, BUILD_I386_PERCPU + BUILD_I386_CURRENT, tasks[2]);
	assert_int_equal(find(&f, &found), 0);
	assert_found(&found);
	put(&f, BUILD_I386_PERCPU + BUILD_I386_CURRENT, tasks[0]);
	assert_int_equal(find(&f, &found), 0);
	assert_found(&found);
	teardown(&f);
}

/* A second place that could be pid and tgid. */
static void add_second_pid(struct fixture *f)
{
	for (u32 task = 0; task < 3; task++) {
		put(f, tasks[task] + BUILD_I386_PID + 16, task);
		put(f, tasks[task] + BUILD_I386_PID + 20, task);
	}
}

static void spoil(struct fixture *f, unsigned int how)
{
	switch (how) {
	case 0:
		f->regs.x86.gdt_base = 0;
		break;
	case 1:
		put(f, BUILD_I386_PERCPU + BUILD_I386_CURRENT, tasks[3] + 64);
		break;
	case 2:
		put(f, tasks[0] + BUILD_I386_COMM, 0);
		break;
	case 3:
		put(f, tasks[2] + BUILD_I386_COMM, 0);
		break;
	case 4:
		put(f, tasks[1] + BUILD_I386_PID + 4, 2);
		break;
	case 5:
		put(f, tasks[1] + BUILD_I386_MM, 0);
		break;
	case 6:
		add_second_pid(f);
		break;
	default:
		put(f, BUILD_I386_STACKS + LAYOUT_I386_THREAD_SIZE, 0);
	}
}

/* Each thing that is not there, or there twice, is a reason to find nothing. */
static void test_not_found(void **state)
{
	static struct fixture f;
	struct layout_i386 found;

	(void)state;
	for (unsigned int how = 0; how < 8; how++) {
		setup(&f);
		spoil(&f, how);
		assert_int_equal(find(&f, &found), -ENOENT);
		teardown(&f);
	}
}

/* Code that ends anywhere among the loads of the current task, in an instruction too. */
static void test_image_cut(void **state)
{
	static struct fixture f;
	struct layout_i386 found;

	(void)state;
	setup(&f);
	for (u32 left = 0; left < 400; left++) {
		_cleanup_free_ u8 *cut = malloc(left + 1);
		int err;

		assert_non_null(cut);
		memcpy(cut, f.build.text + BUILD_I386_TASK_LOADS, left);
		f.image.data = cut;
		f.image.size = left;
		err = find(&f, &found);
		assert_true(err == 0 || err == -ENOENT);
		if (err == 0)
			assert_int_equal(found.current_task, BUILD_I386_HIGH | BUILD_I386_CURRENT);
	}
	teardown(&f);
}

/* Memory that is not there, a page at a time: nothing is found by halves. */
static void test_page_missing(void **state)
{
	static struct fixture f;
	struct layout_i386 found;
	unsigned int nr_found = 0;

	(void)state;
	setup(&f);
	for (u32 at = BUILD_I386_DATA; at < BUILD_I386_STACKS + 0x2000000; at += 0x1000) {
		u64 entry = build_pagetable_entry(&f.build.pages, at, 0);
		u64 value = entry ? build_pagetable_get(&f.build.pages, entry) : 0;
		int err;

		if (!(value & 1))
			continue;
		assert_int_equal(build_pagetable_put(&f.build.pages, entry, 0), 0);
		err = find(&f, &found);
		assert_true(err == 0 || err == -ENOENT);
		if (err == 0) {
			assert_found(&found);
			nr_found++;
		}
		assert_int_equal(build_pagetable_put(&f.build.pages, entry, value), 0);
	}
	assert_in_range(nr_found, 1, 30);
	teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_image_cut),
		cmocka_unit_test(test_page_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
