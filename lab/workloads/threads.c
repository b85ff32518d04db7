// SPDX-License-Identifier: GPL-2.0-only
/*
 * Three processes of four threads each, all with names of their own, and a function a process.
 *
 *	_start ── main ── process_start ── process_main		process worker-red, -green, -blue
 *	thread_entry ── thread_main ── work_red ── leaf_red		threads red-1, red-2, red-3
 *	                              (work_green, work_blue alike)
 *
 * Main thread and others share the load: all burn CPU in turns of equal length, then sleep shortly.
 * One piece of work is one turn.
 */
#include "rt.h"

#define UNIT 100000ul

static volatile unsigned long sink;

#define COLOUR(name)                               \
	TREE static void leaf_##name(void)         \
	{                                          \
		sink = burn(UNIT);                 \
	}                                          \
                                                   \
	TREE static void work_##name(void *arg)    \
	{                                          \
		(void)arg;                         \
		for (;;) {                         \
			leaf_##name();             \
			work_done(1);              \
			sleep_ms(1);               \
		}                                  \
	}

COLOUR(red)
COLOUR(green)
COLOUR(blue)

static const struct colour {
	const char *process;
	const char *threads[3];
	void (*work)(void *);
} colours[] = {
	{ "worker-red", { "red-1", "red-2", "red-3" }, work_red },
	{ "worker-green", { "green-1", "green-2", "green-3" }, work_green },
	{ "worker-blue", { "blue-1", "blue-2", "blue-3" }, work_blue },
};

TREE static void process_main(void *arg)
{
	const struct colour *colour = arg;
	struct thread threads[3];
	int i;

	for (i = 0; i < 3; i++)
		thread_start(&threads[i], colour->threads[i], colour->work, NULL);
	colour->work(NULL);
}

int main(int argc, char **argv)
{
	int i;

	work_start(argc, argv);
	for (i = 0; i < 3; i++)
		process_start(colours[i].process, process_main, (void *)&colours[i]);
	work_wait();
}
