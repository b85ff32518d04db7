/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that end a command's work. */
#include "cmd/interrupt.h"

#include <signal.h>

static volatile sig_atomic_t times;
static volatile sig_atomic_t last;

static void on_interrupt(int number)
{
	last = number;
	times = MIN(times + 1, 2);
}

/* Without SA_RESTART: a signal must wake the poll. */
void interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = on_interrupt };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

bool interrupted(void)
{
	return times;
}

bool interrupted_again(void)
{
	return times > 1;
}

int interrupted_by(void)
{
	return last;
}
