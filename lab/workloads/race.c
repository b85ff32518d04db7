// SPDX-License-Identifier: GPL-2.0-only
/*
 * One thread burns CPU while the others change the process below it as fast as they can. For a
 * guest with several vCPUs: who reads this process's memory from outside sees it move.
 *
 *	_start
 *	  main
 *	    burn_outer ── burn_middle ── burn_leaf	stays; its chain never changes
 *	thread_entry ── thread_main
 *	    storm_map		mmap, mprotect, mremap, munmap		thread mapper
 *	    storm_fork		fork, exit				thread forker
 *	    storm_exec		fork, exec of this program		thread executor
 *	    storm_stacks	threads on short-lived stacks		thread stacker
 *	      stack_main ── stack_leaf				threads short-lived
 *
 * One piece of work is one round of the burning thread.
 */
#include <linux/mman.h>

#include "rt.h"

#define PAGE 4096ul

static volatile unsigned long sink;

TREE static void burn_leaf(void)
{
	sink = burn(100000);
}

TREE static void burn_middle(void)
{
	burn_leaf();
	sink = 1;
}

TREE static void burn_outer(void)
{
	burn_middle();
	sink = 2;
}

TREE static void storm_map(void *arg)
{
	unsigned long size = 16 * PAGE;
	char *p;

	(void)arg;
	for (;;) {
		p = (char *)must("mmap", sys(mmap, 0, size, PROT_READ | PROT_WRITE | PROT_EXEC,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		memset(p, 1, size);
		must("mprotect", sys(mprotect, p, size, PROT_READ));
		must("mprotect", sys(mprotect, p + PAGE, PAGE, PROT_NONE));
		must("mprotect", sys(mprotect, p, size, PROT_READ | PROT_WRITE));
		p = (char *)must("mremap", sys(mremap, p, size, size * 2, MREMAP_MAYMOVE));
		must("munmap", sys(munmap, p, size * 2));
	}
}

TREE static void storm_fork(void *arg)
{
	(void)arg;
	for (;;) {
		int pid = must("fork", sys_fork());

		if (!pid)
			work_exit(0);
		process_wait(pid);
	}
}

TREE static void storm_exec(void *arg)
{
	const char *argv[] = { arg, "--child", NULL };
	char *envp[] = { NULL };

	for (;;) {
		int pid = must("fork", sys_fork());

		if (!pid) {
			sys(execve, arg, argv, envp);
			work_exit(1);
		}
		process_wait(pid);
	}
}

TREE static void stack_leaf(void)
{
	sink = burn(5000);
}

TREE static void stack_main(void *arg)
{
	(void)arg;
	stack_leaf();
	sink = 3;
}

TREE static void storm_stacks(void *arg)
{
	struct thread thread;

	(void)arg;
	for (;;) {
		thread_start(&thread, "short-lived", stack_main, NULL);
		thread_join(&thread);
	}
}

int main(int argc, char **argv)
{
	static struct thread threads[4];

	if (argc == 2 && argv[1][2] == 'c')
		return 0;
	work_start(argc, argv);
	thread_start(&threads[0], "mapper", storm_map, NULL);
	thread_start(&threads[1], "forker", storm_fork, NULL);
	thread_start(&threads[2], "executor", storm_exec, (void *)program_path());
	thread_start(&threads[3], "stacker", storm_stacks, NULL);
	for (;;) {
		burn_outer();
		work_done(1);
	}
}
