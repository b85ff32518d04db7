/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stackcalls SECONDS: burns that much CPU time at the end of 64 different stacks of 17 KiB, for
 * `perf record --call-graph dwarf` to copy. Built without frame pointers.
 */
#include <stdlib.h>
#include <time.h>

#include "callers.h"

#define DEPTH (17U << 10)	/* more than the largest copy */

static void burn(void *arg)
{
	volatile u64 *sink = arg;

	for (unsigned int i = 0; i < 100000; i++)
		*sink += i * *sink;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	u64 sink = 1;
	char top;
	struct callers callers = { &top, DEPTH, burn, &sink };

	for (u64 path = 0; clock() < seconds * CLOCKS_PER_SEC; path++)
		callers_call(path % 64, &callers);
	return 0;
}
