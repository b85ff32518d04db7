/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest memory readers: the fake one, and that of a live process, a child of ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/proc.h"
#include "mem/fake.h"
#include "mem/process.h"

#define PAGE 4096

static void test_fake(void **state)
{
	_cleanup_(mem_fake_destroy) struct mem_fake *fake = mem_fake_create();
	const struct mem_reader *mem = mem_fake_reader(fake);
	u8 out[8];

	(void)state;
	assert_int_equal(mem_read(mem, GPA(0), out, 1), -EFAULT);
	assert_int_equal(mem_fake_set(fake, GPA(0x1ffe), "abcd", 4), 0);
	assert_int_equal(mem_read(mem, GPA(0x1ffe), out, 4), 0);
	assert_memory_equal(out, "abcd", 4);
	assert_int_equal(mem_read(mem, GPA(0x2ffc), out, 8), -EFAULT);
	assert_int_equal(mem_read(mem, GPA(0x2ffc), out, 4), 0);
	assert_memory_equal(out, "\0\0\0\0", 4);
	assert_int_equal(mem_read(mem, GPA(UINT64_MAX), out, 2), -EFAULT);
	mem_fake_drop(fake, GPA(0x2000));
	assert_int_equal(mem_read(mem, GPA(0x1ffe), out, 4), -EFAULT);
	assert_int_equal(mem_fake_set_u64(fake, GPA(0x2008), 0x0102030405060708), 0);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), 0);
	assert_int_equal(out[0], 8);
	assert_int_equal(mem_fake_reads(fake), 7);
	mem_fake_fail(fake, 1, -EPERM);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), 0);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), -EPERM);
	mem_fake_fail(fake, 0, 0);
	assert_int_equal(mem_read(mem, GPA(0x2008), out, 1), 0);
}

static void test_slots_find(void **state)
{
	static struct mem_slots slots;

	(void)state;
	assert_null(mem_slots_find(&slots, GPA(0)));
	/* Pairs of pages, a hole of one page after each pair. */
	for (slots.nr = 0; slots.nr < 100; slots.nr++)
		slots.slots[slots.nr] = (struct mem_slot){
			.gpa = slots.nr * 3 * PAGE,
			.size = 2 * PAGE,
		};
	slots.slots[slots.nr++] = (struct mem_slot){ .gpa = -1ULL * PAGE, .size = PAGE };
	for (u64 page = 0; page < 300; page++) {
		const struct mem_slot *want = page % 3 == 2 ? NULL : &slots.slots[page / 3];

		assert_ptr_equal(mem_slots_find(&slots, GPA(page * PAGE)), want);
		assert_ptr_equal(mem_slots_find(&slots, GPA(page * PAGE + PAGE - 1)), want);
	}
	assert_ptr_equal(mem_slots_find(&slots, GPA(UINT64_MAX)), &slots.slots[100]);
	assert_null(mem_slots_find(&slots, GPA(300 * PAGE)));
}

static u8 *area;	/* four pages, the third of them not mapped */
static struct mem_slots child_slots;
static pid_t child;

/* A child that has the pages, with memory slots as a VMM would give them to KVM. */
static int setup_child(void **state)
{
	(void)state;
	area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || munmap(area + 2 * PAGE, PAGE))
		return -1;
	child = fork();
	if (child == 0) {
		memset(area, 'a', PAGE);
		memset(area + PAGE, 'b', PAGE);
		memset(area + 3 * PAGE, 'd', PAGE);
		raise(SIGSTOP);
		_exit(0);
	}
	child_slots = (struct mem_slots){
		.nr = 4,
		.slots = {
			{ .gpa = 0, .size = PAGE, .hva = (uintptr_t)area + PAGE },
			{ .gpa = PAGE, .size = PAGE, .hva = (uintptr_t)area },
			{ .gpa = 0x100000, .size = 2 * PAGE, .hva = (uintptr_t)area + PAGE },
			{ .gpa = 0x200000, .size = PAGE, .hva = (uintptr_t)area,
			  .flags = MEM_SLOT_GUEST_MEMFD },
		},
	};
	return waitpid(child, NULL, WUNTRACED) == child ? 0 : -1;
}

static int teardown_child(void **state)
{
	(void)state;
	munmap(area, 4 * PAGE);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return 0;
}

static void test_process_reads(void **state)
{
	_cleanup_(mem_process_close) struct mem_process *process = NULL;
	const struct mem_reader *mem;
	u8 out[2 * PAGE];

	(void)state;
	assert_int_equal(mem_process_open(child, 0, &child_slots, &process), 0);
	mem = mem_process_reader(process);
	assert_int_equal(mem_read(mem, GPA(PAGE - 2), out, 4), 0);
	assert_memory_equal(out, "bbaa", 4);
	assert_int_equal(mem_read(mem, GPA(2 * PAGE - 2), out, 4), -EFAULT);
	assert_int_equal(mem_read(mem, GPA(0x100000), out, PAGE), 0);
	assert_int_equal(mem_read(mem, GPA(0x100000), out, PAGE + 1), -EFAULT);
	assert_int_equal(mem_read(mem, GPA(0x101000), out, 1), -EFAULT);
	assert_int_equal(mem_read(mem, GPA(0x200000), out, 1), -EOPNOTSUPP);
	assert_int_equal(mem_read(mem, GPA(UINT64_MAX), out, 2), -EFAULT);
	child_slots.slots[2].hva = (uintptr_t)area + 3 * PAGE;
	mem_process_set_slots(process, &child_slots);
	assert_int_equal(mem_read(mem, GPA(0x100000), out, 1), 0);
	assert_int_equal(out[0], 'd');
}

