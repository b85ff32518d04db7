/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a guest's processes have mapped. */
#include "engine/objects.h"

#include "base/errors.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "unwind/cfi-table.h"

#define RETRY_NS 2000000000ULL	/* pages come into the guest's cache as they are used */
#define MAX_TRIES 4
#define MAX_PROBES 8		/* keys that collide */

/* No address of a guest's kernel. */
#define VDSO_32 1	/* of 32-bit programs, below 4 GiB */
#define VDSO_64 2

enum object_state {
	OBJECT_NEW,		/* not needed yet */
	OBJECT_FROM_GUEST,
	OBJECT_FROM_FILE,
	OBJECT_PARTIAL,
	OBJECT_NO_RULES,
	OBJECT_MISSING,
	OBJECT_BAD,
	OBJECT_LIMIT,
	OBJECT_NR,
};

struct object {
	struct guest_file_key key;	/* .inode VDSO_32 or VDSO_64: not a file */
	struct build_id build_id;
	enum object_state state;
	struct cfi_table *table;	/* NULL: none */
	unsigned int tries;
	u64 next_try;			/* ns */
	bool store_failed;
};

struct objects {
	const struct guest *guest;
	struct symcache *cache;
	struct symbol_sources *sources;
	struct hashmap by_key;		/* hash of a key to index + 1 of .all */
	VEC(struct object *) all;
	u64 seed;
	u64 table_bytes;
};

int objects_create(const struct guest *guest, struct symcache *cache,
		   struct symbol_sources *sources, struct objects **ret)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	objects->guest = guest;
	objects->cache = cache;
	objects->sources = sources;
	objects->seed = hash_new_seed();
	*ret = objects;
	return 0;
}

static void object_destroy(struct object *object)
{
	cfi_table_destroy(object->table);
	free(object);
}

void objects_destroy(struct objects *objects)
{
	if (!objects)
		return;
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
		if (!guest_vdso_image(objects->guest, process, &image))
			guest_image_build_id(image, ret);
	} else if (!guest_file_open(objects->guest, mapped_file(process, mapping), &file)) {
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

const struct build_id *object_build_id(const struct object *object)
{
	return &object->build_id;
}

static enum object_state state_of_error(int err)
{
	switch (err) {
	case -ENOENT:
		return OBJECT_NO_RULES;
	case -ENODATA:
	case -EFAULT:
	case -ESTALE:
		return OBJECT_MISSING;
	case -E2BIG:
	case -ENOMEM:
		return OBJECT_LIMIT;
	default:
		return OBJECT_BAD;
	}
}

/* Takes @table over when it is better than what there is. */
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

static void store_image(struct objects *objects, struct object *object, const char *path,
			const struct file_image *image)
{
	int err;

	if (!objects->cache || !object->build_id.size)
		return;
	if (object->key.inode > VDSO_64)
		err = symcache_add_image(objects->cache, &object->build_id, path, image, NULL);
	else
		err = symcache_add_file(objects->cache, &object->build_id, SYMCACHE_VDSO, path,
					image->data, image->size);
	object->store_failed = err && err != -ENODATA;
	if (object->store_failed)
		log_debug("cannot store what the guest has of a file: %s", error_text(err));
}

static int read_image(const struct objects *objects, const struct guest_process *process,
		      const struct guest_mapping *mapping, struct file_image **ret)
{
	if (mapping->kind == GUEST_MAPPING_VDSO)
		return guest_vdso_image(objects->guest, process, ret);
	return guest_file_image(objects->guest, process, mapping->file, ret);
}

static void load_from_guest(struct objects *objects, struct object *object,
			    const struct guest_process *process,
			    const struct guest_mapping *mapping)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	struct cfi_table *table = NULL;
	const char *path = "[vdso]";
	int err;

	err = read_image(objects, process, mapping, &image);
	if (!err) {
		if (!object->build_id.size)
			guest_image_build_id(image, &object->build_id);
		if (is_file(process, mapping))
			path = mapped_file(process, mapping)->path;
		store_image(objects, object, path, image);
		err = cfi_table_from_image(image, &table);
	}
	if (err && !object->table)
		object->state = state_of_error(err);
	else if (!err)
		set_table(objects, object, table, table->incomplete || table->nr_missing ?
			  OBJECT_PARTIAL : OBJECT_FROM_GUEST);
}

