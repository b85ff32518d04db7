/* SPDX-License-Identifier: GPL-2.0-only */
/* The command after `--`: held back, so that recording runs before its first instruction. */
#ifndef CMD_CHILD_H
#define CMD_CHILD_H

#include "base/types.h"

#define CHILD_GRACE_MS 2000

struct child {
	pid_t pid;	/* 0: none */
	int gate;	/* a byte into it lets the command start */
	int report;	/* exec's errno comes out of it */
	int fd;		/* of its process; -1: this kernel has none (before Linux 5.3) */
};

/* Forks; the child waits at the gate. Ctrl-C reaches it as it reaches us: same process group. */
int child_prepare(struct child *child, char **argv);

/*
 * Lets it exec. The error of a failed exec (ENOENT) comes back here. -EPIPE: it has ended while it
 * waited, as by Ctrl-C; SIGPIPE must be ignored.
 */
int child_start(struct child *child);

/*
 * What child_start()'s error @err says of @command. @guest_chosen: an option has said which guest;
 * else the command may be the name of one.
 */
const char *child_start_error_text(int err, const char *command, bool guest_chosen);

/* True once it has ended; *@ret_status as of wait(2). */
bool child_ended(struct child *child, int *ret_status);

/* Waits until it ends, a signal comes or @timeout_ms are over; for a time if there is none. */
void child_wait(const struct child *child, int timeout_ms);

/* Of what wait(2) says, as a shell has it: 128 + the signal that ended it. */
int child_exit_status(int status);

/*
 * Ends a child that still runs and reaps it: by SIGTERM, and by SIGKILL when that has not ended it
 * after CHILD_GRACE_MS, or when @hurry (may be NULL) returns true. NULL-safe, any state.
 */
void child_deinit(struct child *child, bool (*hurry)(void));

#endif
