/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mappings of a process, by tree or by list.
 *
 * Maple trees, lib/maple_tree.c of 6.1 (54a611b60590 "Maple Tree: add new data structure"): a node
 * is 256 bytes at a multiple of 256. A pointer to one has its type in bits 3 to 6, bit 1 says that
 * it is the root and that the root is a node, bit 2 that there are empty slots below. Slot i holds
 * what is for the keys from one past pivot i - 1 to pivot i; the last one goes to the node's own
 * end, whose pivot is then 0 or not there. Empty slots are NULL.
 */
#include "guest/vma.h"

#define MAX_DEPTH 12		/* 16 mappings a leaf, 10 children a node and more: 4 are usual */
#define MAX_NODES 32768
#define NODE_TYPE(enode) ((enode) >> 3 & 15)
#define ROOT_IS_NODE 2

struct walk {
	struct kread *k;
	const struct user_layout *layout;
	vma_fn *fn;
	void *ctx;
	unsigned int nr_nodes;
	unsigned int nr_vmas;
};

/* A node as it was read. */
struct node {
	u8 bytes[VMA_NODE_BYTES];
	u32 pivot, slot, slots;	/* offsets, and how many slots */
	bool leaf;
};

static u64 word(const struct node *node, u32 offset)
{
	u64 value;

	memcpy(&value, node->bytes + offset, sizeof(value));
	return value;
}

static int read_node(struct walk *walk, u64 enode, struct node *node)
{
	const struct user_layout *layout = walk->layout;
	u64 type = NODE_TYPE(enode);

	node->leaf = type == layout->maple_leaf;
	if (node->leaf || type == layout->maple_range) {
		node->pivot = layout->range_pivot;
		node->slot = layout->range_slot;
		node->slots = layout->range_slots;
	} else if (type == layout->maple_arange) {
		node->pivot = layout->arange_pivot;
		node->slot = layout->arange_slot;
		node->slots = layout->arange_slots;
	} else {
		return -EBADMSG;
	}
	if (node->slots > VMA_NODE_BYTES / 8 ||
	    node->pivot > VMA_NODE_BYTES - (node->slots - 1) * 8 ||
	    node->slot > VMA_NODE_BYTES - node->slots * 8)
		return -EOPNOTSUPP;
	if (++walk->nr_nodes > MAX_NODES)
		return -E2BIG;
	return kread(walk->k, enode & ~(VMA_NODE_BYTES - 1ULL), node->bytes, VMA_NODE_BYTES);
}

static int visit(struct walk *walk, u64 vma, u64 first, u64 last)
{
	if (++walk->nr_vmas > VMA_MAX)
		return -E2BIG;
	return walk->fn(walk->ctx, vma, first, last);
}

static int walk_node(struct walk *walk, u64 enode, u64 first, u64 last, unsigned int depth)
{
	struct node node;
	int err = depth < MAX_DEPTH ? read_node(walk, enode, &node) : -EBADMSG;
	u64 from = first;

	for (u32 i = 0; !err && i < node.slots; i++) {
		u64 entry = word(&node, node.slot + i * 8);
		u64 to = i + 1 < node.slots ? word(&node, node.pivot + i * 8) : last;

		if (i && !to)
			to = last;
		if (to < from || to > last)
			return -EBADMSG;
		if (!node.leaf)
			err = entry ? walk_node(walk, entry, from, to, depth + 1) : 0;
		else if (entry && !(entry & 3))		/* not one of the tree's own marks */
			err = visit(walk, entry, from, to);
		if (to == last)
			break;
		from = to + 1;
	}
	return err;
}

static int walk_list(struct walk *walk, u64 vma)
{
	int err = 0;

	while (vma && !err) {
		u64 next;

		err = kread_u64(walk->k, vma + walk->layout->vma_next, &next);
		if (!err)
			err = visit(walk, vma, 0, 0);
		vma = next;
	}
	return err;
}

int vma_for_each(struct kread *k, const struct user_layout *layout, const struct kobject *mm,
		 vma_fn *fn, void *ctx)
{
	struct walk walk = { .k = k, .layout = layout, .fn = fn, .ctx = ctx };
	u64 root;

	if (layout->mm_tree == LAYOUT_NONE)
		return walk_list(&walk, kobject_u64(mm, layout->mm_list));
	root = kobject_u64(mm, layout->mm_tree);
	if (!root)
		return 0;
	if ((root & 3) != ROOT_IS_NODE)
		return -EBADMSG;	/* one entry for the address 0 alone */
	return walk_node(&walk, root, 0, UINT64_MAX, 0);
}

int vma_read_root(struct kread *k, const struct user_layout *layout, const struct kobject *mm,
		  u8 ret[VMA_NODE_BYTES])
{
	u64 root = kobject_u64(mm, layout->mm_tree);

	if ((root & 3) != ROOT_IS_NODE)
		return -ENOENT;
	return kread(k, root & ~(VMA_NODE_BYTES - 1ULL), ret, VMA_NODE_BYTES);
}
