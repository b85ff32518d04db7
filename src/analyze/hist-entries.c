/* SPDX-License-Identifier: GPL-2.0-only */
/* The entries of a histogram: which nodes of the tree belong to each, and their sums. */
#include <string.h>

#include "analyze/hist-private.h"
#include "base/hashmap.h"

/* Builds entries while it walks down the tree. */
struct scan {
	struct hist *hist;
	struct hashmap entries;	/* group, key -> index + 1 */
	u32 *nearest;		/* for each key its innermost node on the path, or HIST_NONE */
	VEC(u32) path;
};

static struct hist_entry *find_entry(struct scan *scan, u32 group, u32 key)
{
	struct hist *hist = scan->hist;
	struct hist_entry entry = {
		.group = group,
		.key = key,
		.first_row = HIST_NONE,
		.first_node = HIST_NONE,
		.first_odd = HIST_NONE,
	};
	u64 *value = hashmap_put(&scan->entries, (u64)group << 32 | key, NULL);

	if (!value)
		return NULL;
	if (!*value) {
		if (vec_push(&hist->entries, entry))
			return NULL;
		*value = hist->entries.nr;
	}
	return &hist->entries.data[*value - 1];
}

static void leave_nodes(struct scan *scan, size_t depth)
{
	while (scan->path.nr > depth) {
		u32 node = scan->path.data[--scan->path.nr];

		scan->nearest[hist_key_of_node(scan->hist, node)] = scan->hist->nodes[node].above;
	}
}

/* Adds the node to its entry. @depth: frames from the group to @node. */
static int enter_node(struct scan *scan, u32 group, u32 node, unsigned int depth)
{
	struct hist *hist = scan->hist;
	struct hist_node *info = &hist->nodes[node];
	u32 key = hist_key_of_node(hist, node);
	struct hist_entry *entry;

	if (!hist->options.children && !info->own)
		return 0;
	entry = find_entry(scan, group, key);
	if (!entry)
		return -ENOMEM;
	info->next = entry->first_node;
	entry->first_node = node;
	entry->self += info->own;
	entry->first_row = MIN(entry->first_row,
			       hist->options.children ? info->first_row : info->first_own);
	if (info->own || !hist->options.caller)
		entry->longest = MAX(entry->longest, depth);
	if (info->above != HIST_NONE)
		return 0;
	entry->total += hist->tree.nodes.data[node].total;
	if (hist->options.caller)
		entry->longest = MAX(entry->longest, info->longest - depth + 1);
	return 0;
}

/* Goes down to @node, which is @depth frames below its group. */
static int step_to(struct scan *scan, u32 node, unsigned int depth)
{
	struct hist *hist = scan->hist;
	struct hist_node *info = &hist->nodes[node];
	u32 key = hist_key_of_node(hist, node);
	u64 weight = hist->tree.nodes.data[node].total;

	leave_nodes(scan, depth - 1);
	if (vec_push(&scan->path, node))
		return -ENOMEM;
	info->above = scan->nearest[key];
	info->innermost = weight;
	if (info->above != HIST_NONE)
		hist->nodes[info->above].innermost -= weight;
	scan->nearest[key] = node;
	return 0;
}

static int enter_nodes(struct scan *scan)
{
	struct hist *hist = scan->hist;
	unsigned int depth = 0;
	u32 group = HIST_NONE;
	u32 n = CALLTREE_ROOT;

	while ((n = calltree_next(&hist->tree, n, &depth)) != CALLTREE_NONE) {
		if (depth == 1) {
			leave_nodes(scan, 0);
			group = hist->tree.nodes.data[n].frame & ~HIST_GROUP_FRAME;
		} else if (step_to(scan, n, depth - 1) || enter_node(scan, group, n, depth - 1)) {
			return -ENOMEM;
		}
	}
	return 0;
}

static u32 group_of_node(const struct hist *hist, u32 node)
{
	while (!hist_is_group(hist, node))
		node = hist->tree.nodes.data[node].parent;
	return hist->tree.nodes.data[node].frame & ~HIST_GROUP_FRAME;
}

static int enter_odds(struct scan *scan)
{
	struct hist *hist = scan->hist;

	for (size_t i = 0; i < hist->odds.nr; i++) {
		struct hist_odd *odd = &hist->odds.data[i];
		u32 key = hist->keys[odd->frame];
		struct hist_entry *entry = find_entry(scan, group_of_node(hist, odd->node), key);

		if (!entry)
			return -ENOMEM;
		odd->next = entry->first_odd;
		entry->first_odd = i;
		entry->self += odd->period;
		entry->first_row = MIN(entry->first_row, odd->row);
		entry->longest = MAX(entry->longest, calltree_depth(&hist->tree, odd->node) - 1);
		if (!hist_passes_through(hist, odd->node, key))
			entry->total += odd->period;
	}
	return 0;
}

int hist_make_entries(struct hist *hist)
{
	struct scan scan = { .hist = hist, .nearest = malloc((hist->nr_keys + 1) * sizeof(u32)) };
	int err = scan.nearest ? 0 : -ENOMEM;

	if (!err)
		memset(scan.nearest, 0xff, (hist->nr_keys + 1) * sizeof(u32));
	if (!err)
		err = enter_nodes(&scan);
	if (!err)
		err = enter_odds(&scan);
	hashmap_deinit(&scan.entries);
	vec_deinit(&scan.path);
	free(scan.nearest);
	return err;
}
