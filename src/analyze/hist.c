/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adding up rows. The rows of the event become one call tree whose top level is the groups: what
 * the keys that do not depend on the frame tell apart (command, thread, CPU). The other keys make
 * one number, the key, of each frame. An entry is a group and a key; its nodes are those nodes of
 * the group's tree whose frame has the key.
 */
#include "analyze/hist.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/hashmap.h"

#define NONE UINT32_MAX
#define GROUP_FRAME PROFILE_FRAME_COMM	/* | index of the group: no frame of code */

struct group {
	u32 comm, thread, cpu;
};

/* Samples whose own address has another key than the last frame of their chain, or no chain. */
struct odd {
	u32 node;	/* where the chain ends; the group's node without chain */
	u32 frame;
	u32 row;
	u32 next;	/* of the same entry */
	u64 period;
};

struct node_info {
	u64 own;	/* of the node's weight: samples whose own address has the node's key */
	u64 innermost;	/* weight below it that is not below a further node of its key */
	u64 minus;	/* of its weight, what the entry at hand must not count here */
	u32 first_row;	/* that passes through it */
	u32 first_own;	/* first row of .own */
	u32 longest;	/* chain that passes through it, frames */
	u32 next;	/* node of the same entry */
	u32 above;	/* nearest node above it with the same key, or NONE */
};

struct hist {
	const struct profile *profile;
	struct hist_options options;
	u64 period;
	struct calltree tree;
	struct node_info *nodes;
	VEC(struct odd) odds;
	VEC(struct group) groups;
	VEC(struct hist_entry) entries;
	u32 *keys;		/* of each frame */
	u32 nr_keys;
	u32 *dso_names;		/* of each object, the first object of that short name */
};

static bool has_key(const struct hist *hist, enum hist_key key)
{
	for (unsigned int i = 0; i < hist->options.nr_keys; i++)
		if (hist->options.keys[i] == key)
			return true;
	return false;
}

static const struct profile_frame *frame_at(const struct hist *hist, u32 frame)
{
	return &hist->profile->frames.data[frame];
}

static int name_dsos(struct hist *hist)
{
	const struct resolver *resolver = hist->profile->resolver;
	u32 nr = resolver_nr_dsos(resolver);
	struct hashmap first = HASHMAP_INIT;

	hist->dso_names = malloc((nr + 1) * sizeof(u32));
	if (!hist->dso_names)
		return -ENOMEM;
	for (u32 i = 0; i < nr; i++) {
		const char *name = resolver_dso_short_name(resolver, i);
		u64 hash = hash_bytes(name, strlen(name));
		u64 *value = hashmap_put(&first, hash, NULL);

		if (!value) {
			hashmap_deinit(&first);
			return -ENOMEM;
		}
		if (*value && strcmp(name, resolver_dso_short_name(resolver, *value - 1)))
			*value = 0;
		if (!*value)
			*value = i + 1;
		hist->dso_names[i] = *value - 1;
	}
	hashmap_deinit(&first);
	return 0;
}

static u32 dso_name(const struct hist *hist, u32 dso)
{
	return dso == RESOLVER_NONE ? NONE : hist->dso_names[dso];
}

static const char *symbol_name(const struct hist *hist, u32 frame)
{
	const char *name = profile_frame_symbol(hist->profile, frame);

	return name ? name : "";
}

/* Whether perf makes one entry of the two when it sorts by function. */
static bool same_function(const struct hist *hist, u32 a, u32 b)
{
	const struct profile_frame *x = frame_at(hist, a), *y = frame_at(hist, b);
	bool known = x->symbol != RESOLVER_NONE;

	if (x->addr != y->addr || known != (y->symbol != RESOLVER_NONE))
		return false;
	if (!known && !has_key(hist, HIST_KEY_DSO))
		return true;
	if (dso_name(hist, x->dso) != dso_name(hist, y->dso))
		return false;
	return !known || x->symbol == y->symbol ||
	       !strcmp(symbol_name(hist, a), symbol_name(hist, b));
}

