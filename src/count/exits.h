/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time in the guest and exits by reason, counted by BPF at KVM's tracepoints, which are there
 * whatever PMU the host has. One handle for all threads.
 */
#ifndef COUNT_EXITS_H
#define COUNT_EXITS_H

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

struct exits;

/*
 * Loads and attaches. @tracefs is tracefs_dir(). On failure *@ret_why, a constant, says what it
 * would take; -EOPNOTSUPP in a build without BPF.
 */
int exits_open(const char *tracefs, struct exits **ret, const char **ret_why);
void exits_close(struct exits *exits);
DEFINE_CLEANUP(struct exits *, exits_close)

/* Counts of @tid from now on. */
int exits_add_thread(struct exits *exits, pid_t tid);

struct exit_times {
	u64 guest;	/* ns in the guest, with the stay that lasts */
	u64 exits;
	u64 asleep;	/* when its thread last left its CPU, clock_now_ns(); 0: not yet */
};

/* -ENOENT: not a thread of ours. */
int exits_read_thread(struct exits *exits, pid_t tid, u64 now, struct exit_times *ret);

struct exit_reason {
	u32 reason, detail;	/* what they say is exit_names_find()'s to know */
	u64 nr;
};
typedef VEC(struct exit_reason) exit_reasons;

/* Adds @nr to what @reasons has of that reason. */
int exit_reasons_add(exit_reasons *reasons, u32 reason, u32 detail, u64 nr);

/* Most frequent first. */
void exit_reasons_sort(exit_reasons *reasons);

/*
 * Calls @fn with each thread's counts by reason until it returns non-zero, which is returned. What
 * it is told of threads that were removed is all that there will be.
 */
typedef int (*exit_reason_fn)(pid_t tid, const struct exit_reason *reason, void *arg);
int exits_for_each_reason(struct exits *exits, exit_reason_fn fn, void *arg);

/* Counts of @tid no more. Its counts by reason stay, and its times are gone. */
void exits_remove_thread(struct exits *exits, pid_t tid);

/*
 * Of @tid, which was removed, so that another thread of that number begins at nothing. @reasons are
 * those that exits_for_each_reason() has had of it since: it costs as much as these are.
 */
void exits_forget_reasons(struct exits *exits, pid_t tid, const exit_reasons *reasons);

/* Exits that are in no reason's count: too many different ones. */
u64 exits_lost(const struct exits *exits);

#endif
