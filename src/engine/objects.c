/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a guest's processes have mapped. */
#include "engine/objects.h"

#include "base/hashmap.h"
#include "engine/object-load.h"

#define RETRY_NS 2000000000ULL	/* pages come into the guest's cache as they are used */
#define MAX_TRIES 4
#define MAX_PROBES 8		/* keys that collide */

/* No address of a guest's kernel. */
#define VDSO_32 1	/* of 32-bit programs, below 4 GiB */
#define VDSO_64 2

struct object {
	struct guest_file_key key;	/* .inode VDSO_32 or VDSO_64: not a file */
	struct build_id build_id;
	enum object_state state;
	struct cfi_table *table;	/* NULL: none */
	unsigned int tries;
	u64 next_try;			/* ns */
	bool named;			/* all its functions have names, not only exports */
	bool store_failed;
	bool waits;			/* the loader had no room for it, or has stopped */
	bool fetched;			/* servers were asked, or are being */
	struct job *loading, *fetching;	/* not owned; NULL: none */
};

/* Of an object, by a worker. It knows nothing of struct objects. */
struct job {
	struct worker_job base;
	struct object *object;		/* for who takes the job */
	bool rules_taken;		/* before the job was done */
	struct object_load load;
};

struct objects {
	struct objects_options options;
	struct worker_client *loader, *fetcher;	/* NULL: in place */
	struct hashmap by_key;		/* hash of a key to index + 1 of .all */
	VEC(struct object *) all;
	u64 seed;
	u64 table_bytes;
	VEC(struct job *) unasked;	/* owned: for servers, when .fetcher has room */
	bool full;			/* the loader had no room when it was last asked */
	bool no_servers;		/* no more are asked */
	bool stopped;			/* nothing more is loaded */
};

static int become_client(struct worker *worker, struct worker_client **ret)
{
	return worker ? worker_client_create(worker, OBJECTS_MAX_WAITING, ret) : 0;
}

int objects_create(const struct objects_options *options, struct objects **ret)
{
	_cleanup_(objects_destroy) struct objects *objects = calloc(1, sizeof(*objects));
	int err;

	if (!objects)
		return -ENOMEM;
	objects->options = *options;
	objects->seed = hash_new_seed();
	err = become_client(options->loader, &objects->loader);
	if (!err)
		err = become_client(options->fetcher, &objects->fetcher);
	if (err)
		return err;
	*ret = TAKE_PTR(objects);
	return 0;
}

static void object_destroy(struct object *object)
{
	cfi_table_destroy(object->table);
	free(object);
}

static void job_destroy(struct job *job)
{
	if (!job)
		return;
	object_load_deinit(&job->load);
	free(job);
}
DEFINE_CLEANUP(struct job *, job_destroy)

static void drop_job(struct worker_job *base)
{
	job_destroy(container_of(base, struct job, base));
}

static void run_job(struct worker_job *base)
{
	struct object_load *load = &container_of(base, struct job, base)->load;

	object_load_read(load);
	worker_job_let_go(base);
	object_load_finish(load);
}

static bool is_shown(const struct job *job)
{
	return atomic_load_explicit(&job->load.shown, memory_order_acquire);
}

static void stop_job(struct object *object, struct job **job)
{
	if (!*job)
		return;
	(*job)->load.stop = true;
	*job = NULL;
	object->waits = true;
}

void objects_stop_fetching(struct objects *objects)
{
	objects->no_servers = true;
	vec_for_each(&objects->all, object)
		if ((*object)->fetching)
			(*object)->fetching->load.stop = true;
}

void objects_stop_loading(struct objects *objects)
{
	vec_for_each(&objects->all, object) {
		stop_job(*object, &(*object)->loading);
		stop_job(*object, &(*object)->fetching);
	}
	/* The one may be reading the guest's memory; the other needs nothing of the guest's. */
	worker_client_destroy(TAKE_PTR(objects->loader));
	worker_client_leave(TAKE_PTR(objects->fetcher));
	vec_for_each(&objects->unasked, job)
		job_destroy(*job);
	vec_deinit(&objects->unasked);
	objects->stopped = true;
}

