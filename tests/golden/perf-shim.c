/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For LD_PRELOAD: perf_event_open() of hardware events answers with the error number in SHIM_ERRNO
 * (none: it goes on to the kernel), but for the first SHIM_PASS of them; each is noted in the file
 * SHIM_LOG. With SHIM_FAKE it is a cpu-clock that answers, and says that it had the counter half of
 * the time.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>

static int refuse(const struct perf_event_attr *attr)
{
	const char *log = getenv("SHIM_LOG"), *answer = getenv("SHIM_ERRNO");
	const char *pass = getenv("SHIM_PASS");
	static int nr;
	FILE *file;

	if (attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT)
		return 0;
	file = log ? fopen(log, "a") : NULL;
	if (file) {
		fprintf(file, "type %u config %llu\n", attr->type, attr->config);
		fclose(file);
	}
	return answer && nr++ >= (pass ? atoi(pass) : 0) ? atoi(answer) : 0;
}

static long fake(long (*next)(long number, ...), const long *args)
{
	struct perf_event_attr attr = *(const struct perf_event_attr *)args[0];

	if (attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		/* Its own view of modes, which is the host's. */
		attr.exclude_host = attr.exclude_user = attr.exclude_kernel = 0;
	}
	return next(SYS_perf_event_open, &attr, args[1], args[2], args[3], args[4]);
}

/* Of an event: what it counted, and the two times. */
ssize_t read(int fd, void *out, size_t size)
{
	static ssize_t (*next)(int fd, void *out, size_t size);
	ssize_t n;

	if (!next)
		next = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	n = next(fd, out, size);
	if (getenv("SHIM_FAKE") && n == 24 && size == 24)
		((unsigned long long *)out)[2] /= 2;
	return n;
}

long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	long args[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open) {
		errno = refuse((const struct perf_event_attr *)args[0]);
		if (errno)
			return -1;
	}
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_perf_event_open && getenv("SHIM_FAKE"))
		return fake(next, args);
	return next(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
