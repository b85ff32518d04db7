/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call trees: each node is a frame as called through the path that leads to it. A frame is any
 * number that its user gives a meaning to (see analyze/profile.h). Nodes live in one array and
 * are named by their index, which stays; the root is node 0 and stands for no frame.
 *
 *	node = CALLTREE_ROOT;
 *	for each frame of the chain, outermost first
 *		node = calltree_child(&tree, node, frame);
 *	tree.nodes.data[node].self += weight;
 *	…
 *	calltree_finish(&tree);
 *	for (u32 n = CALLTREE_ROOT; n != CALLTREE_NONE; n = calltree_next(&tree, n, &depth))
 *		show(depth, tree.nodes.data[n].frame, tree.nodes.data[n].total);
 */
#ifndef ANALYZE_TREE_H
#define ANALYZE_TREE_H

#include "base/vec.h"

#define CALLTREE_ROOT 0
#define CALLTREE_NONE UINT32_MAX

struct calltree_node {
	u32 parent;	/* CALLTREE_NONE for the root */
	u32 frame;
	u32 child;	/* first child, or CALLTREE_NONE */
	u32 sibling;	/* next child of the same parent, or CALLTREE_NONE */
	u64 self;	/* what ended here; the user adds it up */
	u64 total;	/* self and all below; set by calltree_finish() */
};

struct calltree {
	VEC(struct calltree_node) nodes;
	u32 *slots;		/* hash of (parent, frame) to the node's index; 0: free */
	size_t nr_slots;	/* a power of two */
};

int calltree_init(struct calltree *tree);
void calltree_deinit(struct calltree *tree);

/* Back to the root alone; keeps the memory for the next use. */
void calltree_clear(struct calltree *tree);

/* The child of @parent for @frame, made when it is new; CALLTREE_NONE when out of memory. */
u32 calltree_child(struct calltree *tree, u32 parent, u32 frame);

/* The child, or CALLTREE_NONE when there is none. */
u32 calltree_find(const struct calltree *tree, u32 parent, u32 frame);

/* Sums up the totals. A parent always has a smaller index than its children. */
void calltree_sum(struct calltree *tree);

/* calltree_sum(), then puts children in order: biggest first, equal ones as they were added. */
int calltree_finish(struct calltree *tree);

/*
 * Preorder: the node after @node, or CALLTREE_NONE after the last; *@depth (the root's is 0)
 * follows. calltree_skip() is the same without going below @node.
 */
u32 calltree_next(const struct calltree *tree, u32 node, unsigned int *depth);
u32 calltree_skip(const struct calltree *tree, u32 node, unsigned int *depth);

/* Frames from @node up to, but not with, the root. */
unsigned int calltree_depth(const struct calltree *tree, u32 node);

#endif
