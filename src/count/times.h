/* SPDX-License-Identifier: GPL-2.0-only */
/* What the host's scheduler and KVM say of a vCPU's time. */
#ifndef COUNT_TIMES_H
#define COUNT_TIMES_H

#include <sys/types.h>

#include "base/proc.h"
#include "vm/vm.h"

/* Of a thread since it began, in ns. */
struct thread_times {
	u64 run;	/* on a CPU, in the guest or not */
	u64 wait;	/* runnable, and not on one: stolen from the guest */
	u64 guest;	/* in the guest, as the scheduler accounts it: often by ticks */
};

/* -ESRCH: no such thread; -EOPNOTSUPP: this kernel has no such statistics. */
int thread_times_read(const struct proc *proc, pid_t pid, pid_t tid, struct thread_times *ret);

/* The parts that parse, for tests: /proc/PID/task/TID/schedstat and .../stat. -EBADMSG. */
int thread_times_parse_schedstat(const char *text, u64 *ret_run, u64 *ret_wait);
int thread_times_parse_stat(const char *text, u64 ticks_a_second, u64 *ret_guest);

/* How long a vCPU has been halted, with the halt that lasts. All zero: not asked yet. */
struct halt_clock {
	u64 wait;	/* as KVM has it: of halts that have ended */
	u64 since;	/* when the halt that lasts began, as far as we know; 0: none does */
	bool known;
	/* One that lasted at the first look: where KVM stood, and when that was. */
	bool first_lasts;
	u64 first_wait, first_look;
	u64 before;	/* of .wait, what was before the first look, as far as we know */
};

/*
 * Takes what KVM says at time @now and returns ns of halt that can go up only. @asleep_since is
 * when the thread last went to sleep, if that is known, else 0. All times are clock_now_ns().
 */
u64 halt_clock_update(struct halt_clock *clock, const struct vm_vcpu_halt *halt, u64 asleep_since,
		      u64 now);

#endif