/* The key of frame @i; @first finds the first frame of a function again. */
static int function_key(struct hist *hist, u32 i, struct hashmap *first, u32 *ret)
{
	u64 hash = frame_at(hist, i)->addr;

	for (;; hash = hash_u64(hash)) {
		u64 *value = hashmap_put(first, hash, NULL);

		if (!value)
			return -ENOMEM;
		if (!*value) {
			*value = i + 1;
			*ret = hist->nr_keys++;
			return 0;
		}
		if (same_function(hist, i, *value - 1)) {
			*ret = hist->keys[*value - 1];
			return 0;
		}
		/* Zero is where this walk would end. */
		if (!hash)
			hash = 1;
	}
}

static int make_function_keys(struct hist *hist)
{
	struct hashmap first = HASHMAP_INIT;
	int err = 0;

	for (u32 i = 0; i < hist->profile->frames.nr && !err; i++)
		err = function_key(hist, i, &first, &hist->keys[i]);
	hashmap_deinit(&first);
	return err;
}

static int make_keys(struct hist *hist)
{
	size_t nr = hist->profile->frames.nr;
	int err = name_dsos(hist);

	hist->keys = calloc(nr + 1, sizeof(u32));
	if (err || !hist->keys)
		return -ENOMEM;
	if (has_key(hist, HIST_KEY_SYMBOL))
		return make_function_keys(hist);
	hist->nr_keys = 1;
	if (!has_key(hist, HIST_KEY_DSO))
		return 0;
	hist->nr_keys = resolver_nr_dsos(hist->profile->resolver) + 1;
	for (size_t i = 0; i < nr; i++) {
		u32 name = dso_name(hist, frame_at(hist, i)->dso);

		hist->keys[i] = name == NONE ? hist->nr_keys - 1 : name;
	}
	return 0;
}

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
	struct group group = { row->comm, row->thread, row->cpu };
	u32 tid = hist->profile->threads.data[row->thread].tid, pair;
	int err = intern_pair(threads, has_key(hist, HIST_KEY_COMM) ? row->comm : 0,
			      has_key(hist, HIST_KEY_PID) ? tid : 0, &pair);

	if (!err)
		err = intern_pair(groups, pair, has_key(hist, HIST_KEY_CPU) ? row->cpu : 0, ret);
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
	u32 *group;	/* for which .node holds; NONE: for none */
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
	u32 top = calltree_child(&hist->tree, CALLTREE_ROOT, GROUP_FRAME | group);
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

static bool is_group(const struct hist *hist, u32 node)
{
	return hist->tree.nodes.data[node].frame & GROUP_FRAME;
}

static u32 key_of_node(const struct hist *hist, u32 node)
{
	return hist->keys[hist->tree.nodes.data[node].frame];
}

