/* SPDX-License-Identifier: GPL-2.0-only */
/* The places in an i386 kernel's tasks, found in a guest that has little more than those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "build-pagetable.h"
#include "guest/layout-i386.h"

#define HIGH 0xffffffff00000000ULL
#define TEXT 0xc1000000U	/* mapped to its distance from 0xc0000000, as all is */
#define TEXT_SIZE 0x100000U
#define DATA (TEXT + TEXT_SIZE)
#define GDT 0xff401000U
#define PERCPU 0x01000000U	/* the segment's base */
#define CANARY (DATA + 0x100U)	/* per-CPU variables */
#define CURRENT (DATA + 0x108U)
#define STACKS 0xc2000000U

/* In a task. */
#define STACK 20
#define FLAGS (STACK + 8)
#define LIST 972
#define MM 1012
#define PID 1112
#define COMM 1416

static const u32 tasks[] = { DATA + 0x1000, 0xc1300000, 0xc1302000, 0xc1304000 };

struct fixture {
	struct mem_fake *mem;
	struct build_pagetable pt;
	u8 text[TEXT_SIZE];
	struct image image;
	struct mmu_space space;
	struct vcpu_regs regs;
};

static void put(struct fixture *f, u32 address, u32 value)
{
	assert_int_equal(mem_fake_set(f->mem, GPA(address - 0xc0000000U), &value, sizeof(value)),
			 0);
}

static void add_load(struct fixture *f, unsigned int at, u32 address, bool long_form)
{
	u8 code[7] = { 0x64, 0x8b, 0x15 };

	if (!long_form)
		code[1] = 0xa1;
	memcpy(code + (long_form ? 3 : 2), &address, sizeof(address));
	memcpy(f->text + at, code, long_form ? 7 : 6);
}

static void put_task(struct fixture *f, unsigned int i, const char *comm)
{
	unsigned int nr = ARRAY_SIZE(tasks);
	u32 task = tasks[i], stack = STACKS + i * LAYOUT_I386_THREAD_SIZE;

	put(f, task - 4096, 0);	/* there is something before it */
	put(f, task + STACK, stack);
	put(f, stack, 0x57ac6e9d);
	put(f, task + STACK + 4, 1);
	put(f, task + FLAGS, i == 2 ? 0x00208040 : 0x00400100);
	put(f, task + LIST, tasks[(i + 1) % nr] + LIST);
	put(f, task + LIST + 4, tasks[(i + nr - 1) % nr] + LIST);
	put(f, task + MM, i % 2 ? 0xc1500000 + i * 64 : 0);
	put(f, task + MM + 4, i % 2 ? 0xc1500000 + i * 64 : 0);
	put(f, task + PID, i);
	put(f, task + PID + 4, i);
	assert_int_equal(mem_fake_set(f->mem, GPA(task + COMM - 0xc0000000U), comm,
				      strlen(comm) + 1), 0);
}

static void setup(struct fixture *f)
{
	static const u8 descriptor[] = { 0xff, 0xff, 0, 0, PERCPU >> 16 & 0xff, 0x93, 0x8f,
					 PERCPU >> 24 };

	memset(f, 0, sizeof(*f));
	f->mem = mem_fake_create();
	assert_non_null(f->mem);
	assert_int_equal(build_pagetable_init(&f->pt, f->mem, MMU_MODE_X86_PAE, GPA(0x100000)), 0);
	assert_int_equal(build_pagetable_map_range(&f->pt, TEXT, TEXT - 0xc0000000U, 0x1800000,
						   MMU_WRITE | MMU_EXEC), 0);
	assert_int_equal(build_pagetable_map(&f->pt, GDT, 0x5000, 4096, MMU_WRITE), 0);
	assert_int_equal(mem_fake_set(f->mem, GPA(0x5000 + 27 * 8), descriptor,
				      sizeof(descriptor)), 0);
	for (unsigned int i = 0; i < 20; i++)
		add_load(f, 0x100 + i * 16, CANARY, false);
	for (unsigned int i = 0; i < 10; i++)
		add_load(f, 0x1000 + i * 16, CURRENT, i % 2);
	put_task(f, 0, "swapper/0");
	put_task(f, 1, "init");
	put_task(f, 2, "kthreadd");
	put_task(f, 3, "a-program");
	put(f, PERCPU + CANARY, 0x87654321);
	put(f, PERCPU + CURRENT, tasks[3]);
	f->image = (struct image){
		.start = HIGH | TEXT, .size = TEXT_SIZE, .data = f->text, .word = 4,
	};
	f->space = build_pagetable_space(&f->pt);
	f->regs = build_pagetable_regs(&f->pt);
	f->regs.x86.gdt_base = GDT;
}

static int find(struct fixture *f, struct layout_i386 *found)
{
	return layout_i386_find(&f->image, &f->space, mem_fake_reader(f->mem), &f->regs, found);
}

static void test_found(void **state)
{
	static struct fixture f;
	struct layout_i386 found;

	(void)state;
	setup(&f);
	assert_int_equal(find(&f, &found), 0);
	assert_int_equal(found.current_task, HIGH | CURRENT);
	assert_int_equal(found.task_stack, STACK);
	assert_int_equal(found.task_flags, FLAGS);
	assert_int_equal(found.task_mm, MM);
	assert_int_equal(found.task_pid, PID);
	assert_int_equal(found.task_tgid, PID + 4);
	assert_int_equal(found.task_comm, COMM);
	/* What runs is a task of the kernel's, or the first. */
	put(&f, PERCPU + CURRENT, tasks[2]);
	assert_int_equal(find(&f, &found), 0);
	assert_int_equal(found.task_comm, COMM);
	put(&f, PERCPU + CURRENT, tasks[0]);
	assert_int_equal(find(&f, &found), 0);
	mem_fake_destroy(f.mem);
}

/* Each thing that is not there, or there twice, is a reason to find nothing. */
static void test_not_found(void **state)
{
	static struct fixture f;
	struct layout_i386 found;

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		setup(&f);
		switch (i) {
		case 0:
			f.regs.x86.gdt_base = 0;
			break;
		case 1:
			put(&f, PERCPU + CURRENT, tasks[3] + 64);
			break;
		case 2:
			put(&f, tasks[0] + COMM, 0);
			break;
		case 3:
			put(&f, tasks[2] + COMM, 0);
			break;
		case 4:
			put(&f, tasks[1] + PID + 4, 2);
			break;
		case 5:
			put(&f, tasks[1] + MM, 0);
			break;
		case 6:	/* a second place that could be pid and tgid */
			for (u32 task = 0; task < 3; task++) {
				put(&f, tasks[task] + PID + 16, task);
				put(&f, tasks[task] + PID + 20, task);
			}
			break;
		default:
			put(&f, STACKS + LAYOUT_I386_THREAD_SIZE, 0);
		}
		assert_int_equal(find(&f, &found), -ENOENT);
		mem_fake_destroy(f.mem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
