/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For LD_PRELOAD: perf_event_open() of hardware events answers with the error number in SHIM_ERRNO
 * (none: it goes on to the kernel); each is noted in the file SHIM_LOG.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

static int refuse(const struct perf_event_attr *attr)
{
	const char *log = getenv("SHIM_LOG"), *answer = getenv("SHIM_ERRNO");
	FILE *file;

	if (attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT)
		return 0;
	file = log ? fopen(log, "a") : NULL;
	if (file) {
		fprintf(file, "type %u config %llu\n", attr->type, attr->config);
		fclose(file);
	}
	return answer ? atoi(answer) : 0;
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
	return next(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}
