/* SPDX-License-Identifier: GPL-2.0-only */
/* vpmu-perf's points, as TAP. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vpmu-perf.h"

static unsigned int nr_points, nr_failed;

void point(bool good, const char *name, ...)
{
	va_list args;

	va_start(args, name);
	printf("%sok %u - ", good ? "" : "not ", ++nr_points);
	vprintf(name, args);
	puts("");
	va_end(args);
	nr_failed += !good;
}

void same(const char *name, uint64_t wanted, uint64_t got)
{
	point(wanted == got, "%s", name);
	if (wanted != got)
		printf("# wanted %llu, got %llu\n", (unsigned long long)wanted,
		       (unsigned long long)got);
}

void between(const char *name, uint64_t least, uint64_t most, uint64_t got)
{
	point(got >= least && got <= most, "%s", name);
	printf("# %llu, of %llu to %llu\n", (unsigned long long)got, (unsigned long long)least,
	       (unsigned long long)most);
}

void give_up(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

int points_end(void)
{
	printf("1..%u\n", nr_points);
	return nr_failed != 0;
}
