/* SPDX-License-Identifier: GPL-2.0-only */
/* Times of a vCPU's thread. */
#include "count/times.h"

#include <stdio.h>
#include <string.h>

#include "base/errors.h"

#define STAT_MAX 4096
#define GUEST_FIELD 43	/* guest_time; Documentation/filesystems/proc.rst, table 1-4 */

int thread_times_parse_schedstat(const char *text, u64 *ret_run, u64 *ret_wait)
{
	unsigned long long run, wait;

	if (sscanf(text, "%llu %llu", &run, &wait) != 2)
		return -EBADMSG;
	*ret_run = run;
	*ret_wait = wait;
	return 0;
}

/* The second field is the thread's name in parentheses, and may have any of them in it. */
int thread_times_parse_stat(const char *text, u64 ticks_a_second, u64 *ret_guest)
{
	const char *at = strrchr(text, ')');
	char *end;
	u64 ticks;

	for (int field = 2; at && field < GUEST_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EBADMSG;
	ticks = strtoull(at + 1, &end, 10);
	if (end == at + 1 || (*end != ' ' && *end != '\n' && *end) || !ticks_a_second)
		return -EBADMSG;
	*ret_guest = ticks / ticks_a_second * 1000000000 +
		     ticks % ticks_a_second * 1000000000 / ticks_a_second;
	return 0;
}

static int read_file(const struct proc *proc, pid_t pid, pid_t tid, const char *name, char **ret)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	return proc_read(proc, pid, path, STAT_MAX, ret, NULL);
}

int thread_times_read(const struct proc *proc, pid_t pid, pid_t tid, struct thread_times *ret)
{
	_cleanup_free_ char *stat = NULL, *schedstat = NULL;
	long ticks = sysconf(_SC_CLK_TCK);
	struct thread_times times;
	int err = read_file(proc, pid, tid, "stat", &stat);

	err = err ?: thread_times_parse_stat(stat, ticks > 0 ? ticks : 0, &times.guest);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	err = read_file(proc, pid, tid, "schedstat", &schedstat);
	err = err ?: thread_times_parse_schedstat(schedstat, &times.run, &times.wait);
	if (!err)
		*ret = times;
	return err == -ENOENT ? -EOPNOTSUPP : err;
}

/* A halt that began unseen is taken to have begun now: its first part is in what comes next. */
static void begin_halt(struct halt_clock *clock, u64 asleep_since, u64 now)
{
	clock->since = asleep_since && asleep_since < now ? asleep_since : now;
}

/*
 * KVM adds a halt when it ends. Of one that lasted at the first look all that is longer than the
 * time since then was before it.
 */
static void look_at_first(struct halt_clock *clock, const struct vm_vcpu_halt *halt, u64 now)
{
	u64 added = halt->wait - clock->first_wait, passed = now - clock->first_look;

	if (!clock->known) {
		clock->first_lasts = halt->blocking;
		clock->first_wait = halt->wait;
		clock->first_look = now;
	} else if (clock->first_lasts && added) {
		clock->first_lasts = false;
		clock->before = added > passed ? added - passed : 0;
	}
}

u64 halt_clock_update(struct halt_clock *clock, const struct vm_vcpu_halt *halt, u64 asleep_since,
		      u64 now)
{
	if (!halt->blocking)
		clock->since = 0;
	else if (!clock->since || !clock->known || halt->wait != clock->wait)
		begin_halt(clock, asleep_since, now);
	look_at_first(clock, halt, now);
	clock->wait = halt->wait;
	clock->known = true;
	return clock->wait - clock->before + (clock->since ? now - clock->since : 0);
}
