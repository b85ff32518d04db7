/* SPDX-License-Identifier: GPL-2.0-only */
/* A process that holds counters, and whether the library finds it. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vpmu-perf.h"

#define HOLDER "holds-counters"	/* a process' name has 15 characters */

static int open_pinned(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.pinned = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		give_up("perf_event_open");
	return fd;
}

/* On a counter? */
static bool counts(int fd)
{
	uint64_t value;

	return read(fd, &value, sizeof(value)) == sizeof(value);
}

/* Holds as many counters as each byte says, or can be had: those that can count instructions. */
static void hold(int from, int to)
{
	int fds[MAX_HELD], nr = 0;
	uint8_t wanted;

	prctl(PR_SET_NAME, HOLDER);
	while (read(from, &wanted, 1) == 1) {
		while (nr > wanted)
			close(fds[--nr]);
		while (nr < wanted && nr < MAX_HELD) {
			fds[nr] = open_pinned();
			if (!counts(fds[nr])) {
				close(fds[nr]);
				break;
			}
			nr++;
		}
		wanted = (uint8_t)nr;
		if (write(to, &wanted, 1) != 1)
			break;
	}
	_exit(0);
}

void holder_start(struct holder *holder)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		give_up("pipe");
	fflush(stdout);
	holder->pid = fork();
	if (holder->pid < 0)
		give_up("fork");
	if (!holder->pid) {
		close(to[1]);
		close(from[0]);
		hold(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	holder->to = to[1];
	holder->from = from[0];
	holder->most = holder_hold(holder, MAX_HELD);
	holder_hold(holder, 0);
}

/* Makes it hold @nr; what it holds then. */
unsigned int holder_hold(const struct holder *holder, unsigned int nr)
{
	uint8_t byte = (uint8_t)nr;

	if (write(holder->to, &byte, 1) != 1 || read(holder->from, &byte, 1) != 1)
		give_up("the process that holds counters");
	return byte;
}

void holder_end(struct holder *holder)
{
	close(holder->to);
	close(holder->from);
	waitpid(holder->pid, NULL, 0);
}

/* The holder is the first in the list, with all that it holds. */
void holder_look_for(const struct holder *holder, unsigned int nr)
{
	struct vpmu_holder found[8];
	int nr_found = vpmu_holders(NULL, found, 8);
	const struct vpmu_holder *first = NULL;

	for (int i = 0; i < nr_found && i < 8; i++) {
		printf("# has perf events: %s (%d): %u\n", found[i].name, found[i].pid,
		       found[i].nr_events);
		if (found[i].pid == holder->pid)
			first = &found[i];
	}
	point(first && !strcmp(first->name, HOLDER) && first->nr_events == nr,
	      "the one who holds %u is told by name, process and number", nr);
}
