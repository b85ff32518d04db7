/* SPDX-License-Identifier: GPL-2.0-only */
/* Stopping a process for a moment: it must not notice, whatever happens to it or us meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "capture/tracee.h"

/* Shared with the child. */
struct shared {
	volatile u64 work;
	volatile u64 signals;
};

static struct shared *shared;
static struct tracee tracee;
static pid_t child;

static void on_signal(int signal)
{
	(void)signal;
	shared->signals++;
}

static void work(void)
{
	signal(SIGUSR1, on_signal);
	for (;;)
		shared->work++;
}

static void wait_work(u64 more)
{
	u64 start = shared->work;

	while (shared->work < start + more)
		sched_yield();
}

static int setup(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -1;
	child = fork();
	if (!child)
		work();
	tracee = (struct tracee){ .tid = child };
	wait_work(1);
	return child < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(shared, sizeof(*shared));
	return 0;
}

/* Nothing of the child runs while it is stopped. */
static void expect_stopped(void)
{
	u64 before = shared->work;

	for (int i = 0; i < 100; i++)
		sched_yield();
	assert_int_equal(shared->work, before);
}

static void test_stop_and_go(void **state)
{
	bool in_run = true;

	(void)state;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(tracee_stop(&tracee), 0);
		assert_int_equal(tracee_check(&tracee, true), TRACEE_STOPPED);
		assert_int_equal(tracee.signal, 0);
		expect_stopped();
		assert_int_equal(tracee_in_kvm_run(&tracee, &in_run), 0);
		assert_false(in_run);
		tracee_release(&tracee);
		assert_int_equal(tracee.state, TRACEE_IDLE);
		wait_work(1);
	}
}

/* Letting go before the stop has come waits for it: nobody else would ever end it. */
static void test_release_early(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(tracee_stop(&tracee), 0);
		tracee_release(&tracee);
		wait_work(1);
	}
}

/* Signals that come around a stop all arrive; those that merge do so without us as well. */
static void test_signals(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		u64 before = shared->signals;

		assert_int_equal(kill(child, SIGUSR1), 0);
		assert_int_equal(tracee_stop(&tracee), 0);
		assert_int_equal(tracee_check(&tracee, true), TRACEE_STOPPED);
		tracee_release(&tracee);
		while (shared->signals == before)
			sched_yield();
		assert_int_equal(shared->signals, before + 1);
	}
}

static bool is_stopped(void)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, child, &info, WSTOPPED | WNOHANG | WNOWAIT) && info.si_pid == child;
}

/* Somebody has stopped the process: it stays so until that somebody continues it. */
static void test_group_stop(void **state)
{
	(void)state;
	assert_int_equal(kill(child, SIGSTOP), 0);
	while (!is_stopped())
		sched_yield();
	assert_int_equal(tracee_stop(&tracee), 0);
	assert_int_equal(tracee_check(&tracee, true), TRACEE_STOPPED);
	assert_int_equal(tracee.signal, 0);
	tracee_release(&tracee);
	expect_stopped();
	assert_int_equal(kill(child, SIGCONT), 0);
	wait_work(1);
}

static void test_gone(void **state)
{
	(void)state;
	assert_int_equal(tracee_stop(&tracee), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	/* Either the stop came first, or the end is all that comes. */
	if (tracee_check(&tracee, true) == TRACEE_STOPPED)
		tracee_release(&tracee);
	waitpid(child, NULL, 0);
	assert_int_equal(tracee_stop(&tracee), -ESRCH);
	assert_int_equal(tracee.state, TRACEE_GONE);
	assert_int_equal(tracee_check(&tracee, true), TRACEE_GONE);
	tracee_release(&tracee);
}

static void test_traced_by_other(void **state)
{
	int ready[2], status;
	pid_t other;
	char byte;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	other = fork();
	if (!other) {
		tracee_stop(&tracee);
		tracee_check(&tracee, true);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(tracee_stop(&tracee), -EPERM);
	assert_int_equal(tracee.state, TRACEE_IDLE);
	expect_stopped();
	/* The other one dies in the middle of it: the process goes on. */
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, &status, 0), other);
	wait_work(1);
	close(ready[0]);
	close(ready[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stop_and_go), TEST(release_early), TEST(signals),
		TEST(group_stop),  TEST(gone),		TEST(traced_by_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
