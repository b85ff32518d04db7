/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording as text: entries and their call graphs in the layout of `perf report --stdio`. */
#ifndef OUTPUT_REPORT_H
#define OUTPUT_REPORT_H

#include "analyze/hist.h"
#include "output/outbuf.h"

enum report_graph {
	REPORT_GRAPH_NONE,
	REPORT_GRAPH,		/* percentages of all samples */
	REPORT_GRAPH_FRACTAL,	/* percentages of the parent */
	REPORT_GRAPH_FLAT,	/* one chain below the other */
	REPORT_GRAPH_FOLDED,	/* a chain on a line */
};

struct report_options {
	enum hist_key keys[HIST_MAX_KEYS];
	unsigned int nr_keys;
	bool default_keys;	/* the user chose none */
	bool children;
	bool caller;
	enum report_graph graph;
	bool periods;		/* in call graphs, instead of percentages */
	double graph_percent;	/* branches of the call graph below this are left out */
	double entry_percent;	/* entries below this are left out */
	u32 print_limit;	/* branches of one entry; 0: all */
};

/*
 * Writes the events that have samples, and what became of all events, to @out without the last
 * flush. The rows of @profile must tell apart what the keys ask for. 0 or -ENOMEM.
 */
int report_write(const struct profile *profile, const struct report_options *options,
		 struct outbuf *out);

#endif
