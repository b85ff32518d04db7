/* SPDX-License-Identifier: GPL-2.0-only */
/* The rows of an event as one tree of chains, below the groups that they fall into. */
#include <string.h>

#include "analyze/hist-private.h"
#include "base/hashmap.h"

/* Two numbers as one that is dense. */
static int intern_pair(struct hashmap *map, u32 a, u32 b, u32 *ret)
{
	bool new;
	u64 *value = hashmap_put(map, (u64)a << 32 | b, &new);

	if (!value)
		return -ENOMEM;
	if (new)
		*value = map->nr - 1;
	*ret = *value;
	return 0;
}

/* Finds each row's group; groups are made as they come. */
static int group_row(struct hist *hist, const struct profile_row *row, struct hashmap *threads,
		     struct hashmap *groups, u32 *ret)
{
	struct hist_group group = { row->comm, row->thread, row->cpu };
	u32 tid = hist->profile->threads.data[row->thread].tid, pair;
	int err = intern_pair(threads, hist_has_key(hist, HIST_KEY_COMM) ? row->comm : 0,
			      hist_has_key(hist, HIST_KEY_PID) ? tid : 0, &pair);

	if (!err)
		err = intern_pair(groups, pair, hist_has_key(hist, HIST_KEY_CPU) ? row->cpu : 0,
				  ret);
	if (!err && *ret == hist->groups.nr)
		err = vec_push(&hist->groups, group);
	return err;
}

static int group_rows(struct hist *hist, u32 *group_of_row)
{
	const struct profile *profile = hist->profile;
	struct hashmap threads = HASHMAP_INIT, groups = HASHMAP_INIT;
	int err = 0;

	for (size_t i = 0; i < profile->rows.nr && !err; i++)
		err = group_row(hist, &profile->rows.data[i], &threads, &groups, &group_of_row[i]);
	hashmap_deinit(&threads);
	hashmap_deinit(&groups);
	return err;
}

/* For each node of the profile's chains, its copy in the group at hand. */
struct copies {
	u32 *node;
	u32 *group;	/* for which .node holds; HIST_NONE: for none */
	VEC(u32) path;
};

/* The copy of the profile's chain @leaf below the group's node. */
static u32 copy_chain(struct hist *hist, struct copies *copies, u32 group, u32 top, u32 leaf)
{
	const struct calltree_node *from = hist->profile->chains.nodes.data;
	u32 node = top, n = leaf;

	copies->path.nr = 0;
	for (; n != CALLTREE_ROOT && copies->group[n] != group; n = from[n].parent)
		if (vec_push(&copies->path, n))
			return CALLTREE_NONE;
	if (n != CALLTREE_ROOT)
		node = copies->node[n];
	while (copies->path.nr && node != CALLTREE_NONE) {
		n = copies->path.data[--copies->path.nr];
		node = calltree_child(&hist->tree, node, from[n].frame);
		copies->node[n] = node;
		copies->group[n] = group;
	}
	return node;
}

/* The rows' order by group, rows of one group as they were: a counting sort. */
static u32 *order_rows(const struct hist *hist, const u32 *group_of_row)
{
	size_t nr = hist->profile->rows.nr;
	u32 *start = calloc(hist->groups.nr + 2, sizeof(*start));
	u32 *order = malloc((nr + 1) * sizeof(*order));

	if (start && order) {
		for (size_t i = 0; i < nr; i++)
			start[group_of_row[i] + 2]++;
		for (size_t g = 2; g < hist->groups.nr + 2; g++)
			start[g] += start[g - 1];
		for (size_t i = 0; i < nr; i++)
			order[start[group_of_row[i] + 1]++] = i;
	} else {
		free(order);
		order = NULL;
	}
	free(start);
	return order;
}

static int graft_row(struct hist *hist, struct copies *copies, u32 group, u32 row, u32 *ret_node)
{
	u32 top = calltree_child(&hist->tree, CALLTREE_ROOT, HIST_GROUP_FRAME | group);
	u32 leaf = hist->profile->rows.data[row].leaf;

	*ret_node = CALLTREE_NONE;
	if (top != CALLTREE_NONE)
		*ret_node = copy_chain(hist, copies, group, top, leaf);
	return *ret_node == CALLTREE_NONE ? -ENOMEM : 0;
}

