/* SPDX-License-Identifier: GPL-2.0-only */
/* The command after `--`: how it starts, and how it ends when it does not want to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/child.h"

/* Runs the shell's @script, which says with a byte on its standard output that it is ready. */
static void start(struct child *child, const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	int saved = dup(STDOUT_FILENO), out[2];
	char byte;

	assert_int_equal(pipe(out), 0);
	fflush(stdout);
	dup2(out[1], STDOUT_FILENO);
	assert_int_equal(child_prepare(child, argv), 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(out[1]);
	assert_int_equal(child_start(child), 0);
	assert_int_equal(read(out[0], &byte, 1), 1);
	close(out[0]);
}

static void expect_gone(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static unsigned int asked;

static bool never(void)
{
	asked++;
	return false;
}

static bool at_once(void)
{
	asked++;
	return true;
}

static void test_ends_by_itself(void **state)
{
	struct child child = { 0 };
	int status = -1;

	(void)state;
	start(&child, "echo; exit 3");
	while (!child_ended(&child, &status))
		child_wait(&child, 600000);
	assert_int_equal(WEXITSTATUS(status), 3);
	/* Then there is none to wait for. */
	child_wait(&child, 1);
	child_deinit(&child, never);
}

static void test_no_such_program(void **state)
{
	char *argv[] = { (char *)"/nonexistent/program", NULL };
	struct child child = { 0 };

	(void)state;
	assert_int_equal(child_prepare(&child, argv), 0);
	assert_int_equal(child_start(&child), -ENOENT);
	child_deinit(&child, NULL);
	child_deinit(&child, NULL);
	child_deinit(NULL, NULL);
}

static void test_error_text(void **state)
{
	(void)state;
	assert_non_null(strstr(child_start_error_text(-ENOENT, "web-1", false), "--vm"));
	assert_string_equal(child_start_error_text(-ENOENT, "web-1", true), "not found");
	assert_string_equal(child_start_error_text(-ENOENT, "./web-1", false), "not found");
	assert_null(strstr(child_start_error_text(-EACCES, "web-1", false), "--vm"));
	assert_non_null(strstr(child_start_error_text(-EPIPE, "web-1", false), "was ended"));
}

static void test_never_started(void **state)
{
	char *argv[] = { (char *)"true", NULL };
	struct child child = { 0 };
	pid_t pid;

	(void)state;
	assert_int_equal(child_prepare(&child, argv), 0);
	pid = child.pid;
	child_deinit(&child, NULL);
	expect_gone(pid);
}

/* Ctrl-C ends it at the gate, as it would end the command. */
static void test_ended_before_start(void **state)
{
	char *argv[] = { (char *)"true", NULL };
	struct child child = { 0 };
	siginfo_t info;
	int status;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_DFL);	/* shells ignore it for what they run in the background */
	assert_int_equal(child_prepare(&child, argv), 0);
	assert_false(child_ended(&child, &status));
	assert_int_equal(kill(child.pid, SIGINT), 0);
	assert_int_equal(waitid(P_PID, child.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(child_start(&child), -EPIPE);
	assert_true(child_ended(&child, &status));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGINT);
	child_deinit(&child, NULL);
	signal(SIGPIPE, SIG_DFL);
}

/* It ignores SIGTERM: a hurry kills it, and so does time. Neither its parent nor its group. */
static void test_ignores_sigterm(void **state)
{
	bool (*const hurries[])(void) = { at_once, never };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct child child = { 0 }, other = { 0 };
		int status;
		pid_t pid;

		start(&other, "echo; exec sleep 1000");
		start(&child, "trap '' TERM; echo; exec sleep 1000");
		pid = child.pid;
		asked = 0;
		child_deinit(&child, hurries[i]);
		assert_true(i ? asked > 1 : asked == 1);
		expect_gone(pid);
		assert_false(child_ended(&other, &status));
		child_deinit(&other, never);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_by_itself),
		cmocka_unit_test(test_no_such_program),
		cmocka_unit_test(test_error_text),
		cmocka_unit_test(test_never_started),
		cmocka_unit_test(test_ended_before_start),
		cmocka_unit_test(test_ignores_sigterm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
