/* SPDX-License-Identifier: GPL-2.0-only */
/* The chains of one entry of a histogram, out of the tree of all. */
#include "analyze/hist-private.h"

/* Gathers one entry's chains. */
struct gather {
	const struct hist *hist;
	struct calltree *out;
	VEC(u32) path;
	VEC(u32) made;	/* nodes of the result on the path; HIST_NONE: not needed yet */
};

/* From the outermost frame to @node. */
static int add_inward(struct gather *gather, u32 node, u64 weight)
{
	const struct calltree_node *nodes = gather->hist->tree.nodes.data;
	u32 to = CALLTREE_ROOT;

	gather->path.nr = 0;
	for (; !hist_is_group(gather->hist, node); node = nodes[node].parent)
		if (vec_push(&gather->path, nodes[node].frame))
			return -ENOMEM;
	while (gather->path.nr && to != CALLTREE_NONE)
		to = calltree_child(gather->out, to, gather->path.data[--gather->path.nr]);
	if (to == CALLTREE_NONE)
		return -ENOMEM;
	gather->out->nodes.data[to].self += weight;
	return 0;
}

/* From @node to the outermost frame. */
static int add_outward(struct gather *gather, u32 node, u64 weight)
{
	const struct calltree_node *nodes = gather->hist->tree.nodes.data;
	u32 to = CALLTREE_ROOT;

	for (; !hist_is_group(gather->hist, node) && to != CALLTREE_NONE; node = nodes[node].parent)
		to = calltree_child(gather->out, to, nodes[node].frame);
	if (to == CALLTREE_NONE)
		return -ENOMEM;
	gather->out->nodes.data[to].self += weight;
	return 0;
}

/* Makes the nodes of the path that are missing, and adds @weight to the last. */
static int add_to_path(struct gather *gather, u64 weight)
{
	size_t i = gather->path.nr;
	u32 node;

	while (i > 0 && gather->made.data[i - 1] == HIST_NONE)
		i--;
	node = i ? gather->made.data[i - 1] : CALLTREE_ROOT;
	for (; i < gather->path.nr; i++) {
		node = calltree_child(gather->out, node, gather->path.data[i]);
		if (node == CALLTREE_NONE)
			return -ENOMEM;
		gather->made.data[i] = node;
	}
	gather->out->nodes.data[node].self += weight;
	return 0;
}

/*
 * @top and all below it, without the samples whose own address has @key. Branches that hold no
 * others do not appear at all.
 */
static int add_below(struct gather *gather, u32 top, u32 key)
{
	const struct hist *hist = gather->hist;
	const struct calltree_node *nodes = hist->tree.nodes.data;
	unsigned int depth = 1;

	for (u32 n = top; n != CALLTREE_NONE; n = calltree_next(&hist->tree, n, &depth)) {
		u64 weight = nodes[n].self - hist->nodes[n].minus;

		/* calltree_next() has left what is below @top. */
		if (n != top && (int)depth < 2)
			break;
		gather->path.nr = gather->made.nr = depth - 1;
		if (vec_push(&gather->path, nodes[n].frame) || vec_push(&gather->made, HIST_NONE))
			return -ENOMEM;
		if (hist_key_of_node(hist, n) == key)
			weight -= hist->nodes[n].own;
		if (weight && add_to_path(gather, weight))
			return -ENOMEM;
	}
	return 0;
}

static int gather_node(struct gather *gather, const struct hist_entry *entry, u32 node)
{
	const struct hist *hist = gather->hist;
	const struct hist_node *info = &hist->nodes[node];
	int err = 0;

	if (!hist->options.caller) {
		u64 weight = hist->options.children ? info->innermost - info->minus : info->own;

		return weight ? add_outward(gather, node, weight) : 0;
	}
	if (hist->options.children && info->above == HIST_NONE)
		err = add_below(gather, node, entry->key);
	if (!err && info->own)
		err = add_inward(gather, node, info->own);
	return err;
}

static int gather_odd(struct gather *gather, const struct hist_odd *odd)
{
	if (hist_is_group(gather->hist, odd->node))
		return 0;
	if (gather->hist->options.caller)
		return add_inward(gather, odd->node, odd->period);
	return add_outward(gather, odd->node, odd->period);
}

/*
 * The chains of odd samples belong to the entry whole, though the entry's key may come in them
 * too. Where their weight would be found a second time it is set off, or taken back with @off
 * false.
 */
static void set_off_odds(struct hist *hist, const struct hist_entry *entry, bool off)
{
	const struct calltree_node *nodes = hist->tree.nodes.data;

	for (u32 i = entry->first_odd; i != HIST_NONE; i = hist->odds.data[i].next) {
		const struct hist_odd *odd = &hist->odds.data[i];
		u32 node = odd->node;

		if (!hist_passes_through(hist, node, entry->key))
			continue;
		while (!hist->options.caller && hist_key_of_node(hist, node) != entry->key)
			node = nodes[node].parent;
		hist->nodes[node].minus += off ? odd->period : -odd->period;
	}
}

int hist_chains(struct hist *hist, const struct hist_entry *entry, struct calltree *tree)
{
	struct gather gather = { .hist = hist, .out = tree };
	int err = 0;

	calltree_clear(tree);
	set_off_odds(hist, entry, true);
	for (u32 n = entry->first_node; n != HIST_NONE && !err; n = hist->nodes[n].next)
		err = gather_node(&gather, entry, n);
	for (u32 i = entry->first_odd; i != HIST_NONE && !err; i = hist->odds.data[i].next)
		err = gather_odd(&gather, &hist->odds.data[i]);
	set_off_odds(hist, entry, false);
	vec_deinit(&gather.path);
	vec_deinit(&gather.made);
	calltree_sum(tree);
	return err;
}
