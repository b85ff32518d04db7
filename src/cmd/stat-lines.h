/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `kvmprof stat` shows of a guest or a vCPU: lines of figures, made from sums. How they look
 * is stat-print.h's.
 */
#ifndef CMD_STAT_LINES_H
#define CMD_STAT_LINES_H

#include "count/exit-names.h"
#include "count/reports.h"

#define STAT_NAME_LEN (CAPTURE_EVENT_NAME + EXIT_NAME_LEN)

enum stat_figure_state {
	STAT_FIGURE_THERE,
	STAT_FIGURE_NOT_SUPPORTED,
	STAT_FIGURE_NOT_COUNTED,
	STAT_FIGURE_NONE,	/* it does not happen there, or nobody asked */
};

/* One number with what belongs to it. */
struct stat_figure {
	enum stat_figure_state state;
	char name[STAT_NAME_LEN];	/* where it stands alone: "cycles:G" */
	bool is_time;		/* in ns */
	double value;
	u64 runtime;		/* ns that it was counted */
	double share;		/* per cent of the time that it was to be */
	bool has_metric;
	double metric;
};

/* Two modes of an event, or one figure of another kind in the second place. */
struct stat_line {
	char name[STAT_NAME_LEN];
	struct stat_figure figures[COUNT_NR_MODES];
	const char *metric_unit;
	int metric_digits;
};
typedef VEC(struct stat_line) stat_lines;

/* What was counted. */
struct stat_subject {
	const struct capture_event *events;
	u32 nr_events;
	const struct exit_names *names;
};

/* All lines of @row, which is about @elapsed ns. The caller frees with vec_deinit(). */
int stat_lines_make(const struct stat_subject *subject, const struct tally_row *row, u64 elapsed,
		    stat_lines *ret);

#endif