void objects_destroy(struct objects *objects)
{
	if (!objects)
		return;
	objects_stop_loading(objects);
	vec_for_each(&objects->all, object)
		object_destroy(*object);
	vec_deinit(&objects->all);
	hashmap_deinit(&objects->by_key);
	free(objects);
}

static u64 hash_key(const struct objects *objects, const struct guest_file_key *key)
{
	u64 words[] = { key->inode, key->ino, (u64)key->major << 32 | key->minor, key->generation };

	return hash_bytes_seeded(objects->seed, words, sizeof(words));
}

static const struct guest_mapped_file *mapped_file(const struct guest_process *process,
						   const struct guest_mapping *mapping)
{
	return &process->files.data[mapping->file];
}

static bool is_file(const struct guest_process *process, const struct guest_mapping *mapping)
{
	return mapping->kind == GUEST_MAPPING_FILE && mapping->file < process->files.nr &&
	       mapped_file(process, mapping)->regular;
}

static void read_build_id(const struct objects *objects, const struct guest_process *process,
			  const struct guest_mapping *mapping, struct build_id *ret)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	struct guest_file file;

	if (!is_file(process, mapping)) {
		if (!guest_vdso_image(objects->options.guest, process, &image))
			guest_image_build_id(image, ret);
	} else if (!guest_file_open(objects->options.guest, mapped_file(process, mapping), &file)) {
		guest_file_build_id(&file, ret);
	}
}

static struct object *add_object(struct objects *objects, const struct guest_file_key *key,
				 u64 *slot)
{
	struct object *object;

	if (objects->all.nr >= OBJECTS_MAX)
		return NULL;
	object = calloc(1, sizeof(*object));
	if (!object || vec_push(&objects->all, object)) {
		free(object);
		return NULL;
	}
	object->key = *key;
	*slot = objects->all.nr;
	return object;
}

struct object *objects_get(struct objects *objects, const struct guest_process *process,
			   const struct guest_mapping *mapping)
{
	struct guest_file_key key = { 0 };
	u64 hash;

	if (is_file(process, mapping))
		key = mapped_file(process, mapping)->key;
	else if (mapping->kind == GUEST_MAPPING_VDSO)
		key.inode = mapping->end.addr >> 32 ? VDSO_64 : VDSO_32;
	else
		return NULL;
	hash = hash_key(objects, &key);
	for (unsigned int i = 0; i < MAX_PROBES; i++) {
		bool full = objects->all.nr >= OBJECTS_MAX;
		u64 *slot = full ? hashmap_get(&objects->by_key, hash + i) :
				   hashmap_put(&objects->by_key, hash + i, NULL);
		struct object *object;

		if (!slot)
			return NULL;
		if (*slot && objects_same_key(&objects->all.data[*slot - 1]->key, &key))
			return objects->all.data[*slot - 1];
		if (*slot)
			continue;
		object = add_object(objects, &key, slot);
		if (object)
			read_build_id(objects, process, mapping, &object->build_id);
		return object;
	}
	return NULL;
}

size_t objects_nr(const struct objects *objects)
{
	return objects->all.nr;
}

const struct build_id *object_build_id(const struct object *object)
{
	return &object->build_id;
}

/* Takes @table over when there is room for it. */
static void set_table(struct objects *objects, struct object *object, struct cfi_table *table,
		      enum object_state state)
{
	size_t size = cfi_table_size(table);

	if (objects->table_bytes + size > OBJECTS_MAX_TABLES) {
		cfi_table_destroy(table);
		object->state = OBJECT_LIMIT;
		return;
	}
	if (object->table)
		objects->table_bytes -= cfi_table_size(object->table);
	cfi_table_destroy(object->table);
	objects->table_bytes += size;
	object->table = table;
	object->state = state;
}

/* What there was stays where nothing came of it. */
static void take_rules(struct objects *objects, struct object *object, struct job *job)
{
	struct object_load *load = &job->load;

	if (job->rules_taken)
		return;
	job->rules_taken = true;
	if (load->table)
		set_table(objects, object, TAKE_PTR(load->table), load->state);
	else if (!object->table)
		object->state = load->state;
}

