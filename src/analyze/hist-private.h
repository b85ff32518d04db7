/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of a histogram share. */
#ifndef ANALYZE_HIST_PRIVATE_H
#define ANALYZE_HIST_PRIVATE_H

#include "analyze/hist.h"

#define HIST_NONE UINT32_MAX
#define HIST_GROUP_FRAME PROFILE_FRAME_COMM	/* | index of the group: no frame of code */

struct hist_group {
	u32 comm, thread, cpu;
};

/* Samples whose own address has another key than the last frame of their chain, or no chain. */
struct hist_odd {
	u32 node;	/* where the chain ends; the group's node without chain */
	u32 frame;
	u32 row;
	u32 next;	/* of the same entry */
	u64 period;
};

struct hist_node {
	u64 own;	/* of the node's weight: samples whose own address has the node's key */
	u64 innermost;	/* weight below it that is not below a further node of its key */
	u64 minus;	/* of its weight, what the entry at hand must not count here */
	u32 first_row;	/* that passes through it */
	u32 first_own;	/* first row of .own */
	u32 longest;	/* chain that passes through it, frames */
	u32 next;	/* node of the same entry */
	u32 above;	/* nearest node above it with the same key, or HIST_NONE */
};

struct hist {
	const struct profile *profile;
	struct hist_options options;
	u64 period;
	struct calltree tree;
	struct hist_node *nodes;
	VEC(struct hist_odd) odds;
	VEC(struct hist_group) groups;
	VEC(struct hist_entry) entries;
	u32 *keys;		/* of each frame */
	u32 nr_keys;
	u32 *dso_names;		/* of each object, the first object of that short name */
};

static inline bool hist_has_key(const struct hist *hist, enum hist_key key)
{
	for (unsigned int i = 0; i < hist->options.nr_keys; i++)
		if (hist->options.keys[i] == key)
			return true;
	return false;
}

static inline const struct profile_frame *hist_frame(const struct hist *hist, u32 frame)
{
	return &hist->profile->frames.data[frame];
}

/* Whether the node is a group's, not a frame's. */
static inline bool hist_is_group(const struct hist *hist, u32 node)
{
	return hist->tree.nodes.data[node].frame & HIST_GROUP_FRAME;
}

static inline u32 hist_key_of_node(const struct hist *hist, u32 node)
{
	return hist->keys[hist->tree.nodes.data[node].frame];
}

/* Whether @key comes on the way from @node to its group. */
static inline bool hist_passes_through(const struct hist *hist, u32 node, u32 key)
{
	for (; !hist_is_group(hist, node); node = hist->tree.nodes.data[node].parent)
		if (hist_key_of_node(hist, node) == key)
			return true;
	return false;
}

/* Fills .dso_names, .keys and .nr_keys. 0 or -ENOMEM, as all of these. */
int hist_make_keys(struct hist *hist);

/* Then .groups, .tree, .nodes and .odds. */
int hist_make_tree(struct hist *hist);

/* Then .entries, in no order and without what describes them. */
int hist_make_entries(struct hist *hist);

/* Then describes and orders the entries. */
void hist_finish_entries(struct hist *hist);

#endif
