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

/* COUNT more pieces of work were done. Any thread or process may say so. May not return. */
void work_done(unsigned long count);

/* In the parent of process_start(): wait until a child ends, then end all with its status. */
_Noreturn void work_wait(void);

/*
 * In a function that calls no other: have GCC set up its frame all the same. Otherwise a chain of
 * frame pointers misses the caller, as the stack's top is not yet a frame of the leaf's.
 */
#ifdef __aarch64__
#define LEAF_FRAME() ((void)0)	/* it does */
#else
#ifdef __i386__
#define LEAF_SP "esp"
#else
#define LEAF_SP "rsp"
#endif
#define LEAF_FRAME()                                \
	do {                                        \
		register void *sp asm(LEAF_SP);     \
		asm volatile("" : "+r"(sp));        \
	} while (0)
#endif

/* One calibrated loop of N rounds, inlined: its caller is the leaf. */
static inline __attribute__((always_inline)) unsigned long burn(unsigned long n)
{
	unsigned long x = n;

	LEAF_FRAME();
	do {
		x = x * 69069 + 12345;
		asm volatile("" : "+r"(x));
	} while (--n);
	return x;
}

/* Print a line `workload NAME: TEXT NUMBER`. */
void work_say(const char *text, unsigned long number);

/* End the program. */
_Noreturn void work_exit(int status);

/* End all threads when a system call that must not fail did. */
long must(const char *what, long ret);

#define THREAD_STACK (64ul << 10)

struct thread {
	char *stack;
	int tid; /* 0 once it has ended */
};

/* Handle SIGNAL with fn, until the end; back through rt_restorer, as with a libc. */
void signal_handle(int signal, void (*fn)(int));

/* Start a thread on a stack of its own, named NAME. It ends when fn returns. */
void thread_start(struct thread *thread, const char *name, void (*fn)(void *), void *arg);

/* Wait until it has ended and free its stack. */
void thread_join(struct thread *thread);

/* A child process named NAME that runs fn and dies with its parent. */
void process_start(const char *name, void (*fn)(void *), void *arg);

/* Wait until child PID (-1: any) has ended; its exit status, 128 when a signal ended it. */
int process_wait(int pid);

/* The path of this program. */
const char *program_path(void);

/* The compiler calls these even where there is no libc. */
void *memset(void *dest, int c, size_t n);
void *memcpy(void *dest, const void *src, size_t n);

void set_name(const char *name);
void sleep_ms(unsigned long ms);
uint64_t now_ms(void);

/* start.S */
void rt_restorer(void);
long rt_clone(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg, int *tid);
int main(int argc, char **argv);

#endif
