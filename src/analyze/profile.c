/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording read into memory as distinct chains and rows. */
#include "analyze/profile.h"

#include <linux/perf_event.h>
#include <string.h>

#include "analyze/chaincache.h"
#include "analyze/epochs.h"
#include "base/hashmap.h"

#define CHAIN_CACHE_BYTES (32UL << 20)

/* What a chain came to. */
struct known_chain {
	u32 leaf;
	u32 self;
};

struct loader {
	struct profile *profile;
	const struct profile_options *options;
	struct chaincache cache;
	VEC(struct known_chain) known;
	VEC(u32) frame_of_symbol;	/* frame + 1; 0: not yet */
	struct hashmap frame_of_addr;	/* hash of (dso, address) -> frame + 1 */
	struct hashmap thread_of_ids;	/* pid, tid -> index into profile->threads */
	struct epochs epochs;
	u32 *row_slots;			/* hash of a row's key to its index + 1 */
	size_t nr_row_slots;
	VEC(u32) places;
	VEC(u64) ips;
	u64 changes;			/* of anything */
	u32 last_thread;
	u64 last_thread_changes;
};

static void loader_deinit(struct loader *loader)
{
	chaincache_deinit(&loader->cache);
	vec_deinit(&loader->known);
	vec_deinit(&loader->frame_of_symbol);
	hashmap_deinit(&loader->frame_of_addr);
	hashmap_deinit(&loader->thread_of_ids);
	epochs_deinit(&loader->epochs);
	vec_deinit(&loader->places);
	vec_deinit(&loader->ips);
	free(loader->row_slots);
}

static int frame_of_symbol(struct loader *loader, const struct resolver_place *place, u32 *ret)
{
	struct profile *profile = loader->profile;
	struct profile_frame frame = {
		.dso = place->dso,
		.symbol = place->symbol,
		.addr = place->addr - place->offset,
	};

	while (loader->frame_of_symbol.nr <= place->symbol)
		if (vec_push(&loader->frame_of_symbol, 0))
			return -ENOMEM;
	*ret = loader->frame_of_symbol.data[place->symbol];
	if (!*ret) {
		if (vec_push(&profile->frames, frame))
			return -ENOMEM;
		*ret = loader->frame_of_symbol.data[place->symbol] = profile->frames.nr;
	}
	--*ret;
	return 0;
}

/* Addresses in no function: one frame each. */
static int frame_of_addr(struct loader *loader, u32 dso, u64 addr, u32 *ret)
{
	struct profile *profile = loader->profile;
	struct profile_frame frame = { .dso = dso, .symbol = RESOLVER_NONE, .addr = addr };
	u64 key = hash_combine(addr, dso);

	for (;; key++) {
		u64 *value = hashmap_put(&loader->frame_of_addr, key, NULL);
		const struct profile_frame *known;

		if (!value)
			return -ENOMEM;
		if (!*value) {
			if (vec_push(&profile->frames, frame))
				return -ENOMEM;
			*value = profile->frames.nr;
			*ret = *value - 1;
			return 0;
		}
		known = &profile->frames.data[*value - 1];
		if (known->dso == dso && known->addr == addr) {
			*ret = *value - 1;
			return 0;
		}
	}
}

/* @addr: what tells addresses without symbol apart. */
static int frame_of_place(struct loader *loader, u32 place, u64 addr, u32 *ret)
{
	const struct resolver_place *p = resolver_place_at(loader->profile->resolver, place);

	if (p->symbol != RESOLVER_NONE)
		return frame_of_symbol(loader, p, ret);
	return frame_of_addr(loader, p->dso, addr, ret);
}

