/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Drawing call graphs as perf does. Where nothing branches off and nothing ends, frames follow
 * each other in one *run*, one below the other; a run has one weight. Runs that are too light are
 * left out with all below them.
 */
#include "output/callgraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

#define MARGIN 12
#define MAX_LABEL 1023		/* perf cuts names here */

/* The runs below a node that are heavy enough, heaviest first. */
struct runs {
	VEC(u32) first;		/* node of the first frame of each */
};

/* Where on the page a run is drawn. */
struct place {
	int depth;
	u32 pipes;		/* bit i: a line goes down in column i; as perf, modulo 32 */
	int margin;
	u64 total;		/* that percentages refer to */
};

int callgraph_init(struct callgraph *graph, const struct profile *profile, struct hist *hist,
		   const struct report_options *options, struct outbuf *out)
{
	*graph = (struct callgraph){
		.profile = profile, .hist = hist, .options = options, .out = out,
	};
	return calltree_init(&graph->tree);
}

void callgraph_deinit(struct callgraph *graph)
{
	calltree_deinit(&graph->tree);
}

static const struct calltree_node *node_at(const struct callgraph *graph, u32 node)
{
	return &graph->tree.nodes.data[node];
}

static bool fractal(const struct callgraph *graph)
{
	return graph->options->graph == REPORT_GRAPH_FRACTAL;
}

/* Whether @node is the last of its run. */
static bool ends_run(const struct callgraph *graph, u32 node)
{
	const struct calltree_node *n = node_at(graph, node);

	return n->self || n->child == CALLTREE_NONE ||
	       node_at(graph, n->child)->sibling != CALLTREE_NONE;
}

static u32 last_of_run(const struct callgraph *graph, u32 node)
{
	while (!ends_run(graph, node))
		node = node_at(graph, node)->child;
	return node;
}

static int compare_runs(const void *x, const void *y, void *arg)
{
	const struct callgraph *graph = arg;
	const struct calltree_node *a = node_at(graph, *(const u32 *)x);
	const struct calltree_node *b = node_at(graph, *(const u32 *)y);

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return hist_compare_frames(graph->hist, a->frame, b->frame);
}

static int find_runs(const struct callgraph *graph, u32 node, u64 min_weight, struct runs *runs)
{
	u32 child = node_at(graph, node)->child;

	for (; child != CALLTREE_NONE; child = node_at(graph, child)->sibling) {
		if (node_at(graph, child)->total < min_weight)
			continue;
		if (vec_push(&runs->first, child))
			return -ENOMEM;
	}
	if (runs->first.nr > 1)
		qsort_r(runs->first.data, runs->first.nr, sizeof(u32), compare_runs,
			(void *)graph);
	return 0;
}

/* The least weight that is shown below a node; @below: the weight of all below it. */
static u64 min_weight(const struct callgraph *graph, u64 below)
{
	double share = graph->options->graph_percent / 100.0;

	if (fractal(graph))
		return ceil(below * share);
	return hist_period(graph->hist) * share;
}

static void write_margin(const struct callgraph *graph, int margin)
{
	outbuf_add_repeated(graph->out, ' ', MARGIN + margin);
}

static void write_label(const struct callgraph *graph, u32 frame)
{
	const char *symbol = profile_frame_symbol(graph->profile, frame);
	char text[MAX_LABEL + 1];

	if (!symbol) {
		outbuf_addf(graph->out, "%#llx",
			    (unsigned long long)graph->profile->frames.data[frame].addr);
		return;
	}
	outbuf_add(graph->out, text, escape_terminal(symbol, text, sizeof(text)));
}

static void write_weight(const struct callgraph *graph, u64 weight, u64 total)
{
	if (graph->options->periods)
		outbuf_add_u64(graph->out, weight, 0, ' ');
	else
		outbuf_addf(graph->out, "%.2f%%", total ? weight * 100.0 / total : 0.0);
}

static bool has_pipe(u32 pipes, int column)
{
	return pipes >> (column & 31) & 1;
}

static void write_separator(const struct callgraph *graph, const struct place *place)
{
	write_margin(graph, place->margin);
	for (int i = 0; i < place->depth; i++)
		outbuf_adds(graph->out, has_pipe(place->pipes, i) ? "|          " : "           ");
	outbuf_addc(graph->out, '\n');
}

