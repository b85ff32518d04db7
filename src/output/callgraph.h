/* SPDX-License-Identifier: GPL-2.0-only */
/* The call graph below an entry of a report, drawn with characters. */
#ifndef OUTPUT_CALLGRAPH_H
#define OUTPUT_CALLGRAPH_H

#include "output/report.h"

struct callgraph {
	const struct profile *profile;
	struct hist *hist;
	const struct report_options *options;
	struct outbuf *out;
	struct calltree tree;	/* of one entry at a time */
};

int callgraph_init(struct callgraph *graph, const struct profile *profile, struct hist *hist,
		   const struct report_options *options, struct outbuf *out);
void callgraph_deinit(struct callgraph *graph);

/* Writes what is worth showing of @entry's chains. 0 or -ENOMEM. */
int callgraph_write(struct callgraph *graph, const struct hist_entry *entry);

#endif
