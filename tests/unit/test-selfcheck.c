/* SPDX-License-Identifier: GPL-2.0-only */
/* The self check on this machine, whatever it can do, against the same tried directly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "capture/selfcheck-private.h"
#include "vm/absence.h"

static struct selfcheck check;

static int clear(void **state)
{
	(void)state;
	selfcheck_deinit(&check);
	return 0;
}

static enum selfcheck_state state_of(const char *name)
{
	const struct selfcheck_result *result = selfcheck_find(&check, name);

	assert_non_null(result);
	assert_true(*result->detail);
	return result->state;
}

static void test_results(void **state)
{
	char longer[400];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_null(selfcheck_find(&check, "a"));
	selfcheck_add(&check, "a", SELFCHECK_YES, NULL, "is %d", 7);
	selfcheck_add(&check, longer, SELFCHECK_NO, "do this", "%s", longer);
	assert_int_equal(check.results.nr, 2);
	assert_int_equal(check.error, 0);
	assert_string_equal(selfcheck_find(&check, "a")->detail, "is 7");
	assert_null(selfcheck_find(&check, "a")->remedy);
	/* Cut, not overrun. */
	assert_int_equal(strlen(check.results.data[1].name),
			 sizeof(check.results.data[1].name) - 1);
	assert_int_equal(strlen(check.results.data[1].detail),
			 sizeof(check.results.data[1].detail) - 1);
}

static void test_lines(void **state)
{
	char path[] = "/tmp/test-selfcheck.XXXXXX", text[8];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "first line\nsecond\n", 18), 18);
	assert_int_equal(selfcheck_read_line(path, text, sizeof(text)), 0);
	assert_string_equal(text, "first l");
	close(fd);
	unlink(path);
	assert_int_equal(selfcheck_read_line(path, text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
}

static void check_kick(int kick_signal, bool task_work, const char *wanted)
{
	char text[32];

	selfcheck_kick(kick_signal, task_work, text, sizeof(text));
	assert_string_equal(text, wanted);
}

/* What recording will use: task work where there is any, but not for VMMs that are not known. */
static void test_kick(void **state)
{
	(void)state;
	check_kick(SIGUSR1, false, "kicked by SIGUSR1");
	check_kick(SIGRTMIN + 3, false, "kicked by SIGRTMIN+3");
	check_kick(SIGRTMIN, false, "kicked by SIGRTMIN+0");
	check_kick(0, false, "no kick signal known");
	check_kick(SIGUSR1, true, "kicked by task work");
	check_kick(SIGRTMIN + 3, true, "kicked by task work");
	check_kick(0, true, "no kick signal known");
}

static bool clock_opens(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_perf(void **state)
{
	(void)state;
	selfcheck_perf(&check);
	assert_int_equal(state_of("perf.cpu-clock"), clock_opens() ? SELFCHECK_YES : SELFCHECK_NO);
	state_of("perf.cycles");
	state_of("perf.paranoid");
	if (access("/sys/module/kvm", F_OK))
		assert_int_equal(state_of("perf.tracepoint"), SELFCHECK_NO);
}

static void test_process(void **state)
{
	char scope[16];

	(void)state;
	selfcheck_process(&check);
	/* One's own child may be read and stopped, unless nobody may. */
	if (selfcheck_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)) ||
	    *scope < '2') {
		assert_int_equal(state_of("process.memory"), SELFCHECK_YES);
		assert_int_equal(state_of("process.ptrace"), SELFCHECK_YES);
	}
	state_of("lockdown");
	if (geteuid())
		assert_int_equal(state_of("privileges"), SELFCHECK_NO);
}

static void test_kvm(void **state)
{
	int fd = open("/dev/kvm", O_RDWR);

	(void)state;
	selfcheck_kvm(&check, NULL);
	if (fd < 0) {
		assert_int_equal(state_of("kvm"), SELFCHECK_NO);
		assert_int_equal(state_of("kvm.registers"), SELFCHECK_NONE);
		return;
	}
	state_of("kvm");
	assert_int_not_equal(state_of("kvm.registers"), SELFCHECK_NONE);
	close(fd);
}

/* A host that could not be opened: everything is tried for all that, and the reason is told. */
static void test_no_host(void **state)
{
	static const char *const modes[] = { "mode.inline", "mode.deferred", "mode.ptrace" };
	const char *why;

	(void)state;
	selfcheck_host(&check, NULL, "there is no host");
	/* No KVM at all goes before. */
	why = vm_kvm_absence("/sys", "/proc/cpuinfo") ?: "there is no host";
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		assert_int_equal(state_of(modes[i]), SELFCHECK_NO);
		assert_string_equal(selfcheck_find(&check, modes[i])->detail, why);
	}
	assert_int_equal(state_of("record"), SELFCHECK_NO);
	assert_string_equal(selfcheck_find(&check, "record")->detail, why);
	assert_int_equal(check.error, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_results, clear),
		cmocka_unit_test_teardown(test_lines, clear),
		cmocka_unit_test(test_kick),
		cmocka_unit_test_teardown(test_perf, clear),
		cmocka_unit_test_teardown(test_process, clear),
		cmocka_unit_test_teardown(test_kvm, clear),
		cmocka_unit_test_teardown(test_no_host, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
