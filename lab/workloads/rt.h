/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all workloads share. Their arguments:
 *
 *	[--report SECONDS] [--seconds SECONDS] [--work COUNT] [ARGUMENT]
 *
 * --report prints `work NAME COUNT MILLISECONDS` every so often, both since the start; --seconds
 * and --work end the program after that time or that much work.
 */
#ifndef LAB_WORKLOADS_RT_H
#define LAB_WORKLOADS_RT_H

#include <stddef.h>
#include <stdint.h>

#include "sys.h"

/* A function that the call tree promises: it is there under its own name and calls for itself. */
#define TREE __attribute__((noinline, noclone, used, aligned(64)))

/* Parse the arguments and print `workload NAME: started`. */
void work_start(int argc, char **argv);

/* The workload's own argument, or `other` when there is none. */
unsigned long work_argument(unsigned long other);

/* COUNT more pieces of work were done. Any thread may say so. May end the program. */
void work_done(unsigned long count);

/* Print a line `workload NAME: TEXT NUMBER`. */
void work_say(const char *text, unsigned long number);

/* End all threads when a system call that must not fail did. */
long must(const char *what, long ret);

#define THREAD_STACK (64ul << 10)

struct thread {
	char *stack;
	int tid; /* 0 once it has ended */
};

/* Start a thread on a stack of its own, named NAME. It ends when fn returns. */
void thread_start(struct thread *thread, const char *name, void (*fn)(void *), void *arg);

/* Wait until it has ended and free its stack. */
void thread_join(struct thread *thread);

/* Like fork(): 0 in the child. */
int process_fork(void);

void set_name(const char *name);
void sleep_ms(unsigned long ms);
uint64_t now_ms(void);

long rt_clone(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg, int *tid);
int main(int argc, char **argv);

#endif