static int weigh_row(struct hist *hist, u32 row, u32 node)
{
	const struct profile_row *r = &hist->profile->rows.data[row];
	struct node_info *info = &hist->nodes[node];

	hist->tree.nodes.data[node].self += r->period;
	info->first_row = MIN(info->first_row, row);
	if (!is_group(hist, node) && hist->keys[r->self] == key_of_node(hist, node)) {
		info->own += r->period;
		info->first_own = MIN(info->first_own, row);
		return 0;
	}
	return vec_push(&hist->odds, (struct odd){
		.node = node, .frame = r->self, .row = row, .next = NONE, .period = r->period,
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
		hist->nodes[i].first_row = hist->nodes[i].first_own = NONE;
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
		if (depth > 1 && hist->nodes[n].first_row != NONE)
			hist->nodes[n].longest = depth - 1;
	for (size_t i = hist->tree.nodes.nr - 1; i > 0; i--) {
		struct node_info *above = &hist->nodes[nodes[i].parent];

		above->first_row = MIN(above->first_row, hist->nodes[i].first_row);
		above->longest = MAX(above->longest, hist->nodes[i].longest);
	}
}

/* Builds entries while it walks down the tree. */
struct scan {
	struct hist *hist;
	struct hashmap entries;	/* group, key -> index + 1 */
	u32 *nearest;		/* for each key the innermost node of it on the path, or NONE */
	VEC(u32) path;
};

static struct hist_entry *find_entry(struct scan *scan, u32 group, u32 key)
{
	struct hist *hist = scan->hist;
	struct hist_entry entry = {
		.group = group,
		.key = key,
		.first_row = NONE,
		.first_node = NONE,
		.first_odd = NONE,
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

		scan->nearest[key_of_node(scan->hist, node)] = scan->hist->nodes[node].above;
	}
}

/* Adds the node to its entry. @depth: frames from the group to @node. */
static int enter_node(struct scan *scan, u32 group, u32 node, unsigned int depth)
{
	struct hist *hist = scan->hist;
	struct node_info *info = &hist->nodes[node];
	u32 key = key_of_node(hist, node);
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
	if (info->above != NONE)
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
	struct node_info *info = &hist->nodes[node];
	u32 key = key_of_node(hist, node);
	u64 weight = hist->tree.nodes.data[node].total;

	leave_nodes(scan, depth - 1);
	if (vec_push(&scan->path, node))
		return -ENOMEM;
	info->above = scan->nearest[key];
	info->innermost = weight;
	if (info->above != NONE)
		hist->nodes[info->above].innermost -= weight;
	scan->nearest[key] = node;
	return 0;
}

static int enter_nodes(struct scan *scan)
{
	struct hist *hist = scan->hist;
	unsigned int depth = 0;
	u32 group = NONE;
	u32 n = CALLTREE_ROOT;

	while ((n = calltree_next(&hist->tree, n, &depth)) != CALLTREE_NONE) {
		if (depth == 1) {
			leave_nodes(scan, 0);
			group = hist->tree.nodes.data[n].frame & ~GROUP_FRAME;
		} else if (step_to(scan, n, depth - 1) || enter_node(scan, group, n, depth - 1)) {
			return -ENOMEM;
		}
	}
	return 0;
}

static bool passes_through(const struct hist *hist, u32 node, u32 key)
{
	for (; !is_group(hist, node); node = hist->tree.nodes.data[node].parent)
		if (key_of_node(hist, node) == key)
			return true;
	return false;
}

static u32 group_of_node(const struct hist *hist, u32 node)
{
	while (!is_group(hist, node))
		node = hist->tree.nodes.data[node].parent;
	return hist->tree.nodes.data[node].frame & ~GROUP_FRAME;
}

static int enter_odds(struct scan *scan)
{
	struct hist *hist = scan->hist;

	for (size_t i = 0; i < hist->odds.nr; i++) {
		struct odd *odd = &hist->odds.data[i];
		u32 key = hist->keys[odd->frame];
		struct hist_entry *entry = find_entry(scan, group_of_node(hist, odd->node), key);

		if (!entry)
			return -ENOMEM;
		odd->next = entry->first_odd;
		entry->first_odd = i;
		entry->self += odd->period;
		entry->first_row = MIN(entry->first_row, odd->row);
		entry->longest = MAX(entry->longest, calltree_depth(&hist->tree, odd->node) - 1);
		if (!passes_through(hist, odd->node, key))
			entry->total += odd->period;
	}
	return 0;
}

static int scan_tree(struct hist *hist)
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
	if (frame_at(hist, frame)->dso == RESOLVER_NONE)
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
		if (frame_at(hist, nodes[node].frame)->dso != RESOLVER_NONE)
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
	const struct group *group = &hist->groups.data[entry->group];
	u32 node;

	entry->comm = has_key(hist, HIST_KEY_COMM) ? group->comm : row->comm;
	entry->thread = has_key(hist, HIST_KEY_PID) ? group->thread : row->thread;
	entry->cpu = has_key(hist, HIST_KEY_CPU) ? group->cpu : row->cpu;
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
	bool none_a = frame_at(hist, a)->dso == RESOLVER_NONE;
	bool none_b = frame_at(hist, b)->dso == RESOLVER_NONE;

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
		cmp = compare_u64(frame_at(hist, a->frame)->addr, frame_at(hist, b->frame)->addr);
	return cmp ? cmp : compare_u64(a->first_row, b->first_row);
}

static void finish_entries(struct hist *hist)
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

static int build(struct hist *hist)
{
	size_t nr = hist->profile->rows.nr + 1;
	_cleanup_free_ u32 *group_of_row = malloc(nr * sizeof(u32));
	_cleanup_free_ u32 *node_of_row = malloc(nr * sizeof(u32));
	_cleanup_free_ u32 *order = NULL;
	int err = group_of_row && node_of_row ? make_keys(hist) : -ENOMEM;

	if (!err)
		err = group_rows(hist, group_of_row);
	if (!err)
		order = order_rows(hist, group_of_row);
	if (!order)
		return -ENOMEM;
	err = graft_rows(hist, group_of_row, order, node_of_row);
	if (!err)
		err = weigh_rows(hist, node_of_row);
	if (err)
		return err;
	sum_up_infos(hist);
	err = scan_tree(hist);
	if (!err)
		finish_entries(hist);
	return err;
}

int hist_create(const struct profile *profile, const struct hist_options *options,
		struct hist **ret)
{
	_cleanup_(hist_destroy) struct hist *hist = calloc(1, sizeof(*hist));
	int err;

	if (!hist)
		return -ENOMEM;
	hist->profile = profile;
	hist->options = *options;
	hist->period = profile->events.data[options->event].period;
	err = calltree_init(&hist->tree);
	if (!err)
		err = build(hist);
	if (!err)
		*ret = TAKE_PTR(hist);
	return err;
}

void hist_destroy(struct hist *hist)
{
	if (!hist)
		return;
	calltree_deinit(&hist->tree);
	free(hist->nodes);
	free(hist->keys);
	free(hist->dso_names);
	vec_deinit(&hist->odds);
	vec_deinit(&hist->groups);
	vec_deinit(&hist->entries);
	free(hist);
}

size_t hist_nr(const struct hist *hist)
{
	return hist->entries.nr;
}

const struct hist_entry *hist_entry(const struct hist *hist, size_t i)
{
	return &hist->entries.data[i];
}

u64 hist_period(const struct hist *hist)
{
	return hist->period;
}

/* Gathers one entry's chains. */
struct gather {
	const struct hist *hist;
	struct calltree *out;
	VEC(u32) path;
	VEC(u32) made;	/* nodes of the result on the path; NONE: not needed yet */
};

/* From the outermost frame to @node. */
static int add_inward(struct gather *gather, u32 node, u64 weight)
{
	const struct calltree_node *nodes = gather->hist->tree.nodes.data;
	u32 to = CALLTREE_ROOT;

	gather->path.nr = 0;
	for (; !is_group(gather->hist, node); node = nodes[node].parent)
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

	for (; !is_group(gather->hist, node) && to != CALLTREE_NONE; node = nodes[node].parent)
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

	while (i > 0 && gather->made.data[i - 1] == NONE)
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
		if (vec_push(&gather->path, nodes[n].frame) || vec_push(&gather->made, NONE))
			return -ENOMEM;
		if (key_of_node(hist, n) == key)
			weight -= hist->nodes[n].own;
		if (weight && add_to_path(gather, weight))
			return -ENOMEM;
	}
	return 0;
}

