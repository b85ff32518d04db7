/* SPDX-License-Identifier: GPL-2.0-only */
#include "software-pmu.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEVER (1ULL << 47)

long syscall(long number, ...);

static void change(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_TASK_CLOCK;
}

int software_pmu_open(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_period = NEVER,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.wakeup_events = 1,
		.pinned = 1,
		.exclude_host = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* In the place of libc's, for this program. */
long syscall(long number, ...)
{
	static long (*libc)(long number, ...);
	long args[6];
	va_list list;

	if (!libc)
		libc = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (unsigned int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open)
		change((struct perf_event_attr *)args[0]);
	return libc(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
