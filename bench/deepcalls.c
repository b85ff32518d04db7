/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * deepcalls SECONDS: burns that much CPU time about 45 calls deep, on 64 different paths, for
 * `perf record -g` to take chains from. Built with frame pointers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
/* Keeps the call before it from becoming a jump. */
#define NO_TAIL_CALL() asm volatile("")
#define DEPTH 44

static volatile unsigned long sink;

static NOINLINE void add_up(void)
{
	for (unsigned int i = 0; i < 3000; i++)
		sink += i * sink;
	NO_TAIL_CALL();
}

static NOINLINE void fill(void)
{
	char buffer[4096];

	for (int i = 0; i < 16; i++) {
		memset(buffer, i, sizeof(buffer));
		sink += buffer[sink % sizeof(buffer)];
	}
	NO_TAIL_CALL();
}

static NOINLINE void call_kernel(void)
{
	for (int i = 0; i < 8; i++)
		sink += getppid();
	NO_TAIL_CALL();
}

static NOINLINE void work(unsigned int path)
{
	if (path % 4 < 2)
		add_up();
	else if (path % 4 == 2)
		fill();
	else
		call_kernel();
	NO_TAIL_CALL();
}

static void descend(unsigned int depth, unsigned int path);

static NOINLINE void left(unsigned int depth, unsigned int path)
{
	descend(depth, path);
	NO_TAIL_CALL();
}

static NOINLINE void right(unsigned int depth, unsigned int path)
{
	descend(depth, path);
	NO_TAIL_CALL();
}

/* Six turnings decide the path, at depths that differ from each other. */
static NOINLINE void descend(unsigned int depth, unsigned int path)
{
	if (depth == 0) {
		work(path);
		work(path + 1);
	} else if (depth % 6 == 0 && path >> (depth / 6 - 1) & 1) {
		left(depth - 1, path);
	} else if (depth % 6 == 0) {
		right(depth - 1, path);
	} else {
		descend(depth - 1, path);
	}
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;

	for (unsigned int path = 0; clock() < seconds * CLOCKS_PER_SEC; path++)
		descend(DEPTH - path % 5, path % 64);
	return 0;
}