static int gather_node(struct gather *gather, const struct hist_entry *entry, u32 node)
{
	const struct hist *hist = gather->hist;
	const struct node_info *info = &hist->nodes[node];
	int err = 0;

	if (!hist->options.caller) {
		u64 weight = hist->options.children ? info->innermost - info->minus : info->own;

		return weight ? add_outward(gather, node, weight) : 0;
	}
	if (hist->options.children && info->above == NONE)
		err = add_below(gather, node, entry->key);
	if (!err && info->own)
		err = add_inward(gather, node, info->own);
	return err;
}

static int gather_odd(struct gather *gather, const struct odd *odd)
{
	if (is_group(gather->hist, odd->node))
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

	for (u32 i = entry->first_odd; i != NONE; i = hist->odds.data[i].next) {
		const struct odd *odd = &hist->odds.data[i];
		u32 node = odd->node;

		if (!passes_through(hist, node, entry->key))
			continue;
		while (!hist->options.caller && key_of_node(hist, node) != entry->key)
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
	for (u32 n = entry->first_node; n != NONE && !err; n = hist->nodes[n].next)
		err = gather_node(&gather, entry, n);
	for (u32 i = entry->first_odd; i != NONE && !err; i = hist->odds.data[i].next)
		err = gather_odd(&gather, &hist->odds.data[i]);
	set_off_odds(hist, entry, false);
	vec_deinit(&gather.path);
	vec_deinit(&gather.made);
	calltree_sum(tree);
	return err;
}

int hist_compare_frames(const struct hist *hist, u32 a, u32 b)
{
	const struct profile_frame *x = frame_at(hist, a), *y = frame_at(hist, b);

	if (x->dso != y->dso)
		return compare_u64(y->dso + 1, x->dso + 1);
	return compare_u64(y->addr, x->addr);
}
