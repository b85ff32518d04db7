/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flame graph: one HTML file that holds its data, style and script and needs nothing else.
 * flamegraph.html, .css and .js are the page; they are joined and embedded at build time.
 */
#ifndef OUTPUT_FLAMEGRAPH_H
#define OUTPUT_FLAMEGRAPH_H

#include "base/strbuf.h"
#include "base/types.h"

/* What a frame's colour says. The numbers are KINDS in flamegraph.js. */
enum flamegraph_kind {
	FLAMEGRAPH_PROCESS,	/* no code: the root, a process, a thread */
	FLAMEGRAPH_KERNEL,
	FLAMEGRAPH_MODULE,
	FLAMEGRAPH_USER,
	FLAMEGRAPH_UNKNOWN,	/* code that nothing is known of */
	FLAMEGRAPH_NR_KINDS,
};

struct flamegraph_options {
	const char *title;
	const char *const *notes;	/* for the line below; NULL-terminated; may be NULL */
	const char *unit;		/* of the weights, plural: "samples"; "ns" shows as time */
	bool guest;			/* it is a guest's code: say so */
	bool inverted;			/* the root at the top */
};

struct flamegraph;

/* The strings are copied. */
int flamegraph_create(const struct flamegraph_options *options, struct flamegraph **ret);
void flamegraph_destroy(struct flamegraph *graph);

/*
 * Adds the next frame in preorder: the root (@depth 0) first, each frame before the frames it
 * called, those in the order in which they are shown. @weight counts what the frame and all it
 * called took. @name and @module may be any bytes; @module may be NULL. -EBADMSG when @depth does
 * not follow from the frame before.
 */
int flamegraph_add(struct flamegraph *graph, unsigned int depth, const char *name,
		   const char *module, enum flamegraph_kind kind, u64 weight);

/* Appends the page to @out. */
int flamegraph_write(const struct flamegraph *graph, struct strbuf *out);

#endif