struct reading {
	const struct mem_reader *mem;
	unsigned int wrong;
};

/* Either of the child's pages is right while slots change. */
static void *read_often(void *arg)
{
	struct reading *reading = arg;
	char out[4];

	for (unsigned int i = 0; i < 20000; i++)
		if (mem_read(reading->mem, GPA(0), out, 4) ||
		    (memcmp(out, "bbbb", 4) && memcmp(out, "aaaa", 4)))
			reading->wrong++;
	return NULL;
}

static void test_process_threads(void **state)
{
	_cleanup_(mem_process_close) struct mem_process *process = NULL;
	static struct mem_slots slots;
	pthread_t threads[2];
	struct reading readings[2];

	(void)state;
	slots = child_slots;
	assert_int_equal(mem_process_open(child, 0, &slots, &process), 0);
	for (unsigned int i = 0; i < 2; i++) {
		readings[i] = (struct reading){ .mem = mem_process_reader(process) };
		assert_int_equal(pthread_create(&threads[i], NULL, read_often, &readings[i]), 0);
	}
	for (unsigned int i = 0; i < 2000; i++) {
		slots.slots[0].hva = child_slots.slots[i % 2].hva;
		mem_process_set_slots(process, &slots);
	}
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(readings[i].wrong, 0);
	}
}

static void test_process_gone(void **state)
{
	_cleanup_(mem_process_close) struct mem_process *process = NULL;
	u8 out[4];

	(void)state;
	assert_int_equal(mem_process_open(child, 0, &child_slots, &process), 0);
	kill(child, SIGKILL);
	/* Dead, and not yet waited for. */
	assert_int_equal(waitid(P_PID, child, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(mem_read(mem_process_reader(process), GPA(0), out, 4), -ESRCH);
	waitpid(child, NULL, 0);
	assert_int_equal(mem_read(mem_process_reader(process), GPA(0), out, 4), -ESRCH);
	mem_process_close(TAKE_PTR(process));
	assert_int_equal(mem_process_open(child, 0, &child_slots, &process), -ESRCH);
	child = 0;
}

/* A new process that gets the dead one's pid and has other bytes in the same place. */
static bool take_pid(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&pid,
		.set_tid_size = 1,
	};
	long ret = syscall(SYS_clone3, &args, sizeof(args));

	if (ret == 0) {
		memset(area, 'x', 2 * PAGE);
		raise(SIGSTOP);
		_exit(0);
	}
	return ret == pid && waitpid(pid, NULL, WUNTRACED) == pid;
}

static void test_process_pid_reused(void **state)
{
	_cleanup_(mem_process_close) struct mem_process *process = NULL;
	_cleanup_(mem_process_close) struct mem_process *fresh = NULL;
	pid_t pid = child;
	u8 out[4];

	(void)state;
	assert_int_equal(mem_process_open(child, 0, &child_slots, &process), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	child = 0;
	if (!take_pid(pid))
		skip();	/* needs CAP_CHECKPOINT_RESTORE */
	child = pid;
	assert_int_equal(mem_read(mem_process_reader(process), GPA(0), out, 4), -ESRCH);
	assert_int_equal(mem_process_open(child, 0, &child_slots, &fresh), 0);
	assert_int_equal(mem_read(mem_process_reader(fresh), GPA(0), out, 4), 0);
	assert_memory_equal(out, "xxxx", 4);
}

static void test_process_start_time(void **state)
{
	_cleanup_(mem_process_close) struct mem_process *process = NULL;
	struct proc proc = PROC_INIT;
	u64 start;

	(void)state;
	assert_int_equal(proc_open(&proc, "/proc"), 0);
	assert_int_equal(proc_start_time(&proc, child, &start), 0);
	assert_int_equal(mem_process_open(child, start + 1, &child_slots, &process), -ESRCH);
	assert_null(process);
	assert_int_equal(mem_process_open(child, start, &child_slots, &process), 0);
	proc_close(&proc);
}

/* Without the right to trace the VMM: -EPERM, not "not there". */
static void test_process_permission(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid())
		skip();
	pid = fork();
	if (pid == 0) {
		struct mem_process *process = NULL;
		u8 out[4];

		if (setresuid(65534, 65534, 65534) ||
		    mem_process_open(child, 0, &child_slots, &process))
			_exit(1);
		_exit(mem_read(mem_process_reader(process), GPA(0), out, 4) == -EPERM ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
#define CHILD_TEST(name) cmocka_unit_test_setup_teardown(name, setup_child, teardown_child)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fake),
		cmocka_unit_test(test_slots_find),
		CHILD_TEST(test_process_reads),
		CHILD_TEST(test_process_threads),
		CHILD_TEST(test_process_gone),
		CHILD_TEST(test_process_pid_reused),
		CHILD_TEST(test_process_start_time),
		CHILD_TEST(test_process_permission),
	};
#undef CHILD_TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
