/* SPDX-License-Identifier: GPL-2.0-only */
/* The tasks of a guest: all its processes, in the kernel's own list, and what is known of one. */
#ifndef GUEST_TASKS_H
#define GUEST_TASKS_H

#include "guest/guest.h"

#define GUEST_MAX_PROCESSES 65536

/* A result that is not 0 ends the walk and is returned. */
typedef int guest_task_fn(void *ctx, const struct wire_task *task);

/*
 * Calls @fn for the main thread of each process, the oldest first, as a sample would have it; .mm
 * is 0 for kernel threads. -ENOENT: the guest is not identified; -EOPNOTSUPP: this kernel's types
 * or its list are not known; -EFAULT or -EBADMSG: the list could not be followed to its end, which
 * also happens when a process ends at this moment: what came before is good.
 */
int guest_for_each_process(const struct guest *guest, guest_task_fn *fn, void *ctx);

/* What the kernel knows of a task beside what a sample has. 0 and "" for what it does not say. */
struct guest_task_facts {
	u64 start_time;			/* ns of the guest's boot time; stays through execve() */
	u64 leader;			/* struct task_struct of the process's main thread */
	u64 leader_start_time;
	char leader_comm[WIRE_COMM_LEN];	/* may lack the NUL, may hold anything */
	bool has_parent;		/* .parent is known */
	s32 parent;			/* pid of the process that made its own; 0: the kernel */
	bool ended;			/* it has left its last function but the kernel's */
};

/*
 * Reads about @task, as a sample has it. -ESTALE: another task, or none, is where it was; -EFAULT:
 * its memory cannot be read, which says nothing of it; else the errors of guest_process_read().
 */
int guest_task_read(const struct guest *guest, const struct wire_task *task,
		    struct guest_task_facts *ret);

#endif
