// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers and softirqs.
 *
 *	_start
 *	  main ── process_start
 *	    tick_timers	TIMERS timerfds of odd periods, read as they expire: timer interrupts
 *	    send_packets	UDP to itself over loopback: network softirqs
 *
 * Processes ticker and sender. One piece of work is 64 expirations or 64 packets.
 */
#include <linux/fcntl.h>
#include <linux/eventpoll.h>
#include <linux/in.h>
#include <linux/time.h>

#include "rt.h"

#define TIMERS 16
#define AF_INET 2
#define SOCK_DGRAM 2

static int timer_open(unsigned long period_us)
{
	struct itimerspec spec = {
		.it_interval = { .tv_nsec = period_us * 1000 },
		.it_value = { .tv_nsec = period_us * 1000 },
	};
	int fd = must("timerfd_create", sys(timerfd_create, CLOCK_MONOTONIC, O_NONBLOCK));

	must("timerfd_settime", sys(timerfd_settime, fd, 0, &spec, NULL));
	return fd;
}

TREE static void tick_timers(void *arg)
{
	struct epoll_event events[TIMERS];
	uint64_t expirations;
	int epoll, i, n, ticks = 0;

	(void)arg;
	epoll = must("epoll_create1", sys(epoll_create1, 0));
	for (i = 0; i < TIMERS; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		event.data = timer_open(1000 + 137 * i);
		must("epoll_ctl", sys(epoll_ctl, epoll, EPOLL_CTL_ADD, event.data, &event));
	}
	for (;;) {
		n = must("epoll_wait", sys_epoll_wait(epoll, events, TIMERS, -1));
		for (i = 0; i < n; i++)
			sys(read, events[i].data, &expirations, sizeof(expirations));
		for (ticks += n; ticks >= 64; ticks -= 64)
			work_done(1);
	}
}

TREE static void send_packets(void *arg)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = __builtin_bswap32(INADDR_LOOPBACK),
	};
	int fd, i, addr_len = sizeof(addr);
	char packet[256] = {};

	(void)arg;
	fd = must("socket", sys(socket, AF_INET, SOCK_DGRAM, 0));
	must("bind", sys(bind, fd, &addr, sizeof(addr)));
	/* The kernel chose a port. */
	must("getsockname", sys(getsockname, fd, &addr, &addr_len));
	must("connect", sys(connect, fd, &addr, sizeof(addr)));
	for (;;) {
		for (i = 0; i < 64; i++) {
			must("write", sys(write, fd, packet, sizeof(packet)));
			must("read", sys(read, fd, packet, sizeof(packet)));
		}
		work_done(1);
	}
}

int main(int argc, char **argv)
{
	work_start(argc, argv);
	process_start("ticker", tick_timers, NULL);
	process_start("sender", send_packets, NULL);
	work_wait();
}