/* The chain's node in the tree. */
static int add_chain(struct loader *loader, const struct perfdata_record *sample, u32 *ret_leaf)
{
	size_t nr = resolver_chain_max(loader->profile->resolver, sample), first = 0;
	size_t limit = loader->options->max_stack;
	u32 node = CALLTREE_ROOT;

	if (vec_reserve(&loader->places, nr) || vec_reserve(&loader->ips, nr))
		return -ENOMEM;
	nr = resolver_chain(loader->profile->resolver, sample, nr, loader->places.data,
			    loader->ips.data);
	if (limit && nr > limit) {
		first = loader->options->keep_outermost ? nr - limit : 0;
		nr = first + limit;
	}
	while (nr-- > first) {
		u32 frame;
		int err = frame_of_place(loader, loader->places.data[nr], loader->ips.data[nr],
					 &frame);

		if (err)
			return err;
		node = calltree_child(&loader->profile->chains, node, frame);
		if (node == CALLTREE_NONE)
			return -ENOMEM;
	}
	*ret_leaf = node;
	return 0;
}

static int resolve_chain(struct loader *loader, const struct perfdata_record *sample,
			 struct known_chain *ret)
{
	struct resolver *resolver = loader->profile->resolver;
	struct known_chain chain = { .leaf = CALLTREE_ROOT };
	struct resolver_space *space;
	u32 place;
	int err;

	if (sample->sample.nr_ips) {
		err = add_chain(loader, sample, &chain.leaf);
		if (err)
			return err;
	}
	space = resolver_space(resolver, sample->pid, sample->cpumode);
	place = resolver_place(resolver, space, sample->sample.ip);
	/*
	 * perf compares a sample's own address as the object has it, but the addresses of its
	 * chain as they were in the process.
	 */
	err = frame_of_place(loader, place, resolver_place_at(resolver, place)->addr, &chain.self);
	if (!err)
		*ret = chain;
	return err;
}

static int know_chain(struct loader *loader, const struct perfdata_record *sample,
		      struct known_chain *ret)
{
	const u64 *ips = sample->sample.ips;
	size_t nr = sample->sample.nr_ips;
	struct chain_tag tag = epochs_tag(&loader->epochs, sample);
	const u32 *known;
	u64 hash;
	int err;

	hash = chaincache_hash(&loader->cache, &tag, ips, nr);
	known = chaincache_find(&loader->cache, hash, &tag, ips, nr);
	if (known) {
		*ret = loader->known.data[*known];
		return 0;
	}
	err = resolve_chain(loader, sample, ret);
	if (err)
		return err;
	err = chaincache_add(&loader->cache, hash, &tag, ips, nr, loader->known.nr);
	if (err == -ENOSPC) {
		chaincache_clear(&loader->cache);
		loader->known.nr = 0;
		err = chaincache_add(&loader->cache, hash, &tag, ips, nr, 0);
		if (err == -ENOSPC)
			return 0;
	}
	return err ? err : vec_push(&loader->known, *ret);
}

static u64 row_hash(const struct profile_row *row)
{
	u64 h = hash_combine((u64)row->leaf << 32 | row->self, (u64)row->comm << 32 | row->thread);

	return hash_combine(h, (u64)row->cpu << 32 | row->event);
}

/* The part of a row that tells it from others. */
static struct profile_row row_key(const struct loader *loader, const struct profile_row *row)
{
	struct profile_row key = *row;

	if (!(loader->options->details & PROFILE_DETAIL_THREAD))
		key.thread = 0;
	if (!(loader->options->details & PROFILE_DETAIL_CPU))
		key.cpu = 0;
	return key;
}

static bool same_row(const struct loader *loader, const struct profile_row *a,
		     const struct profile_row *b)
{
	unsigned int details = loader->options->details;

	return a->leaf == b->leaf && a->self == b->self && a->comm == b->comm &&
	       a->event == b->event &&
	       (!(details & PROFILE_DETAIL_THREAD) || a->thread == b->thread) &&
	       (!(details & PROFILE_DETAIL_CPU) || a->cpu == b->cpu);
}

static size_t find_row_slot(const struct loader *loader, const struct profile_row *row)
{
	struct profile_row key = row_key(loader, row);
	size_t mask = loader->nr_row_slots - 1, slot = row_hash(&key) & mask;

	while (loader->row_slots[slot] &&
	       !same_row(loader, &loader->profile->rows.data[loader->row_slots[slot] - 1], row))
		slot = (slot + 1) & mask;
	return slot;
}