/* The columns before a frame; @weighed: the last one holds the run's weight. */
static void write_columns(const struct callgraph *graph, const struct place *place, bool weighed,
			  u64 weight)
{
	write_margin(graph, place->margin);
	for (int i = 0; i < place->depth; i++) {
		outbuf_addc(graph->out, has_pipe(place->pipes, i) ? '|' : ' ');
		if (weighed && i == place->depth - 1) {
			outbuf_adds(graph->out, "--");
			write_weight(graph, weight, place->total);
			outbuf_adds(graph->out, "--");
		} else {
			outbuf_adds(graph->out, "          ");
		}
	}
}

static void write_run(const struct callgraph *graph, u32 first, const struct place *place)
{
	for (u32 n = first;; n = node_at(graph, n)->child) {
		write_columns(graph, place, n == first, node_at(graph, n)->total);
		write_label(graph, node_at(graph, n)->frame);
		outbuf_addc(graph->out, '\n');
		if (ends_run(graph, n))
			break;
	}
}

static int write_runs(const struct callgraph *graph, u32 node, struct place place, bool *written);

static int write_below(const struct callgraph *graph, u32 first, struct place place)
{
	u32 last = last_of_run(graph, first);
	const struct calltree_node *n = node_at(graph, last);
	bool written;

	if (fractal(graph))
		place.total = n->total - n->self;
	place.pipes |= 1u << (place.depth & 31);
	place.depth++;
	return write_runs(graph, last, place, &written);
}

/* The weight of what was left out, where percentages are of the parent. */
static void write_rest(const struct callgraph *graph, struct place place, u64 rest)
{
	place.pipes &= ~(1u << ((place.depth - 1) & 31));
	write_columns(graph, &place, true, rest);
	outbuf_adds(graph->out, "[...]\n");
}

/* Draws the runs below @node. */
static int write_runs(const struct callgraph *graph, u32 node, struct place place, bool *written)
{
	const struct calltree_node *above = node_at(graph, node);
	struct place inner = place;
	struct runs runs = { 0 };
	u64 rest = place.total;
	int err = find_runs(graph, node, min_weight(graph, above->total - above->self), &runs);

	*written = false;
	for (size_t i = 0; i < runs.first.nr && !err; i++) {
		u32 first = runs.first.data[i];

		rest -= node_at(graph, first)->total;
		/* The line of this column ends at its last run. */
		if (i + 1 == runs.first.nr && !(fractal(graph) && rest))
			inner.pipes &= ~(1u << ((place.depth - 1) & 31));
		write_separator(graph, &place);
		write_run(graph, first, &inner);
		err = write_below(graph, first, inner);
		*written = true;
		if (i + 1 == graph->options->print_limit)
			break;
	}
	vec_deinit(&runs.first);
	if (!err && fractal(graph) && rest && rest != place.total) {
		write_rest(graph, inner, rest);
		*written = true;
	}
	return err;
}

/* A single run with all of the entry's weight needs no percentage: it stands below the entry. */
static void write_only_run(const struct callgraph *graph, u32 first, struct place *place,
			   bool *written)
{
	const struct report_options *options = graph->options;
	/* Where entries are functions, the first frame is the entry itself. */
	bool skip = !options->default_keys && options->keys[0] == HIST_KEY_SYMBOL;
	u32 printed = 0;

	for (u32 n = first;; n = node_at(graph, n)->child) {
		if (skip) {
			skip = false;
		} else {
			if (!*written) {
				write_margin(graph, place->margin);
				outbuf_adds(graph->out, "|\n");
			}
			write_margin(graph, place->margin);
			if (!*written) {
				outbuf_adds(graph->out, "---");
				place->margin += 3;
			}
			*written = true;
			write_label(graph, node_at(graph, n)->frame);
			outbuf_addc(graph->out, '\n');
			if (++printed == options->print_limit)
				break;
		}
		if (ends_run(graph, n))
			break;
	}
}

