/* SPDX-License-Identifier: GPL-2.0-only */
/* How `kvmprof stat` shows counts: as perf stat does, guest and host side by side. */
#ifndef CMD_STAT_PRINT_H
#define CMD_STAT_PRINT_H

#include <stdio.h>

#include "cmd/stat-lines.h"
#include "count/reports.h"

struct stat_style {
	struct stat_subject subject;
	const char *separator;	/* a line for each figure, with this between fields; or NULL */
	bool json;		/* a JSON object for each figure */
	bool interval;		/* every line begins with the time */
	bool summary;		/* it is of all of the intervals before */
	bool per_vcpu;
};

/* Prints all of @report, @seconds after the start. 0, -ENOMEM, or the error of writing. */
int stat_print(FILE *out, const struct stat_style *style, const struct tally_report *report,
	       double seconds);

/* A line below the table. */
void stat_print_note(FILE *out, const char *text);

#endif
