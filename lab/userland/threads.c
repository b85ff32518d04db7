/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and signals: four threads burn below known functions, a timer's signal burns in its
 * handler on whichever of them it meets, one of them on an alternate stack.
 *
 *	clone3 ── start_thread ── worker ── worker_middle ── worker_leaf
 *	   … ── worker_leaf ── __restore_rt ── on_signal ── handler_leaf
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static __thread volatile unsigned long sink;

NOINLINE static void burn(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sink += i * i;
}

NOINLINE static void handler_leaf(void)
{
	burn(300000);
	sink++;
}

static void on_signal(int number)
{
	(void)number;
	handler_leaf();
	sink++;
}

NOINLINE static void worker_leaf(void)
{
	burn(100000);
	sink++;
}

NOINLINE static void worker_middle(void)
{
	worker_leaf();
	sink++;
}

static void *worker(void *arg)
{
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };

	if (arg && sigaltstack(&stack, NULL))
		abort();
	for (;;)
		worker_middle();
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	static char alternate;
	pthread_t thread;

	if (sigaction(SIGPROF, &action, NULL) || setitimer(ITIMER_PROF, &every, NULL))
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread, NULL, worker, i ? NULL : &alternate))
			return 1;
	puts("started");
	fflush(stdout);
	worker(NULL);
	return 0;
}
