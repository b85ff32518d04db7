/* SPDX-License-Identifier: GPL-2.0-only */
/* How the entries of a histogram are shown: as what, and in which order. */
#include <linux/perf_event.h>
#include <string.h>

#include "analyze/hist-private.h"

static char level_of_mode(u8 cpumode)
{
	switch (cpumode) {
	case PERF_RECORD_MISC_KERNEL:
		return 'k';
	case PERF_RECORD_MISC_USER:
		return '.';
	default:
		return 'H';
	}
}

/* An address that nothing is known of has, in perf, the level of the frame shown before it. */
static char level_of_frame(const struct hist *hist, u32 frame, char before)
{
	if (hist_frame(hist, frame)->dso == RESOLVER_NONE)
		return before;
	return profile_frame_is_kernel(hist->profile, frame) ? 'k' : '.';
}

/* The outermost node of the key on the way from the profile's root to @leaf. */
static u32 find_from_outside(const struct hist *hist, u32 leaf, u32 key)
{
	const struct calltree_node *nodes = hist->profile->chains.nodes.data;
	u32 found = leaf;

	for (u32 n = leaf; n != CALLTREE_ROOT; n = nodes[n].parent)
		if (hist->keys[nodes[n].frame] == key)
			found = n;
	return found;
}

/* Frames further out are shown before @node. */
static char level_from_outside(const struct hist *hist, u32 node, char level)
{
	const struct calltree_node *nodes = hist->profile->chains.nodes.data;

	for (; node != CALLTREE_ROOT; node = nodes[node].parent)
		if (hist_frame(hist, nodes[node].frame)->dso != RESOLVER_NONE)
			return level_of_frame(hist, nodes[node].frame, level);
	return level;
}

static u32 find_from_inside(const struct hist *hist, u32 leaf, u32 key, char *level)
{
	const struct calltree_node *nodes = hist->profile->chains.nodes.data;

	for (u32 n = leaf; n != CALLTREE_ROOT; n = nodes[n].parent) {
		*level = level_of_frame(hist, nodes[n].frame, *level);
		if (hist->keys[nodes[n].frame] == key)
			return n;
	}
	return leaf;
}

/* What the entry's first sample makes it look like. */
static void describe_entry(const struct hist *hist, struct hist_entry *entry)
{
	const struct profile_row *row = &hist->profile->rows.data[entry->first_row];
	const struct hist_group *group = &hist->groups.data[entry->group];
	u32 node;

	entry->comm = hist_has_key(hist, HIST_KEY_COMM) ? group->comm : row->comm;
	entry->thread = hist_has_key(hist, HIST_KEY_PID) ? group->thread : row->thread;
	entry->cpu = hist_has_key(hist, HIST_KEY_CPU) ? group->cpu : row->cpu;
	entry->frame = row->self;
	entry->level = level_of_mode(row->cpumode);
	if (hist->keys[row->self] == entry->key)
		return;
	if (hist->options.caller) {
		node = find_from_outside(hist, row->leaf, entry->key);
		entry->level = level_from_outside(hist, node, entry->level);
	} else {
		node = find_from_inside(hist, row->leaf, entry->key, &entry->level);
	}
	entry->frame = hist->profile->chains.nodes.data[node].frame;
}

static int compare_u64(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

/* Known names before unknown ones. */
static int compare_names(const char *a, const char *b)
{
	if (!a || !b)
		return !a - !b;
	return strcmp(a, b);
}

static int compare_dsos(const struct hist *hist, u32 a, u32 b)
{
	bool none_a = hist_frame(hist, a)->dso == RESOLVER_NONE;
	bool none_b = hist_frame(hist, b)->dso == RESOLVER_NONE;

	return compare_names(none_a ? NULL : profile_frame_dso(hist->profile, a),
			     none_b ? NULL : profile_frame_dso(hist->profile, b));
}

static int compare_by_key(const struct hist *hist, enum hist_key key, const struct hist_entry *a,
			  const struct hist_entry *b)
{
	const struct profile *profile = hist->profile;

	switch (key) {
	case HIST_KEY_COMM:
		return strcmp(resolver_comm_name(profile->resolver, a->comm),
			      resolver_comm_name(profile->resolver, b->comm));
	case HIST_KEY_PID:
		return compare_u64(profile->threads.data[a->thread].tid,
				   profile->threads.data[b->thread].tid);
	case HIST_KEY_CPU:
		return compare_u64(a->cpu, b->cpu);
	case HIST_KEY_DSO:
		return compare_dsos(hist, a->frame, b->frame);
	case HIST_KEY_SYMBOL:
		return compare_names(profile_frame_symbol(profile, a->frame),
				     profile_frame_symbol(profile, b->frame));
	}
	return 0;
}

/*
 * The caller goes above the callee of the same weight. perf does this within a thread only, which
 * makes no order of more than two entries: among light ones its output is in another order.
 */
static int compare_longest(const struct hist *hist, const struct hist_entry *a,
			   const struct hist_entry *b)
{
	if (!hist->options.children || !hist->options.chains)
		return 0;
	if (hist->options.caller)
		return compare_u64(b->longest, a->longest);
	return compare_u64(a->longest, b->longest);
}

static int compare_entries(const void *x, const void *y, void *arg)
{
	const struct hist_entry *a = x, *b = y;
	const struct hist *hist = arg;
	int cmp = compare_u64(b->total, a->total);

	if (!cmp)
		cmp = compare_longest(hist, a, b);
	if (!cmp)
		cmp = compare_u64(b->self, a->self);
	for (unsigned int i = 0; !cmp && i < hist->options.nr_keys; i++)
		cmp = compare_by_key(hist, hist->options.keys[i], a, b);
	if (!cmp)
		cmp = compare_dsos(hist, a->frame, b->frame);
	if (!cmp)
		cmp = compare_u64(hist_frame(hist, a->frame)->addr,
				  hist_frame(hist, b->frame)->addr);
	return cmp ? cmp : compare_u64(a->first_row, b->first_row);
}

void hist_finish_entries(struct hist *hist)
{
	vec_for_each(&hist->entries, entry) {
		if (!hist->options.children)
			entry->total = entry->self;
		describe_entry(hist, entry);
	}
	if (hist->entries.nr)
		qsort_r(hist->entries.data, hist->entries.nr, sizeof(*hist->entries.data),
			compare_entries, hist);
}

int hist_compare_frames(const struct hist *hist, u32 a, u32 b)
{
	const struct profile_frame *x = hist_frame(hist, a), *y = hist_frame(hist, b);

	if (x->dso != y->dso)
		return compare_u64(y->dso + 1, x->dso + 1);
	return compare_u64(y->addr, x->addr);
}
