// SPDX-License-Identifier: GPL-2.0-only
/*
 * System calls of four kinds, each from a function of its own.
 *
 *	_start
 *	  main
 *	    do_stat		newfstatat
 *	    do_read		pread64 of /dev/zero
 *	    do_pipe		write, read
 *	    do_mmap		mmap, a page fault, munmap
 *
 * One piece of work is 64 rounds of each.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <asm/stat.h>

#include "rt.h"

#define ROUNDS 64

#ifdef __i386__
#define stat_at(folder, path, st) sys(fstatat64, folder, path, st, 0)
typedef struct stat64 stat_buffer;
#else
#define stat_at(folder, path, st) sys(newfstatat, folder, path, st, 0)
typedef struct stat stat_buffer;
#endif

static char buffer[4096];

TREE static void do_stat(void)
{
	stat_buffer st;
	int i;

	for (i = 0; i < ROUNDS; i++)
		must("stat", stat_at(AT_FDCWD, "/proc/self/maps", &st));
}

TREE static void do_read(int fd)
{
	int i;

	for (i = 0; i < ROUNDS; i++)
		must("read", sys(pread64, fd, buffer, sizeof(buffer), 0));
}

TREE static void do_pipe(const int fds[2])
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		must("write", sys(write, fds[1], buffer, 512));
		must("read", sys(read, fds[0], buffer, 512));
	}
}

TREE static void do_mmap(void)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		char *p = (char *)must("mmap", sys(mmap, 0, 4096, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

		*(volatile char *)p = 1;
		must("munmap", sys(munmap, p, 4096));
	}
}

int main(int argc, char **argv)
{
	int fds[2], zero;

	work_start(argc, argv);
	zero = must("open", sys(openat, AT_FDCWD, "/dev/zero", O_RDONLY, 0));
	must("pipe", sys(pipe2, fds, 0));
	for (;;) {
		do_stat();
		do_read(zero);
		do_pipe(fds);
		do_mmap();
		work_done(1);
	}
}