static int write_graph(const struct callgraph *graph, const struct hist_entry *entry)
{
	struct place place = { .depth = 1, .pipes = 1, .total = hist_period(graph->hist) };
	const struct calltree_node *root = node_at(graph, CALLTREE_ROOT);
	struct runs runs = { 0 };
	bool single = false, below = false;
	u32 from = CALLTREE_ROOT;
	int err = find_runs(graph, CALLTREE_ROOT, min_weight(graph, root->total), &runs);

	if (!err && runs.first.nr == 1 &&
	    node_at(graph, runs.first.data[0])->total == entry->total) {
		write_only_run(graph, runs.first.data[0], &place, &single);
		from = last_of_run(graph, runs.first.data[0]);
	}
	vec_deinit(&runs.first);
	if (err)
		return err;
	if (fractal(graph))
		place.total = entry->total;
	err = write_runs(graph, from, place, &below);
	if (!err && (single || below))
		outbuf_addc(graph->out, '\n');
	return err;
}

/* What is further from the root first, then by the frames where the paths part. */
static int compare_paths(const struct callgraph *graph, u32 a, u32 b)
{
	unsigned int depth_a = calltree_depth(&graph->tree, a);
	unsigned int depth_b = calltree_depth(&graph->tree, b);
	u32 x = a, y = b;

	for (; depth_a > depth_b; depth_a--)
		x = node_at(graph, x)->parent;
	for (; depth_b > depth_a; depth_b--)
		y = node_at(graph, y)->parent;
	if (x == y)
		return x == b ? -1 : 1;
	while (node_at(graph, x)->parent != node_at(graph, y)->parent) {
		x = node_at(graph, x)->parent;
		y = node_at(graph, y)->parent;
	}
	return hist_compare_frames(graph->hist, node_at(graph, x)->frame,
				   node_at(graph, y)->frame);
}

/* Nodes where chains end, heaviest first. */
static int compare_ends(const void *x, const void *y, void *arg)
{
	const struct callgraph *graph = arg;
	u32 a = *(const u32 *)x, b = *(const u32 *)y;

	if (node_at(graph, a)->self != node_at(graph, b)->self)
		return node_at(graph, a)->self < node_at(graph, b)->self ? 1 : -1;
	return compare_paths(graph, a, b);
}

static void write_path(const struct callgraph *graph, u32 node, bool folded)
{
	u32 parent = node_at(graph, node)->parent;

	if (parent != CALLTREE_ROOT)
		write_path(graph, parent, folded);
	if (!folded)
		outbuf_add_repeated(graph->out, ' ', 16);
	else if (parent != CALLTREE_ROOT)
		outbuf_addc(graph->out, ';');
	write_label(graph, node_at(graph, node)->frame);
	if (!folded)
		outbuf_addc(graph->out, '\n');
}

static void write_end(const struct callgraph *graph, u32 node)
{
	bool folded = graph->options->graph == REPORT_GRAPH_FOLDED;

	if (!folded)
		outbuf_add_repeated(graph->out, ' ', 11);
	write_weight(graph, folded ? node_at(graph, node)->self : node_at(graph, node)->total,
		     hist_period(graph->hist));
	outbuf_addc(graph->out, folded ? ' ' : '\n');
	write_path(graph, node, folded);
	outbuf_addc(graph->out, '\n');
}

static int write_flat(const struct callgraph *graph)
{
	u64 min = min_weight(graph, 0);
	struct runs ends = { 0 };
	int err = 0;

	for (u32 n = 1; n < graph->tree.nodes.nr && !err; n++)
		if (node_at(graph, n)->self && node_at(graph, n)->self >= min)
			err = vec_push(&ends.first, n);
	if (!err && ends.first.nr)
		qsort_r(ends.first.data, ends.first.nr, sizeof(u32), compare_ends, (void *)graph);
	for (size_t i = 0; i < ends.first.nr && !err; i++) {
		write_end(graph, ends.first.data[i]);
		if (i + 1 == graph->options->print_limit)
			break;
	}
	vec_deinit(&ends.first);
	return err;
}

int callgraph_write(struct callgraph *graph, const struct hist_entry *entry)
{
	bool drawn = graph->options->graph == REPORT_GRAPH || fractal(graph);
	int err;

	if (graph->options->graph == REPORT_GRAPH_NONE)
		return 0;
	/* Nothing of it can be heavy enough: the tree need not be made. */
	if (!fractal(graph) && entry->total < min_weight(graph, 0))
		return 0;
	err = hist_chains(graph->hist, entry, &graph->tree);
	if (err)
		return err;
	return drawn ? write_graph(graph, entry) : write_flat(graph);
}
