/* SPDX-License-Identifier: GPL-2.0-only */
/* Call trees: an array of nodes and a hash table of their indexes. */
#include "analyze/tree.h"

#include <string.h>

#include "base/hashmap.h"

#define FIRST_SLOTS 64

static const struct calltree_node root_node = {
	.parent = CALLTREE_NONE,
	.frame = CALLTREE_NONE,
	.child = CALLTREE_NONE,
	.sibling = CALLTREE_NONE,
};

int calltree_init(struct calltree *tree)
{
	*tree = (struct calltree){ 0 };
	tree->slots = calloc(FIRST_SLOTS, sizeof(*tree->slots));
	if (!tree->slots)
		return -ENOMEM;
	tree->nr_slots = FIRST_SLOTS;
	if (vec_push(&tree->nodes, root_node)) {
		calltree_deinit(tree);
		return -ENOMEM;
	}
	return 0;
}

void calltree_deinit(struct calltree *tree)
{
	vec_deinit(&tree->nodes);
	free(tree->slots);
	*tree = (struct calltree){ 0 };
}

void calltree_clear(struct calltree *tree)
{
	/* The table of a big tree would make clearing each small one after it slow. */
	if (tree->nodes.nr < tree->nr_slots / 32)
		tree->nr_slots = MAX(tree->nr_slots / 4, FIRST_SLOTS);
	memset(tree->slots, 0, tree->nr_slots * sizeof(*tree->slots));
	tree->nodes.data[0] = root_node;
	tree->nodes.nr = 1;
}

static size_t first_slot(const struct calltree *tree, u32 parent, u32 frame)
{
	return hash_u64((u64)parent << 32 | frame) & (tree->nr_slots - 1);
}

static size_t find_slot(const struct calltree *tree, u32 parent, u32 frame)
{
	size_t slot = first_slot(tree, parent, frame);

	for (;;) {
		const struct calltree_node *node = &tree->nodes.data[tree->slots[slot]];

		if (!tree->slots[slot] || (node->frame == frame && node->parent == parent))
			return slot;
		slot = (slot + 1) & (tree->nr_slots - 1);
	}
}

static int grow(struct calltree *tree)
{
	size_t nr_slots = tree->nr_slots * 2;
	u32 *slots = calloc(nr_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(tree->slots);
	tree->slots = slots;
	tree->nr_slots = nr_slots;
	for (u32 i = 1; i < tree->nodes.nr; i++) {
		const struct calltree_node *node = &tree->nodes.data[i];

		slots[find_slot(tree, node->parent, node->frame)] = i;
	}
	return 0;
}

u32 calltree_find(const struct calltree *tree, u32 parent, u32 frame)
{
	u32 node = tree->slots[find_slot(tree, parent, frame)];

	return node ? node : CALLTREE_NONE;
}

u32 calltree_child(struct calltree *tree, u32 parent, u32 frame)
{
	struct calltree_node new = root_node;
	size_t slot = find_slot(tree, parent, frame);
	u32 node = tree->slots[slot];

	if (node)
		return node;
	if (tree->nodes.nr * 2 >= tree->nr_slots) {
		if (tree->nodes.nr == CALLTREE_NONE || grow(tree))
			return CALLTREE_NONE;
		slot = find_slot(tree, parent, frame);
	}
	node = tree->nodes.nr;
	new.parent = parent;
	new.frame = frame;
	new.sibling = tree->nodes.data[parent].child;
	if (vec_push(&tree->nodes, new))
		return CALLTREE_NONE;
	tree->nodes.data[parent].child = node;
	tree->slots[slot] = node;
	return node;
}

void calltree_sum(struct calltree *tree)
{
	struct calltree_node *nodes = tree->nodes.data;

	for (size_t i = 0; i < tree->nodes.nr; i++)
		nodes[i].total = nodes[i].self;
	for (size_t i = tree->nodes.nr - 1; i > 0; i--)
		nodes[nodes[i].parent].total += nodes[i].total;
}

struct order {
	VEC(u32) children;
};

static int compare_children(const void *a, const void *b, void *arg)
{
	const struct calltree_node *nodes = arg;
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	if (nodes[x].total != nodes[y].total)
		return nodes[x].total < nodes[y].total ? 1 : -1;
	return x < y ? -1 : 1;
}

static int sort_children(struct calltree *tree, struct calltree_node *parent, struct order *order)
{
	struct calltree_node *nodes = tree->nodes.data;
	u32 *link = &parent->child;

	order->children.nr = 0;
	for (u32 c = parent->child; c != CALLTREE_NONE; c = nodes[c].sibling)
		if (vec_push(&order->children, c))
			return -ENOMEM;
	if (order->children.nr < 2)
		return 0;
	qsort_r(order->children.data, order->children.nr, sizeof(u32), compare_children, nodes);
	vec_for_each(&order->children, child) {
		*link = *child;
		link = &nodes[*child].sibling;
	}
	*link = CALLTREE_NONE;
	return 0;
}

int calltree_finish(struct calltree *tree)
{
	struct order order = { 0 };
	int err = 0;

	calltree_sum(tree);
	for (size_t i = 0; i < tree->nodes.nr && !err; i++)
		err = sort_children(tree, &tree->nodes.data[i], &order);
	vec_deinit(&order.children);
	return err;
}

u32 calltree_skip(const struct calltree *tree, u32 node, unsigned int *depth)
{
	const struct calltree_node *nodes = tree->nodes.data;

	while (node != CALLTREE_NONE && nodes[node].sibling == CALLTREE_NONE) {
		node = nodes[node].parent;
		--*depth;
	}
	return node == CALLTREE_NONE ? CALLTREE_NONE : nodes[node].sibling;
}

u32 calltree_next(const struct calltree *tree, u32 node, unsigned int *depth)
{
	if (tree->nodes.data[node].child == CALLTREE_NONE)
		return calltree_skip(tree, node, depth);
	++*depth;
	return tree->nodes.data[node].child;
}

unsigned int calltree_depth(const struct calltree *tree, u32 node)
{
	unsigned int depth = 0;

	for (; node != CALLTREE_ROOT; node = tree->nodes.data[node].parent)
		depth++;
	return depth;
}
