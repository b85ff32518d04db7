// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals at a high rate: chains go through a signal frame into the code that was interrupted.
 *
 *	_start
 *	  main
 *	    burn_outer ── burn_leaf		interrupted anywhere
 *	      rt_restorer			the signal frame
 *	        on_alarm ── alarm_leaf		500 times a second at most
 *
 * One piece of work is one round of the interrupted code.
 */
#include <linux/signal.h>
#include <linux/time.h>

#include "rt.h"

static volatile unsigned long sink;

TREE static void alarm_leaf(void)
{
	sink = burn(100000);
}

TREE static void on_alarm(int signal)
{
	alarm_leaf();
	sink = signal;
}

TREE static void burn_leaf(void)
{
	sink = burn(100000);
}

TREE static void burn_outer(void)
{
	burn_leaf();
	sink = 1;
}

int main(int argc, char **argv)
{
	struct itimerval every = { .it_interval.tv_usec = 2000, .it_value.tv_usec = 2000 };

	work_start(argc, argv);
	signal_handle(SIGALRM, on_alarm);
	must("setitimer", sys(setitimer, ITIMER_REAL, &every, NULL));
	for (;;) {
		burn_outer();
		work_done(1);
	}
}
