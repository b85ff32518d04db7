/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a command's work: counted, a poll wakes, a second one is a hurry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "cmd/interrupt.h"

static void test_signals(void **state)
{
	(void)state;
	interrupt_catch();
	assert_false(interrupted());
	assert_int_equal(interrupted_by(), 0);
	raise(SIGPIPE);
	assert_false(interrupted());
	alarm(30);	/* ends the test when the poll is not woken */
	raise(SIGTERM);
	assert_true(interrupted());
	assert_false(interrupted_again());
	assert_int_equal(interrupted_by(), SIGTERM);
	raise(SIGHUP);
	assert_true(interrupted_again());
	raise(SIGINT);
	assert_true(interrupted_again());
	assert_int_equal(interrupted_by(), SIGINT);
}

/* The signal comes while the poll waits: from a child that knows our pid only. */
static void test_wakes(void **state)
{
	pid_t self = getpid(), child = fork();

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		struct timespec pause = { .tv_nsec = 100000000 };

		for (int i = 0; i < 100 && getppid() == self; i++) {
			nanosleep(&pause, NULL);
			kill(self, SIGINT);
		}
		_exit(0);
	}
	assert_int_equal(poll(NULL, 0, 20000), -1);
	assert_int_equal(errno, EINTR);
	kill(child, SIGKILL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_wakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
