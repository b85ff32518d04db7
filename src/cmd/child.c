/* SPDX-License-Identifier: GPL-2.0-only */
/* The command after `--`. */
#include "cmd/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/errors.h"

#define LOOK_MS 10	/* how often to look whether it has ended */

/* In the child: waits for the gate, then becomes the command. Never returns. */
static void __attribute__((noreturn)) run(int gate, int report, char **argv)
{
	char byte;
	int err;

	if (read(gate, &byte, 1) != 1)
		_exit(1);	/* the parent gave up */
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int child_prepare(struct child *child, char **argv)
{
	int gate[2], report[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	if (pipe2(report, O_CLOEXEC)) {
		close(gate[0]);
		close(gate[1]);
		return -errno;
	}
	pid = fork();
	if (!pid) {
		close(gate[1]);
		close(report[0]);
		run(gate[0], report[1], argv);
	}
	close(gate[0]);
	close(report[1]);
	if (pid < 0) {
		close(gate[1]);
		close(report[0]);
		return -errno;
	}
	*child = (struct child){
		.pid = pid, .gate = gate[1], .report = report[0],
		.fd = syscall(SYS_pidfd_open, pid, 0),
	};
	return 0;
}

int child_start(struct child *child)
{
	int err = 0;

	if (write(child->gate, "", 1) != 1)
		return -errno;
	/* End of file, by close-on-exec, is success. */
	if (read(child->report, &err, sizeof(err)) == sizeof(err))
		return -err;
	return 0;
}

const char *child_start_error_text(int err, const char *command, bool guest_chosen)
{
	if (err == -EPIPE)
		return "it was ended before it started";
	if (err == -ENOENT && !guest_chosen && !strchr(command, '/'))
		return "not found (a guest's name goes behind --vm)";
	return error_text(err);
}

int child_exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

bool child_ended(struct child *child, int *ret_status)
{
	int status;

	if (!child->pid || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return false;
	child->pid = 0;
	*ret_status = status;
	return true;
}

void child_wait(const struct child *child, int timeout_ms)
{
	struct pollfd process = { .fd = child->pid ? child->fd : -1, .events = POLLIN };

	if (child->pid && child->fd < 0)
		timeout_ms = MIN(timeout_ms, LOOK_MS);
	poll(&process, 1, timeout_ms);
}

/* Until it is reaped no other process can have its pid. */
static void end(struct child *child, bool (*hurry)(void))
{
	u64 give_up = clock_now_ms() + CHILD_GRACE_MS;
	int status;

	kill(child->pid, SIGTERM);
	while (!child_ended(child, &status)) {
		if (clock_now_ms() >= give_up || (hurry && hurry())) {
			kill(child->pid, SIGKILL);
			waitpid(child->pid, NULL, 0);
			child->pid = 0;
			return;
		}
		poll(NULL, 0, LOOK_MS);
	}
}

void child_deinit(struct child *child, bool (*hurry)(void))
{
	if (!child || !child->gate)
		return;
	close(child->gate);
	close(child->report);
	if (child->fd >= 0)
		close(child->fd);
	child->gate = 0;
	if (child->pid)
		end(child, hurry);
}