static void take_result(struct objects *objects, struct object *object, struct job *job)
{
	const struct object_load *load = &job->load;

	take_rules(objects, object, job);
	if (!object->build_id.size)
		object->build_id = load->build_id;
	object->named |= load->named;
	object->store_failed |= load->store_failed;
}

/* For object_load.show. */
static void tell(struct object_load *load)
{
	worker_job_tell(&container_of(load, struct job, load)->base);
}

static struct job *make_job(const struct object *object, const struct guest_process *process,
			    size_t i)
{
	_cleanup_(job_destroy) struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->base.run = run_job;
	job->base.drop = drop_job;
	job->load.build_id = object->build_id;
	job->load.mapping = process->mappings.data[i];
	if (guest_process_excerpt(process, i, &job->load.process))
		return NULL;
	return TAKE_PTR(job);
}

static void submit_fetch(struct objects *objects, struct object *object, struct job *job);

/* Whether servers may have what @job, which was not theirs, did not find. */
static bool wants_fetch(const struct objects *objects, const struct object *object,
			const struct job *job)
{
	return objects->options.servers && !objects->no_servers && !object->fetched &&
	       object->build_id.size && job->load.mapping.kind == GUEST_MAPPING_FILE &&
	       object_load_is_short(&job->load);
}

/* Takes @job over, which is done. */
static void end_load(struct objects *objects, struct object *object, struct job *job)
{
	bool from_servers = job == object->fetching;

	take_result(objects, object, job);
	if (from_servers)
		object->fetching = NULL;
	else
		object->loading = NULL;
	if (!from_servers && wants_fetch(objects, object, job))
		submit_fetch(objects, object, job);
	else
		job_destroy(job);
}

/* Makes one for servers of a job that is done. Servers are asked once, when there is room. */
static void submit_fetch(struct objects *objects, struct object *object, struct job *job)
{
	const struct objects_options *options = &objects->options;
	int err;

	job->load.guest = NULL;
	job->load.show = NULL;
	job->load.shown = job->rules_taken = false;
	job->load.cache = options->cache;
	job->load.sources = options->servers;
	job->load.build_id = object->build_id;
	job->load.state = object->state;
	object->fetched = true;
	object->fetching = job;
	job->object = object;
	err = objects->fetcher ? worker_submit(objects->fetcher, &job->base) : -ENOSYS;
	if (!err || (err == -EBUSY && !vec_push(&objects->unasked, job)))
		return;
	if (!objects->fetcher)
		object_load_run(&job->load);
	end_load(objects, object, job);
}

/* Asks servers what found no room before, as far as there is. */
static void submit_unasked(struct objects *objects)
{
	while (objects->unasked.nr && !objects->no_servers) {
		struct job *job = objects->unasked.data[objects->unasked.nr - 1];

		if (worker_submit(objects->fetcher, &job->base))
			return;
		objects->unasked.nr--;
	}
}

static bool uses_guest(const struct objects *objects, const struct guest_mapping *mapping)
{
	return mapping->kind == GUEST_MAPPING_VDSO || !objects->options.sources ||
	       symbol_sources_has(objects->options.sources, SYMBOL_SOURCE_GUEST);
}

/* Has the object read, now or by the loader. */
static void load(struct objects *objects, struct object *object,
		 const struct guest_process *process, size_t i, u64 now)
{
	const struct objects_options *options = &objects->options;
	struct job *job = make_job(object, process, i);
	int err;

	object->waits = false;
	object->tries++;
	object->next_try = now + RETRY_NS;
	if (!job) {
		if (object->state == OBJECT_NEW)
			object->state = OBJECT_LIMIT;
		return;
	}
	job->object = object;
	job->load.guest = uses_guest(objects, &job->load.mapping) ? options->guest : NULL;
	job->load.cache = options->cache;
	job->load.sources = options->sources;
	job->load.show = objects->loader ? tell : NULL;
	object->loading = job;
	err = objects->loader ? worker_submit(objects->loader, &job->base) : -ENOSYS;
	objects->full = err == -EBUSY;
	if (err == -EBUSY) {
		object->loading = NULL;
		object->waits = true;
		object->tries--;
		job_destroy(job);
	} else if (err) {
		job->load.show = NULL;
		object_load_run(&job->load);
		end_load(objects, object, job);
	}
}