static int grow_row_slots(struct loader *loader)
{
	const struct profile *profile = loader->profile;
	size_t nr = loader->nr_row_slots ? loader->nr_row_slots * 2 : 256;
	u32 *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(loader->row_slots);
	loader->row_slots = slots;
	loader->nr_row_slots = nr;
	for (size_t i = 0; i < profile->rows.nr; i++)
		slots[find_row_slot(loader, &profile->rows.data[i])] = i + 1;
	return 0;
}

static int add_to_row(struct loader *loader, const struct profile_row *row)
{
	struct profile *profile = loader->profile;
	struct profile_row *known;
	size_t slot;

	if (profile->rows.nr * 2 >= loader->nr_row_slots && grow_row_slots(loader))
		return -ENOMEM;
	slot = find_row_slot(loader, row);
	if (!loader->row_slots[slot]) {
		if (vec_push(&profile->rows, *row))
			return -ENOMEM;
		loader->row_slots[slot] = profile->rows.nr;
		return 0;
	}
	known = &profile->rows.data[loader->row_slots[slot] - 1];
	known->period += row->period;
	known->samples += row->samples;
	return 0;
}

static int find_thread(struct loader *loader, u32 pid, u32 tid, u32 *ret)
{
	struct profile *profile = loader->profile;
	struct profile_thread thread = { .pid = pid, .tid = tid, .comm = RESOLVER_NONE };
	bool new;
	u64 *index = hashmap_put(&loader->thread_of_ids, (u64)pid << 32 | tid, &new);

	if (!index)
		return -ENOMEM;
	if (new) {
		*index = profile->threads.nr;
		if (vec_push(&profile->threads, thread))
			return -ENOMEM;
	}
	*ret = *index;
	return 0;
}

/* Whether it is the thread asked for last, and its name cannot have changed since. */
static bool is_last_thread(const struct loader *loader, u32 pid, u32 tid)
{
	const struct profile_thread *last;

	if (!loader->profile->threads.nr || loader->last_thread_changes != loader->changes)
		return false;
	last = &loader->profile->threads.data[loader->last_thread];
	return last->pid == pid && last->tid == tid;
}

/* The thread with its command name up to date. */
static int know_thread(struct loader *loader, u32 pid, u32 tid, u32 *ret)
{
	struct profile *profile = loader->profile;
	u32 comm;
	int err;

	if (is_last_thread(loader, pid, tid)) {
		*ret = loader->last_thread;
		return 0;
	}
	err = find_thread(loader, pid, tid, ret);
	if (err)
		return err;
	comm = resolver_comm(profile->resolver, pid, tid);
	if (comm == RESOLVER_NONE)
		return -ENOMEM;
	profile->threads.data[*ret].comm = comm;
	loader->last_thread = *ret;
	loader->last_thread_changes = loader->changes;
	return 0;
}

static bool wanted(struct loader *loader, const struct perfdata_record *sample, u32 comm)
{
	const struct profile_options *options = loader->options;

	if (!options->filter)
		return true;
	return options->filter(sample, resolver_comm_name(loader->profile->resolver, comm),
			       options->filter_arg);
}

static int find_event(struct profile *profile, u32 attr, struct profile_event **ret)
{
	static const struct profile_event none;

	while (profile->events.nr <= attr)
		if (vec_push(&profile->events, none))
			return -ENOMEM;
	*ret = &profile->events.data[attr];
	return 0;
}