/* Builds the tree; *@ret_nodes (of rows) says where each row's chain ends. */
static int graft_rows(struct hist *hist, const u32 *group_of_row, const u32 *order,
		      u32 *node_of_row)
{
	const struct profile *profile = hist->profile;
	size_t nr = profile->chains.nodes.nr;
	struct copies copies = {
		.node = malloc(nr * sizeof(u32)),
		.group = malloc(nr * sizeof(u32)),
	};
	int err = copies.node && copies.group ? 0 : -ENOMEM;

	if (!err)
		memset(copies.group, 0xff, nr * sizeof(u32));
	for (size_t i = 0; i < profile->rows.nr && !err; i++) {
		u32 row = order[i];

		if (profile->rows.data[row].event != hist->options.event)
			continue;
		err = graft_row(hist, &copies, group_of_row[row], row, &node_of_row[row]);
	}
	free(copies.node);
	free(copies.group);
	vec_deinit(&copies.path);
	return err;
}

static int weigh_row(struct hist *hist, u32 row, u32 node)
{
	const struct profile_row *r = &hist->profile->rows.data[row];
	struct hist_node *info = &hist->nodes[node];

	hist->tree.nodes.data[node].self += r->period;
	info->first_row = MIN(info->first_row, row);
	if (!hist_is_group(hist, node) && hist->keys[r->self] == hist_key_of_node(hist, node)) {
		info->own += r->period;
		info->first_own = MIN(info->first_own, row);
		return 0;
	}
	return vec_push(&hist->odds, (struct hist_odd){
		.node = node, .frame = r->self, .row = row, .next = HIST_NONE, .period = r->period,
	});
}

static int weigh_rows(struct hist *hist, const u32 *node_of_row)
{
	const struct profile *profile = hist->profile;
	size_t nr = hist->tree.nodes.nr;

	hist->nodes = calloc(nr, sizeof(*hist->nodes));
	if (!hist->nodes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		hist->nodes[i].first_row = hist->nodes[i].first_own = HIST_NONE;
	for (size_t i = 0; i < profile->rows.nr; i++) {
		if (profile->rows.data[i].event != hist->options.event)
			continue;
		if (weigh_row(hist, i, node_of_row[i]))
			return -ENOMEM;
	}
	calltree_sum(&hist->tree);
	return 0;
}

/* First rows and longest chains from the nodes where chains end up to the groups. */
static void sum_up_infos(struct hist *hist)
{
	const struct calltree_node *nodes = hist->tree.nodes.data;
	unsigned int depth = 0;

	for (u32 n = CALLTREE_ROOT; n != CALLTREE_NONE; n = calltree_next(&hist->tree, n, &depth))
		if (depth > 1 && hist->nodes[n].first_row != HIST_NONE)
			hist->nodes[n].longest = depth - 1;
	for (size_t i = hist->tree.nodes.nr - 1; i > 0; i--) {
		struct hist_node *above = &hist->nodes[nodes[i].parent];

		above->first_row = MIN(above->first_row, hist->nodes[i].first_row);
		above->longest = MAX(above->longest, hist->nodes[i].longest);
	}
}

int hist_make_tree(struct hist *hist)
{
	size_t nr = hist->profile->rows.nr + 1;
	_cleanup_free_ u32 *group_of_row = malloc(nr * sizeof(u32));
	_cleanup_free_ u32 *node_of_row = malloc(nr * sizeof(u32));
	_cleanup_free_ u32 *order = NULL;
	int err = group_of_row && node_of_row ? 0 : -ENOMEM;

	if (!err)
		err = group_rows(hist, group_of_row);
	if (!err)
		order = order_rows(hist, group_of_row);
	if (!order)
		return -ENOMEM;
	err = graft_rows(hist, group_of_row, order, node_of_row);
	if (!err)
		err = weigh_rows(hist, node_of_row);
	if (!err)
		sum_up_infos(hist);
	return err;
}
