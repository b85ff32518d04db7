/* SPDX-License-Identifier: GPL-2.0-only */
/* perf events that count on a thread. */
#include "count/counter.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/errors.h"
#include "capture/events.h"

enum count_way count_way(const struct capture_event *event, enum count_mode mode)
{
	if (mode == COUNT_GUEST ? event->only_host : event->only_guest)
		return COUNT_NEVER;
	if (event_is_clock(event))
		return COUNT_BY_TIME;
	return mode == COUNT_GUEST && event->host_side ? COUNT_NEVER : COUNT_BY_PERF;
}

void count_add(struct count *count, const struct count *other)
{
	count->value += other->value;
	count->on += other->on;
	count->counted += other->counted;
	count->unsupported = count->unsupported || other->unsupported;
	count->failed = count->failed || other->failed;
}

u64 count_grown(u64 now, u64 before)
{
	return now > before ? now - before : 0;
}

struct count count_since(const struct count *now, const struct count *before)
{
	return (struct count){
		.value = count_grown(now->value, before->value),
		.on = count_grown(now->on, before->on),
		.counted = count_grown(now->counted, before->counted),
		.unsupported = now->unsupported,
		.failed = now->failed,
	};
}

u64 count_scaled(const struct count *count)
{
	if (!count->counted || count->counted >= count->on)
		return count->value;
	return (u64)((double)count->value * count->on / count->counted + 0.5);
}

double count_share(const struct count *count)
{
	if (!count->on || count->counted >= count->on)
		return 100;
	return 100.0 * count->counted / count->on;
}

bool count_is_valid(const struct count *count)
{
	return !count->unsupported && !count->failed && (count->counted || !count->on);
}

void counter_fill_attr(const struct capture_event *event, enum count_mode mode,
		       struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.type = event->type,
		.size = sizeof(*ret),
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.exclude_user = event->exclude_user,
		.exclude_kernel = event->exclude_kernel,
		.pinned = event->pinned,
	};
	if (!event_is_hardware(event))
		return;
	ret->exclude_host = mode == COUNT_GUEST;
	ret->exclude_guest = mode == COUNT_HOST;
}

/* As perf stat sees it: what is not to be counted here, in contrast to what went wrong. */
static bool is_unsupported(int err)
{
	switch (err) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -ENOSYS:
	case -EINVAL:
	case -EOPNOTSUPP:
	case -EBUSY:
		return true;
	default:
		return false;
	}
}

static int open_fd(const struct capture_event *event, enum count_mode mode, pid_t tid)
{
	struct perf_event_attr attr;
	int fd, err;

	if (mode == COUNT_GUEST && event->guest_why)
		return -EOPNOTSUPP;
	counter_fill_attr(event, mode, &attr);
	fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int counter_open(const struct capture_event *event, enum count_mode mode, pid_t tid,
		 struct counter *ret)
{
	int fd = open_fd(event, mode, tid);

	*ret = COUNTER_INIT;
	if (fd >= 0) {
		ret->fd = fd;
		return 0;
	}
	ret->error = fd;
	ret->last.unsupported = is_unsupported(fd);
	return ret->last.unsupported ? 0 : fd;
}

/* Of a pinned one that lost its counter nothing is read: __perf_read() in kernel/events/core.c. */
void counter_read(struct counter *counter)
{
	u64 got[3];	/* value, time enabled, time running */
	ssize_t n;

	if (counter->fd < 0)
		return;
	n = read(counter->fd, got, sizeof(got));
	counter->last.failed = n == 0;
	if (n != sizeof(got))
		return;
	counter->last.value = got[0];
	counter->last.on = got[1];
	counter->last.counted = got[2];
}

void counter_close(struct counter *counter)
{
	if (counter->fd >= 0)
		close(counter->fd);
	counter->fd = -1;
}