static int add_sample(struct loader *loader, const struct perfdata_record *sample)
{
	struct profile *profile = loader->profile;
	struct profile_row row = {
		.event = sample->attr,
		.cpu = sample->cpu,
		.cpumode = sample->cpumode,
		.period = sample->sample.period,
		.samples = 1,
	};
	struct profile_event *event;
	struct known_chain chain;
	int err = know_thread(loader, sample->pid, sample->tid, &row.thread);

	if (err)
		return err;
	row.comm = profile->threads.data[row.thread].comm;
	err = find_event(profile, sample->attr, &event);
	if (err)
		return err;
	event->samples++;
	event->period += row.period;
	if (!wanted(loader, sample, row.comm)) {
		profile->filtered++;
		return 0;
	}
	err = know_chain(loader, sample, &chain);
	if (err)
		return err;
	row.leaf = chain.leaf;
	row.self = chain.self;
	return add_to_row(loader, &row);
}

static int note_change(struct loader *loader, const struct perfdata_record *record)
{
	u32 thread;
	int err = resolver_record(loader->profile->resolver, record);

	if (!err)
		err = epochs_note(&loader->epochs, record);
	loader->changes++;
	if (err || record->kind != PERFDATA_COMM)
		return err;
	return know_thread(loader, record->pid, record->tid, &thread);
}

static int add_record(struct loader *loader, const struct perfdata_record *record)
{
	struct profile *profile = loader->profile;

	switch (record->kind) {
	case PERFDATA_SAMPLE:
		return add_sample(loader, record);
	case PERFDATA_LOST:
		if (record->type == PERF_RECORD_LOST)
			profile->lost_events += record->lost.lost;
		else
			profile->lost_samples += record->lost.lost;
		return 0;
	case PERFDATA_OTHER:
		profile->throttled += record->type == PERF_RECORD_THROTTLE;
		return 0;
	default:
		return note_change(loader, record);
	}
}

static int read_records(struct loader *loader)
{
	struct profile *profile = loader->profile;
	struct perfdata_record record;
	int n;

	while ((n = perfdata_reader_next(profile->reader, &record)) == 1) {
		int err = add_record(loader, &record);

		if (err)
			return err;
	}
	if (n == -ENODATA) {
		profile->truncated = true;
		return 0;
	}
	return n;
}

static int name_events(struct profile *profile)
{
	for (size_t i = 0; i < perfdata_reader_nr_attrs(profile->reader); i++) {
		struct profile_event *event;
		int err = find_event(profile, i, &event);

		if (err)
			return err;
		memcpy(event->name, perfdata_reader_attr(profile->reader, i)->name,
		       sizeof(event->name));
	}
	return 0;
}

static int load(struct loader *loader, const char *path, const char **ret_why)
{
	struct profile *profile = loader->profile;
	int err = perfdata_reader_open(path, &profile->reader, ret_why);

	if (err)
		return err;
	if (ret_why)
		*ret_why = NULL;
	err = resolver_create(&loader->options->resolver, &profile->resolver);
	if (!err)
		err = resolver_add_build_ids(profile->resolver, profile->reader);
	if (!err)
		err = calltree_init(&profile->chains);
	if (!err)
		err = chaincache_init(&loader->cache, CHAIN_CACHE_BYTES);
	if (!err)
		err = read_records(loader);
	return err ? err : name_events(profile);
}

int profile_load(const char *path, const struct profile_options *options, struct profile **ret,
		 const char **ret_why)
{
	_cleanup_(profile_destroy) struct profile *profile = calloc(1, sizeof(*profile));
	struct loader loader = { .profile = profile, .options = options };
	int err;

	if (!profile)
		return -ENOMEM;
	err = load(&loader, path, ret_why);
	loader_deinit(&loader);
	if (!err)
		*ret = TAKE_PTR(profile);
	return err;
}

void profile_destroy(struct profile *profile)
{
	if (!profile)
		return;
	calltree_deinit(&profile->chains);
	vec_deinit(&profile->events);
	vec_deinit(&profile->frames);
	vec_deinit(&profile->threads);
	vec_deinit(&profile->rows);
	resolver_destroy(profile->resolver);
	perfdata_reader_close(profile->reader);
	free(profile);
}

/* The chain of @row below @parent. */
static u32 graft(const struct profile *profile, const struct profile_row *row, u32 parent,
		 struct calltree *tree, u32 *path)
{
	const struct calltree_node *nodes = profile->chains.nodes.data;
	size_t depth = 0;

