// SPDX-License-Identifier: GPL-2.0-only
/*
 * A storm of page faults of three kinds, one small page each.
 *
 *	_start
 *	  main
 *	    fault_anon ── touch_anon		fresh anonymous pages, then given back
 *	    fault_cow ── touch_cow		private file pages, copied on write
 *	    fault_protect ── touch_protect	pages made read-only and writable again
 *
 * One piece of work is PAGES faults of each kind.
 */
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "rt.h"

#define PAGES 256ul
#define PAGE 4096ul
#define SIZE (PAGES * PAGE)

#define TOUCH(name)                                               \
	TREE static void name(char *p, size_t size)               \
	{                                                         \
		size_t i;                                         \
                                                                  \
		LEAF_FRAME();                                     \
		for (i = 0; i < size; i += PAGE)                  \
			*(volatile char *)(p + i) = 1;            \
	}

TOUCH(touch_anon)
TOUCH(touch_cow)
TOUCH(touch_protect)

TREE static void fault_anon(char *p)
{
	touch_anon(p, SIZE);
	must("madvise", sys(madvise, p, SIZE, MADV_DONTNEED));
}

/* The program itself is a file that is always there, if a short one: map its first page often. */
TREE static void fault_cow(int fd)
{
	unsigned long i;

	for (i = 0; i < PAGES; i++) {
		char *p = (char *)must("mmap of a file", sys(mmap, 0, PAGE, PROT_READ | PROT_WRITE,
							     MAP_PRIVATE, fd, 0));

		touch_cow(p, PAGE);
		must("munmap", sys(munmap, p, PAGE));
	}
}

TREE static void fault_protect(char *p)
{
	must("mprotect", sys(mprotect, p, SIZE, PROT_READ));
	must("mprotect", sys(mprotect, p, SIZE, PROT_READ | PROT_WRITE));
	touch_protect(p, SIZE);
}

static char *map_anon(void)
{
	char *p = (char *)must("mmap", sys(mmap, 0, SIZE, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	sys(madvise, p, SIZE, MADV_NOHUGEPAGE);
	return p;
}

int main(int argc, char **argv)
{
	char *anon, *protect;
	int fd;

	work_start(argc, argv);
	fd = must("open", sys(openat, AT_FDCWD, program_path(), O_RDONLY, 0));
	anon = map_anon();
	protect = map_anon();
	touch_protect(protect, SIZE);
	for (;;) {
		fault_anon(anon);
		fault_cow(fd);
		fault_protect(protect);
		work_done(1);
	}
}
