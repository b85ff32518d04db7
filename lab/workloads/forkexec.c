// SPDX-License-Identifier: GPL-2.0-only
/*
 * A storm of short-lived processes: fork, exec of this program, a little work, exit.
 *
 *	_start
 *	  main
 *	    spawn			fork, wait4
 *	      spawn_exec		execve, in the child
 *	    child_main ── child_leaf	in the child after exec
 *
 * One piece of work is one child.
 */
#include "rt.h"

static volatile unsigned long sink;

TREE static void child_leaf(unsigned long n)
{
	sink = burn(n);
}

TREE static void child_main(void)
{
	child_leaf(20000);
	sink = 0;
}

TREE static void spawn_exec(const char *path)
{
	const char *argv[] = { path, "--child", NULL };
	char *envp[] = { NULL };

	must("execve", sys(execve, path, argv, envp));
}

TREE static void spawn(const char *path)
{
	int pid = must("fork", sys_fork());

	if (!pid)
		spawn_exec(path);
	process_wait(pid);
}

int main(int argc, char **argv)
{
	const char *path;

	if (argc == 2 && argv[1][2] == 'c') {
		child_main();
		return 0;
	}
	work_start(argc, argv);
	path = program_path();
	for (;;) {
		spawn(path);
		work_done(1);
	}
}