struct offer {
	struct objects *objects;
	struct object *object;
	const char *path;
};

/*
 * A file of the object's build id. A whole one goes into the cache, too: who reads the recording
 * elsewhere has nothing but that.
 */
static bool take_file(void *arg, struct elf_file *file)
{
	_cleanup_(elf_file_close) struct elf_file *owned = file;
	struct offer *offer = arg;
	struct object *object = offer->object;
	struct symcache *cache = offer->objects->cache;
	struct cfi_table *table;
	size_t size;
	void *bytes = elf_file_bytes(owned, &size);

	/* Where a debug file's segments are in the object's own file, it does not say. */
	if (!bytes || elf_file_is_debug(file) || cfi_table_from_memory(bytes, size, false, &table))
		return false;
	set_table(offer->objects, object, table, OBJECT_FROM_FILE);
	if (cache && elf_file_is_whole(file))
		object->store_failed = symcache_add_file(cache, &object->build_id, SYMCACHE_ELF,
							 offer->path, bytes, size);
	return true;
}

static void load_from_sources(struct objects *objects, struct object *object, const char *path)
{
	const struct symbol_query query = {
		.object = SYMBOL_OBJECT_USER, .build_id = object->build_id, .path = path,
	};
	struct offer offer = { .objects = objects, .object = object, .path = path };

	/* Without a build id no file could be told from another. */
	if (objects->sources && object->build_id.size)
		symbol_sources_find(objects->sources, &query, take_file, &offer);
}

static bool is_short(const struct object *object)
{
	return object->state == OBJECT_NEW || object->state == OBJECT_PARTIAL ||
	       object->state == OBJECT_MISSING;
}

static void load(struct objects *objects, struct object *object,
		 const struct guest_process *process, const struct guest_mapping *mapping, u64 now)
{
	object->tries++;
	object->next_try = now + RETRY_NS;
	if (!is_file(process, mapping) || !objects->sources ||
	    symbol_sources_has(objects->sources, SYMBOL_SOURCE_GUEST))
		load_from_guest(objects, object, process, mapping);
	if (is_file(process, mapping) && (is_short(object) || object->state == OBJECT_LIMIT))
		load_from_sources(objects, object, mapped_file(process, mapping)->path);
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

int objects_find_row(struct objects *objects, struct object *object,
		     const struct guest_process *process, const struct guest_mapping *mapping,
		     u64 offset, u64 now, struct cfi_row *ret_row)
{
	int err;

	if (object->state == OBJECT_NEW)
		load(objects, object, process, mapping, now);
	err = find(object, offset, ret_row);
	if (err != -ENODATA || object->tries >= MAX_TRIES || now < object->next_try)
		return err;
	load(objects, object, process, mapping, now);
	return find(object, offset, ret_row);
}

void objects_get_counts(const struct objects *objects, struct objects_counts *ret)
{
	u64 nr[OBJECT_NR] = { 0 }, failed = 0;

	vec_for_each(&objects->all, object) {
		nr[(*object)->state]++;
		failed += (*object)->store_failed;
	}
	*ret = (struct objects_counts){
		.from_guest = nr[OBJECT_FROM_GUEST],
		.from_file = nr[OBJECT_FROM_FILE],
		.partial = nr[OBJECT_PARTIAL],
		.no_rules = nr[OBJECT_NO_RULES],
		.missing = nr[OBJECT_MISSING],
		.bad = nr[OBJECT_BAD],
		.limit = nr[OBJECT_LIMIT],
		.store_failed = failed,
	};
}
