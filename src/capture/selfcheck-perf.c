/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of events that samples are taken at. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errors.h"
#include "capture/backend.h"
#include "capture/events.h"
#include "capture/selfcheck-private.h"

#define GIVE_UP_NS 1000000000ULL	/* for a clock to move */

static const char *not_permitted(int err)
{
	return err == -EPERM || err == -EACCES ? "be root" : NULL;
}

/* Hardware cycles as they are recorded. Where guests own the PMU it is not tried: see events.c. */
static void check_cycles(struct selfcheck *check)
{
	struct capture_events events = { .last = 0 };
	const char *why = NULL;
	int err = capture_events_add(&events, "cycles", &why);

	if (err)
		selfcheck_add(check, "perf.cycles", SELFCHECK_NO, not_permitted(err), "%s (%s)",
			      why ?: "no", error_text(err));
	else
		selfcheck_add(check, "perf.cycles", SELFCHECK_YES, NULL,
			      "hardware cycles in guest mode can be opened");
	capture_events_deinit(&events);
}

/* Works until the event has counted, or too long. */
static int wait_for_count(int fd)
{
	u64 end = clock_now_ns() + GIVE_UP_NS, count = 0;

	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	while (!count && clock_now_ns() < end) {
		if (read(fd, &count, sizeof(count)) != sizeof(count))
			return -EIO;
	}
	return count ? 0 : -ETIMEDOUT;
}

static void check_clock(struct selfcheck *check)
{
	const struct capture_event event = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
	};
	struct perf_event_attr attr;
	_cleanup_close_ int fd = -1;
	int err;

	event_fill_attr(&event, &attr);
	fd = capture_open_event(&attr, 0);
	err = fd < 0 ? fd : wait_for_count(fd);
	if (err)
		selfcheck_add(check, "perf.cpu-clock", SELFCHECK_NO, not_permitted(err),
			      "perf_event_open(): %s", error_text(err));
	else
		selfcheck_add(check, "perf.cpu-clock", SELFCHECK_YES, NULL, "counts");
}

static int open_for_all(u64 id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = id, .disabled = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void check_tracepoint(struct selfcheck *check)
{
	struct capture_events events = { .last = 0 };
	const char *why = NULL;
	_cleanup_close_ int fd = -1;
	int err = capture_events_add(&events, "kvm:kvm_exit", &why);

	if (!err)
		fd = open_for_all(events.list.data[0].config);
	if (err)
		selfcheck_add(check, "perf.tracepoint", SELFCHECK_NO, NULL, "kvm:kvm_exit: %s",
			      why ?: error_text(err));
	else if (fd < 0)
		selfcheck_add(check, "perf.tracepoint", SELFCHECK_NO, not_permitted(fd),
			      "kvm:kvm_exit: %s", error_text(fd));
	else
		selfcheck_add(check, "perf.tracepoint", SELFCHECK_YES, NULL,
			      "kvm:kvm_exit can be opened");
	capture_events_deinit(&events);
}

static void check_paranoid(struct selfcheck *check)
{
	char text[32];
	int err = selfcheck_read_line("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));

	if (err)
		selfcheck_add(check, "perf.paranoid", SELFCHECK_NO,
			      "a kernel with CONFIG_PERF_EVENTS", "the kernel has no perf events");
	else
		selfcheck_add(check, "perf.paranoid", SELFCHECK_NONE, NULL,
			      "kernel.perf_event_paranoid is %s, which is no matter to root",
			      text);
}

void selfcheck_perf(struct selfcheck *check)
{
	check_cycles(check);
	check_clock(check);
	check_tracepoint(check);
	check_paranoid(check);
}
