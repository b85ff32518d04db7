// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps kernel threads busy, with nothing but what a Debian kernel has built in.
 *
 *	_start
 *	  main ── process_start
 *	    feed_pty	a pseudo terminal's data goes through kworker: flush_to_ldisc()
 *	    drop_netns	network name spaces are taken down by kworker: cleanup_net()
 *	    wait_rcu	grace periods: rcu_preempt (or rcu_sched)
 *
 * Each is a process, named pty-feeder, netns-dropper and rcu-waiter. One piece of work is 64 KiB
 * through the terminal, one name space, or one grace period.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <linux/fcntl.h>
#include <linux/membarrier.h>
#include <linux/sched.h>

#include "rt.h"

static char buffer[4096];

/* An open terminal in raw mode; its master goes to ret_master. */
static int pty_open(int *ret_master)
{
	struct termios termios;
	int master, slave, unlock = 0;

	master = must("open of ptmx", sys(openat, AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY, 0));
	must("TIOCSPTLCK", sys(ioctl, master, TIOCSPTLCK, &unlock));
	slave = must("TIOCGPTPEER", sys(ioctl, master, TIOCGPTPEER, O_RDWR | O_NOCTTY));
	must("TCGETS", sys(ioctl, slave, TCGETS, &termios));
	termios.c_iflag = 0;
	termios.c_oflag = 0;
	termios.c_lflag = 0;
	must("TCSETS", sys(ioctl, slave, TCSETS, &termios));
	*ret_master = master;
	return slave;
}

TREE static void feed_pty(void *arg)
{
	int master, slave = pty_open(&master);
	size_t i, left;

	(void)arg;
	for (;;) {
		for (i = 0; i < 32; i++) {
			left = must("write", sys(write, master, buffer, 2048));
			while (left)
				left -= must("read", sys(read, slave, buffer, sizeof(buffer)));
		}
		work_done(1);
	}
}

TREE static void drop_netns(void *arg)
{
	(void)arg;
	for (;;) {
		/* The one before goes away with this. */
		must("unshare", sys(unshare, CLONE_NEWNET));
		work_done(1);
	}
}

TREE static void wait_rcu(void *arg)
{
	(void)arg;
	for (;;) {
		must("membarrier", sys(membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
		work_done(1);
	}
}

int main(int argc, char **argv)
{
	work_start(argc, argv);
	process_start("pty-feeder", feed_pty, NULL);
	process_start("netns-dropper", drop_netns, NULL);
	process_start("rcu-waiter", wait_rcu, NULL);
	work_wait();
}
