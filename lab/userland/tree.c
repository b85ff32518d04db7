/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A C program as a distribution builds it: libc, no frame pointers, position independent. One
 * thread spends its time below main in known shares:
 *
 *	_start ── __libc_start_main ── main ── one_round
 *	  alpha	50 %	alpha_leaf
 *	  beta	30 %	beta_middle ── beta_leaf
 *	  delta	20 %	qsort (libc) ── compare
 *
 * Says "started" when it has; ends when it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define ROUND_NS 10000000L	/* of processor time */
#define CHUNK 20000		/* so that reading the clock, a system call, is little of it */

static volatile unsigned long sink;

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

NOINLINE static void burn(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sink += i * i;
}

NOINLINE static void alpha_leaf(long until)
{
	while (now_ns() < until)
		burn(CHUNK);
	sink++;
}

NOINLINE static void alpha(long until)
{
	alpha_leaf(until);
	sink++;
}

NOINLINE static void beta_leaf(long until)
{
	while (now_ns() < until)
		burn(CHUNK);
	sink++;
}

/* A frame of a size that is only known when it runs: its CFA is found by way of a register. */
NOINLINE static void beta_middle(long until, unsigned int size)
{
	volatile char *room = __builtin_alloca(size);

	room[0] = 1;
	beta_leaf(until);
	room[size - 1] = room[0];
}

NOINLINE static void beta(long until)
{
	beta_middle(until, 64 + sink % 1024);
	sink++;
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	burn(20);
	return (*x > *y) - (*x < *y);
}

NOINLINE static void delta(long until)
{
	static int numbers[512];

	while (now_ns() < until) {
		for (size_t i = 0; i < 512; i++)
			numbers[i] = (int)(i * 7919 % 512);
		qsort(numbers, 512, sizeof(numbers[0]), compare);
	}
	sink++;
}

/* What a part takes too long the next one lacks: the shares hold over the rounds together. */
NOINLINE static void one_round(long *at)
{
	alpha(*at += ROUND_NS * 5 / 10);
	beta(*at += ROUND_NS * 3 / 10);
	delta(*at += ROUND_NS * 2 / 10);
}

int main(void)
{
	long at = now_ns();

	puts("started");
	fflush(stdout);
	for (;;)
		one_round(&at);
}