	if (row->leaf == CALLTREE_ROOT)
		return calltree_child(tree, parent, row->self);
	for (u32 n = row->leaf; n != CALLTREE_ROOT; n = nodes[n].parent)
		path[depth++] = nodes[n].frame;
	while (depth-- && parent != CALLTREE_NONE)
		parent = calltree_child(tree, parent, path[depth]);
	return parent;
}

static u32 group_node(const struct profile_row *row, enum profile_by by, struct calltree *tree)
{
	switch (by) {
	case PROFILE_BY_COMM:
		return calltree_child(tree, CALLTREE_ROOT, PROFILE_FRAME_COMM | row->comm);
	case PROFILE_BY_THREAD:
		return calltree_child(tree, CALLTREE_ROOT, PROFILE_FRAME_THREAD | row->thread);
	default:
		return CALLTREE_ROOT;
	}
}

static unsigned int max_depth(const struct calltree *tree)
{
	unsigned int depth = 0, max = 0;

	for (u32 n = CALLTREE_ROOT; n != CALLTREE_NONE; n = calltree_next(tree, n, &depth))
		max = MAX(max, depth);
	return max;
}

int profile_call_tree(const struct profile *profile, size_t event, enum profile_by by,
		      struct calltree *ret)
{
	_cleanup_free_ u32 *path = calloc(max_depth(&profile->chains) + 1, sizeof(*path));
	struct calltree tree;
	int err = calltree_init(&tree);

	if (err || !path) {
		if (!err)
			calltree_deinit(&tree);
		return -ENOMEM;
	}
	vec_for_each(&profile->rows, row) {
		u32 node;

		if (row->event != event)
			continue;
		node = group_node(row, by, &tree);
		if (node != CALLTREE_NONE)
			node = graft(profile, row, node, &tree, path);
		if (node == CALLTREE_NONE) {
			calltree_deinit(&tree);
			return -ENOMEM;
		}
		tree.nodes.data[node].self += row->period;
	}
	err = calltree_finish(&tree);
	if (err)
		calltree_deinit(&tree);
	else
		*ret = tree;
	return err;
}

const char *profile_frame_symbol(const struct profile *profile, u32 frame)
{
	u32 symbol = profile->frames.data[frame].symbol;

	return symbol == RESOLVER_NONE ? NULL : resolver_symbol_name(profile->resolver, symbol);
}

const char *profile_frame_dso(const struct profile *profile, u32 frame)
{
	u32 dso = profile->frames.data[frame].dso;

	return dso == RESOLVER_NONE ? "[unknown]" :
				      resolver_dso_short_name(profile->resolver, dso);
}

bool profile_frame_is_kernel(const struct profile *profile, u32 frame)
{
	u32 dso = profile->frames.data[frame].dso;

	return dso != RESOLVER_NONE && resolver_dso_is_kernel(profile->resolver, dso);
}

static void thread_label(const struct profile *profile, u32 index, struct strbuf *out)
{
	const struct profile_thread *thread = &profile->threads.data[index];

	strbuf_addf(out, "%s/%u", resolver_comm_name(profile->resolver, thread->comm),
		    thread->tid);
}

void profile_frame_label(const struct profile *profile, u32 frame, struct strbuf *out)
{
	const char *symbol;

	if ((frame & PROFILE_FRAME_THREAD) == PROFILE_FRAME_THREAD) {
		thread_label(profile, frame & ~PROFILE_FRAME_THREAD, out);
		return;
	}
	if (frame & PROFILE_FRAME_COMM) {
		strbuf_adds(out, resolver_comm_name(profile->resolver,
						    frame & ~PROFILE_FRAME_COMM));
		return;
	}
	symbol = profile_frame_symbol(profile, frame);
	if (symbol)
		strbuf_adds(out, symbol);
	else
		strbuf_addf(out, "%#llx", (unsigned long long)profile->frames.data[frame].addr);
}
