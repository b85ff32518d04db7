/* SPDX-License-Identifier: GPL-2.0-only */
/* The /proc handle, on a made-up tree and on our own process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/proc.h"

static char root[64];
static struct proc proc;

static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text)), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/kvmprof-proc-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	return proc_open(&proc, root);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	proc_close(&proc);
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

static void test_start_time(void **state)
{
	u64 ticks = 7;

	(void)state;
	put("12/stat",
	    "12 (a) 9 (b)) S 1 12 12 0 -1 4194560 100 0 0 0 3 4 0 0 20 0 5 0 123456789 99\n");
	assert_int_equal(proc_start_time(&proc, 12, &ticks), 0);
	assert_int_equal(ticks, 123456789);
	put("13/stat", "13 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");
	assert_int_equal(proc_start_time(&proc, 13, &ticks), -EBADMSG);
	put("13/stat", "");
	assert_int_equal(proc_start_time(&proc, 13, &ticks), -EBADMSG);
	assert_int_equal(proc_start_time(&proc, 14, &ticks), -ESRCH);
	assert_int_equal(ticks, 123456789);
}

static void test_tgid(void **state)
{
	pid_t pid = 7;

	(void)state;
	put("12/status",
	    "Name:\tCPU 0/KVM\\nTgid:\t66\nUmask:\t0022\nState:\tS\nTgid:\t11\nPid:\t12\n");
	assert_int_equal(proc_tgid(&proc, 12, &pid), 0);
	assert_int_equal(pid, 11);
	put("12/status", "Name:\tx\n");
	assert_int_equal(proc_tgid(&proc, 12, &pid), -EBADMSG);
	assert_int_equal(pid, 11);
}

static void test_read(void **state)
{
	_cleanup_free_ char *data = NULL;
	char link[8];
	char path[256];
	size_t size;

	(void)state;
	put("1/comm", "");
	assert_int_equal(proc_read(&proc, 1, "comm", 16, &data, &size), 0);
	assert_int_equal(size, 0);
	assert_string_equal(data, "");
	put("kallsyms", "ffff t x\n");
	free(TAKE_PTR(data));
	assert_int_equal(proc_read(&proc, 0, "kallsyms", 16, &data, &size), 0);
	assert_string_equal(data, "ffff t x\n");
	free(TAKE_PTR(data));
	assert_int_equal(proc_read(&proc, 0, "kallsyms", 4, &data, &size), -E2BIG);
	assert_int_equal(proc_read(&proc, 0, "nothing", 4, &data, &size), -ENOENT);
	snprintf(path, sizeof(path), "%s/1/exe", root);
	assert_int_equal(symlink("/usr/bin/qemu", path), 0);
	assert_int_equal(proc_read_link(&proc, 1, "exe", link, sizeof(link)), 0);
	assert_string_equal(link, "/usr/bi");
	assert_int_equal(proc_read_link(&proc, 2, "exe", link, sizeof(link)), -ESRCH);
}

static int on_pid(pid_t pid, void *arg)
{
	u64 *sum = arg;

	*sum += pid;
	return pid == 99;
}

static void test_for_each(void **state)
{
	u64 sum = 0;

	(void)state;
	put("1/comm", "a");
	put("20/comm", "b");
	put("30x/comm", "c");
	put("x/comm", "d");
	assert_int_equal(proc_for_each(&proc, on_pid, &sum), 0);
	assert_int_equal(sum, 21);
	put("99/comm", "d");
	assert_int_equal(proc_for_each(&proc, on_pid, &sum), 1);
}

static void test_real(void **state)
{
	struct proc real = PROC_INIT;
	u64 ticks, init;
	pid_t pid;

	(void)state;
	assert_int_equal(proc_open(&real, "/proc"), 0);
	assert_int_equal(proc_start_time(&real, getpid(), &ticks), 0);
	assert_int_equal(proc_start_time(&real, 1, &init), 0);
	assert_true(ticks >= init);
	assert_int_equal(proc_tgid(&real, getpid(), &pid), 0);
	assert_int_equal(pid, getpid());
	proc_close(&real);
	assert_int_equal(proc_open(&real, "/nowhere"), -ENOENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_start_time),
		TEST(test_tgid),
		TEST(test_read),
		TEST(test_for_each),
		TEST(test_real),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
