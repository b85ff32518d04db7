/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading one object of a guest's user space. */
#include "engine/object-load.h"

#include "base/clock.h"
#include "base/errors.h"
#include "base/log.h"
#include "symbols/elf-partial.h"

#define DEBUG_FILE_MAX (64U << 20)	/* bytes; what is larger is mostly DWARF */

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

/* What has nothing to store is no failure; one that failed stays so, whatever is stored later. */
static void note_stored(struct object_load *load, int err)
{
	if (!err || err == -ENODATA)
		return;
	load->store_failed = true;
	log_debug("cannot store the symbols of a guest's file: %s", error_text(err));
}

static void store_image(struct object_load *load, const struct file_image *image)
{
	int err;

	if (!load->cache || !load->build_id.size)
		return;
	if (is_vdso(load) && file_image_missing(image))
		return;
	if (!is_vdso(load))
		err = symcache_add_image(load->cache, &load->build_id, path_of(load), image, NULL);
	else
		err = symcache_add_file(load->cache, &load->build_id, SYMCACHE_VDSO, path_of(load),
					image->data, image->size);
	/* What is not known to be of this build id is not to be stored under it. */
	note_stored(load, err == -EBADMSG ? 0 : err);
}

static int read_image(const struct object_load *load, struct file_image **ret)
{
	if (is_vdso(load))
		return guest_vdso_image(load->guest, load->process, ret);
	return guest_file_image(load->guest, load->process, 0, ret);
}

/* Whether other sources may have the rules that are lacking. */
static bool object_state_is_short(enum object_state state)
{
	return state == OBJECT_NEW || state == OBJECT_PARTIAL || state == OBJECT_MISSING ||
	       state == OBJECT_LIMIT;
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

/* Whether the guest's memory has the file's .symtab. */
static bool has_symtab(const struct file_image *image)
{
	struct elf_partial partial;
	bool has;

	if (elf_partial_init(&partial, image))
		return false;
	has = partial.symtab == ELF_PART_WHOLE;
	elf_partial_deinit(&partial);
	return has;
}

/* No source could better them, and samples wait: all else takes several times as long. */
static void show_rules(struct object_load *load)
{
	if (!load->show)
		return;
	atomic_store_explicit(&load->shown, true, memory_order_release);
	load->show(load);
}

static void take_rules(struct object_load *load, const struct file_image *image)
{
	u64 start = clock_now_ms();
	struct cfi_table *table = NULL;
	int err = cfi_table_from_image(image, &table);

	log_debug("%s: rules read in %llu ms", path_of(load),
		  (unsigned long long)(clock_now_ms() - start));
	if (err)
		load->state = state_of_error(err);
	else
		set_table(load, table, table->incomplete || table->nr_missing ? OBJECT_PARTIAL :
										OBJECT_FROM_GUEST);
	if (!object_state_is_short(load->state))
		show_rules(load);
}

static void use_image(struct object_load *load)
{
	_cleanup_(file_image_destroy) struct file_image *image = TAKE_PTR(load->image);
	int err = check_build_id(load, image);

	if (err) {
		load->state = state_of_error(err);
		return;
	}
	take_rules(load, image);
	store_image(load, image);
	load->named = has_symtab(image);
}

static void store_file(struct object_load *load, const struct elf_file *file,
		       enum symcache_kind kind)
{
	size_t size;
	const void *bytes = elf_file_bytes(file, &size);

	if (load->cache)
		note_stored(load, symcache_add_file(load->cache, &load->build_id, kind,
						    path_of(load), bytes, size));
}

/*
 * Symbols that were split off the file, as distributions do with most. Where they are too large, or
 * torn, another source may have better: a smaller file, without DWARF.
 */
static void take_debug_file(struct object_load *load, const struct elf_file *file)
{
	size_t size;

	if (load->named || !elf_file_has_symtab(file) || !elf_file_is_whole(file))
		return;
	if (!elf_file_bytes(file, &size) || size > DEBUG_FILE_MAX)
		return;
	load->named = true;
	store_file(load, file, SYMCACHE_DEBUG);
}

/* The file itself. Where a debug file's segments are in it, that does not say. */
static void take_whole_file(struct object_load *load, const struct elf_file *file)
{
	struct cfi_table *table;
	size_t size;
	void *bytes = elf_file_bytes(file, &size);

	if (!bytes)
		return;
	if (object_state_is_short(load->state) &&
	    !cfi_table_from_memory(bytes, size, false, &table))
		set_table(load, table, OBJECT_FROM_FILE);
	if (!elf_file_is_partial(file) && elf_file_is_whole(file))
		store_file(load, file, SYMCACHE_ELF);
	load->named |= elf_file_has_symtab(file);
}

/*
 * A file of the object's build id. It goes into the cache, too: who reads the recording elsewhere
 * has nothing but that.
 */
static bool take_file(void *arg, struct elf_file *file)
{
	_cleanup_(elf_file_close) struct elf_file *owned = file;
	struct object_load *load = arg;

	if (elf_file_is_debug(owned))
		take_debug_file(load, owned);
	else
		take_whole_file(load, owned);
	return load->named && !object_state_is_short(load->state);
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

bool object_load_is_short(const struct object_load *load)
{
	return object_state_is_short(load->state) || (!load->named && load->state != OBJECT_BAD);
}

void object_load_read(struct object_load *load)
{
	int err = load->guest ? read_image(load, &load->image) : 0;

	if (err)
		load->state = state_of_error(err);
}

void object_load_finish(struct object_load *load)
{
	if (load->image)
		use_image(load);
	if (!is_vdso(load) && object_load_is_short(load))
		load_from_sources(load);
	if (load->state == OBJECT_NEW)
		load->state = OBJECT_MISSING;
}

void object_load_run(struct object_load *load)
{
	object_load_read(load);
	object_load_finish(load);
}

void object_load_deinit(struct object_load *load)
{
	guest_process_destroy(load->process);
	cfi_table_destroy(load->table);
	file_image_destroy(load->image);
	load->image = NULL;
	load->process = NULL;
	load->table = NULL;
}
