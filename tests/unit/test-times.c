/* SPDX-License-Identifier: GPL-2.0-only */
/* Times of a vCPU's thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "build-folder.h"
#include "count/times.h"

static const char stat_line[] =
	"4715 (CPU 0) /KVM) S 1 4711 4711 0 -1 4210752 5183 0 0 0 812 345 0 0 20 0 4 0 1234 "
	"987654 4321 18446744073709551615 1 1 0 0 0 0 268444224 4096 23271 0 0 0 -1 1 0 0 0 777 0 "
	"0 0 0 0 0 0 0 0\n";

static void test_stat(void **state)
{
	u64 guest = 5;

	(void)state;
	assert_int_equal(thread_times_parse_stat(stat_line, 100, &guest), 0);
	assert_int_equal(guest, 7770000000);
	assert_int_equal(thread_times_parse_stat(stat_line, 1000000000, &guest), 0);
	assert_int_equal(guest, 777);
	assert_int_equal(thread_times_parse_stat(stat_line, 0, &guest), -EBADMSG);
	assert_int_equal(thread_times_parse_stat("", 100, &guest), -EBADMSG);
	assert_int_equal(thread_times_parse_stat("1 (x) S 1 2 3", 100, &guest), -EBADMSG);
	assert_int_equal(guest, 777);
}

/* Cut anywhere it is an error, or what is before the cut says the same. */
static void test_stat_cut(void **state)
{
	char text[sizeof(stat_line)];
	size_t place = strstr(stat_line, " 777 ") - stat_line;

	(void)state;
	for (size_t len = 0; len < sizeof(stat_line); len++) {
		u64 guest = 5;
		int err;

		memcpy(text, stat_line, len);
		text[len] = '\0';
		err = thread_times_parse_stat(text, 100, &guest);
		if (len <= place + 1)
			assert_int_equal(err, -EBADMSG);
		else
			assert_int_equal(err, 0);
		if (len >= place + 4)
			assert_int_equal(guest, 7770000000);
	}
}

static void test_schedstat(void **state)
{
	u64 run = 1, wait = 2;

	(void)state;
	assert_int_equal(thread_times_parse_schedstat("80123 456 7\n", &run, &wait), 0);
	assert_int_equal(run, 80123);
	assert_int_equal(wait, 456);
	assert_int_equal(thread_times_parse_schedstat("80124", &run, &wait), -EBADMSG);
	assert_int_equal(thread_times_parse_schedstat("", &run, &wait), -EBADMSG);
	assert_int_equal(run, 80123);
}

static void put(const char *root, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/4711/task/4715/%s", root, name);
	assert_int_equal(file_write_atomic(path, text, strlen(text)), 0);
}

static void test_read(void **state)
{
	char root[] = "/tmp/test-times.XXXXXX";
	struct thread_times times = { 0 };
	struct proc proc;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(proc_open(&proc, root), 0);
	assert_int_equal(thread_times_read(&proc, 4711, 4715, &times), -ESRCH);
	put(root, "stat", stat_line);
	assert_int_not_equal(thread_times_read(&proc, 4711, 4715, &times), 0);
	put(root, "schedstat", "9 8 7\n");
	assert_int_equal(thread_times_read(&proc, 4711, 4715, &times), 0);
	assert_int_equal(times.run, 9);
	assert_int_equal(times.wait, 8);
	assert_int_equal(times.guest, 777 * (1000000000ULL / sysconf(_SC_CLK_TCK)));
	proc_close(&proc);
	build_folder_remove(root);
}

static void test_halt(void **state)
{
	struct halt_clock clock = { 0 };
	struct vm_vcpu_halt halt = { .wait = 1000 };

	(void)state;
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 50000), 1000);
	/* It goes to sleep at 60000, which the switch of threads told of. */
	halt.blocking = true;
	assert_int_equal(halt_clock_update(&clock, &halt, 60000, 61000), 2000);
	assert_int_equal(halt_clock_update(&clock, &halt, 60000, 65000), 6000);
	/* It woke at 66000 and sleeps again since 67000. */
	halt.wait = 7000;
	assert_int_equal(halt_clock_update(&clock, &halt, 67000, 68000), 8000);
	halt.blocking = false;
	halt.wait = 9500;
	assert_int_equal(halt_clock_update(&clock, &halt, 70000, 71000), 9500);
}

/* Nobody says when it went to sleep: then it is since we know of it. */
static void test_halt_unseen(void **state)
{
	struct halt_clock clock = { 0 };
	struct vm_vcpu_halt halt = { .wait = 1000, .blocking = true };

	(void)state;
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 50000), 1000);
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 52000), 3000);
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 57000), 8000);
	/* A time that has not come is none. */
	halt.wait = 9000;
	assert_int_equal(halt_clock_update(&clock, &halt, 99000, 58000), 9000);
}

/* A halt of ten minutes that ends when we have looked for 3000 ns: that much of it is ours. */
static void test_halt_before(void **state)
{
	struct halt_clock clock = { 0 };
	struct vm_vcpu_halt halt = { .wait = 1000, .blocking = true };

	(void)state;
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 50000), 1000);
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 52000), 3000);
	halt = (struct vm_vcpu_halt){ .wait = 600000000001000 };
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 53000), 4000);
	/* What comes later counts in full. */
	halt.wait += 500;
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 54000), 4500);
	halt.blocking = true;
	assert_int_equal(halt_clock_update(&clock, &halt, 54500, 55000), 5000);
	/* One that began as we looked: nothing was before. */
	clock = (struct halt_clock){ 0 };
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 50000), halt.wait);
	halt.wait += 700;
	halt.blocking = false;
	assert_int_equal(halt_clock_update(&clock, &halt, 0, 51000), halt.wait);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_stat_cut),
		cmocka_unit_test(test_schedstat),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_halt),
		cmocka_unit_test(test_halt_unseen),
		cmocka_unit_test(test_halt_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
