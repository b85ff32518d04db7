/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /proc through a handle whose root can be replaced, so that tests replay the trees of captured
 * machines. Everything in it was written by other processes: treat it as hostile text.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <sys/types.h>

#include "base/types.h"

struct proc {
	int fd;		/* of the root folder */
};

#define PROC_INIT ((struct proc){ .fd = -1 })

/* @root is "/proc", or a test's copy of one. */
int proc_open(struct proc *proc, const char *root);
void proc_close(struct proc *proc);

/*
 * Reads /proc/PID/@name, or /proc/@name when @pid is 0, at most @max bytes, NUL added; never NULL
 * on success. -ESRCH when the process is not there.
 */
int proc_read(const struct proc *proc, pid_t pid, const char *name, size_t max, char **ret_data,
	      size_t *ret_size);

/* Target of the link /proc/PID/@name, cut to @size - 1 bytes. */
int proc_read_link(const struct proc *proc, pid_t pid, const char *name, char *out, size_t size);

/* Clock ticks from boot to the start of @pid: with the pid it identifies a process for good. */
int proc_start_time(const struct proc *proc, pid_t pid, u64 *ret);

/* The process that thread @tid belongs to. */
int proc_tgid(const struct proc *proc, pid_t tid, pid_t *ret);

/* Calls @fn for each process until it returns non-zero, which is returned. */
int proc_for_each(const struct proc *proc, int (*fn)(pid_t pid, void *arg), void *arg);

#endif