static bool collect_from(struct objects *objects, struct worker_client *client)
{
	struct worker_job *base;
	bool any = false;

	while (client && (base = worker_take(client))) {
		struct job *job = container_of(base, struct job, base);

		end_load(objects, job->object, job);
		any = true;
	}
	return any;
}

/* Rules are taken in before the loader is done with the rest of their object. */
static bool collect_shown(struct objects *objects)
{
	bool any = false;

	if (!objects->loader || !worker_was_told(objects->loader))
		return false;
	vec_for_each(&objects->all, at) {
		struct job *job = (*at)->loading;

		if (!job || job->rules_taken || !is_shown(job))
			continue;
		take_rules(objects, *at, job);
		any = true;
	}
	return any;
}

bool objects_collect(struct objects *objects)
{
	bool fetched = collect_from(objects, objects->fetcher);
	bool shown = collect_shown(objects);
	bool loaded = collect_from(objects, objects->loader);

	if (fetched)
		submit_unasked(objects);
	if (loaded)
		objects->full = false;
	return shown || loaded || fetched;
}

int objects_wait(struct objects *objects, u64 deadline)
{
	return objects->loader ? worker_wait(objects->loader, deadline) : -ENOENT;
}

/* By a loader that may come up with rules yet, or has and they are to be collected. */
static bool reads_rules(const struct object *object)
{
	return object->loading && !object->loading->rules_taken;
}

bool objects_is_pending(const struct objects *objects, const struct object *object)
{
	return reads_rules(object) || (object->waits && objects->full && !objects->stopped);
}

static int find(const struct object *object, u64 offset, struct cfi_row *ret_row)
{
	u64 address;
	int err;

	if (!object->table)
		return object->state == OBJECT_NO_RULES ? -ENOENT : -ENODATA;
	err = cfi_table_address(object->table, offset, &address);
	return err ? err : cfi_table_find(object->table, address, ret_row);
}

static bool may_load(const struct object *object, u64 now)
{
	if (object->loading)
		return false;
	return object->state == OBJECT_NEW ||
	       (object->tries < MAX_TRIES && now >= object->next_try);
}

int objects_find_row(struct objects *objects, struct object *object,
		     const struct guest_process *process, size_t i, u64 offset, u64 now,
		     struct cfi_row *ret_row)
{
	int err = find(object, offset, ret_row);

	if (err == -ENODATA && !objects->stopped && may_load(object, now)) {
		load(objects, object, process, i, now);
		err = find(object, offset, ret_row);
	}
	return err == -ENODATA && (reads_rules(object) || object->waits) ? -EAGAIN : err;
}

void objects_get_counts(const struct objects *objects, struct objects_counts *ret)
{
	u64 nr[OBJECT_NR] = { 0 }, failed = 0, unread = 0, unnamed = 0;

	vec_for_each(&objects->all, object) {
		if ((*object)->loading || (*object)->waits || (*object)->fetching)
			unread++;
		else
			nr[(*object)->state]++;
		failed += (*object)->store_failed;
		unnamed += (*object)->state != OBJECT_NEW && !(*object)->named &&
			   (*object)->key.inode > VDSO_64;
	}
	*ret = (struct objects_counts){
		.from_guest = nr[OBJECT_FROM_GUEST],
		.from_file = nr[OBJECT_FROM_FILE],
		.partial = nr[OBJECT_PARTIAL],
		.no_rules = nr[OBJECT_NO_RULES],
		.missing = nr[OBJECT_MISSING],
		.bad = nr[OBJECT_BAD],
		.limit = nr[OBJECT_LIMIT],
		.unread = unread,
		.unnamed = unnamed,
		.store_failed = failed,
	};
}
