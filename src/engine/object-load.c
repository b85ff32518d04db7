/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading one object of a guest's user space. */
#include "engine/object-load.h"

#include "base/errors.h"
#include "base/log.h"

static bool is_vdso(const struct object_load *load)
{
	return load->mapping.kind == GUEST_MAPPING_VDSO;
}

static const char *path_of(const struct object_load *load)
{
	return is_vdso(load) ? "[vdso]" : load->process->files.data[0].path;
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

static void set_table(struct object_load *load, struct cfi_table *table, enum object_state state)
{
	cfi_table_destroy(load->table);
	load->table = table;
	load->state = state;
}

static void store_image(struct object_load *load, const struct file_image *image)
{
	int err;

	if (!load->cache || !load->build_id.size)
		return;
	if (!is_vdso(load))
		err = symcache_add_image(load->cache, &load->build_id, path_of(load), image, NULL);
	else
		err = symcache_add_file(load->cache, &load->build_id, SYMCACHE_VDSO, path_of(load),
					image->data, image->size);
	load->store_failed = err && err != -ENODATA;
	if (load->store_failed)
		log_debug("cannot store what the guest has of a file: %s", error_text(err));
}

static int read_image(const struct object_load *load, struct file_image **ret)
{
	if (is_vdso(load))
		return guest_vdso_image(load->guest, load->process, ret);
	return guest_file_image(load->guest, load->process, 0, ret);
}

/* What has another build id than it had is something else by now, or a lie. */
static int check_build_id(struct object_load *load, const struct file_image *image)
{
	struct build_id found;

	if (guest_image_build_id(image, &found))
		return 0;
	if (!load->build_id.size)
		load->build_id = found;
	return build_id_equal(&load->build_id, &found) ? 0 : -EBADMSG;
}

static void load_from_guest(struct object_load *load)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	struct cfi_table *table = NULL;
	int err = read_image(load, &image);

	if (!err)
		err = check_build_id(load, image);
	if (!err) {
		store_image(load, image);
		err = cfi_table_from_image(image, &table);
	}
	if (err)
		load->state = state_of_error(err);
	else
		set_table(load, table, table->incomplete || table->nr_missing ? OBJECT_PARTIAL :
										OBJECT_FROM_GUEST);
}

/*
 * A file of the object's build id. A whole one goes into the cache, too: who reads the recording
 * elsewhere has nothing but that.
 */
static bool take_file(void *arg, struct elf_file *file)
{
	_cleanup_(elf_file_close) struct elf_file *owned = file;
	struct object_load *load = arg;
	struct cfi_table *table;
	size_t size;
	void *bytes = elf_file_bytes(owned, &size);

	/* Where a debug file's segments are in the object's own file, it does not say. */
	if (!bytes || elf_file_is_debug(file) || cfi_table_from_memory(bytes, size, false, &table))
		return false;
	set_table(load, table, OBJECT_FROM_FILE);
	if (load->cache && elf_file_is_whole(file))
		load->store_failed = symcache_add_file(load->cache, &load->build_id, SYMCACHE_ELF,
						       path_of(load), bytes, size);
	return true;
}

static void load_from_sources(struct object_load *load)
{
	const struct symbol_query query = {
		.object = SYMBOL_OBJECT_USER,
		.build_id = load->build_id,
		.path = path_of(load),
		.stop = &load->stop,
	};

	/* Without a build id no file could be told from another. */
	if (load->sources && load->build_id.size)
		symbol_sources_find(load->sources, &query, take_file, load);
}

bool object_state_is_short(enum object_state state)
{
	return state == OBJECT_NEW || state == OBJECT_PARTIAL || state == OBJECT_MISSING ||
	       state == OBJECT_LIMIT;
}

void object_load_run(struct object_load *load)
{
	if (load->guest)
		load_from_guest(load);
	if (!is_vdso(load) && object_state_is_short(load->state))
		load_from_sources(load);
	if (load->state == OBJECT_NEW)
		load->state = OBJECT_MISSING;
}

void object_load_deinit(struct object_load *load)
{
	guest_process_destroy(load->process);
	cfi_table_destroy(load->table);
	load->process = NULL;
	load->table = NULL;
}
