/* SPDX-License-Identifier: GPL-2.0-only */
/* The search for files with symbols, source by source. */
#include "symbols/sources-private.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "symbols/elf-synth.h"

#define MODULES_MAX (4 << 20)

static int copy_string(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

int symbol_sources_create(const struct symbol_sources_options *options,
			  struct symbol_sources **ret)
{
	_cleanup_(symbol_sources_destroy) struct symbol_sources *sources =
		calloc(1, sizeof(*sources));
	int err;

	if (!sources)
		return -ENOMEM;
	sources->options = *options;
	symbol_source_list_fill(&sources->options.list);
	err = copy_string(options->root ?: "", &sources->root);
	err = err ?: copy_string(options->guestmount, &sources->guestmount);
	err = err ?: copy_string(options->vmlinux, &sources->vmlinux);
	err = err ?: copy_string(options->kallsyms, &sources->kallsyms);
	err = err ?: copy_string(options->modules, &sources->modules_path);
	err = err ?: symcache_create(options->cache_dir, &sources->cache);
	if (err)
		return err;
	*ret = TAKE_PTR(sources);
	return 0;
}

void symbol_sources_destroy(struct symbol_sources *sources)
{
	if (!sources)
		return;
	debuginfod_destroy(sources->debuginfod);
	symcache_destroy(sources->cache);
	free(sources->root);
	free(sources->guestmount);
	free(sources->vmlinux);
	free(sources->kallsyms);
	free(sources->modules_path);
	free(sources->modules);
	free(sources);
}

bool symbol_sources_has(const struct symbol_sources *sources, enum symbol_source source)
{
	return symbol_source_list_has(&sources->options.list, source) &&
	       !(source == SYMBOL_SOURCE_HOST && sources->options.no_host_files);
}

const struct symcache *symbol_sources_cache(const struct symbol_sources *sources)
{
	return sources->cache;
}

const char *symbol_sources_root(const struct symbol_sources *sources)
{
	return sources->root;
}

const char *symbol_sources_kallsyms(const struct symbol_sources *sources)
{
	return sources->kallsyms;
}

u64 symbol_sources_mismatches(const struct symbol_sources *sources)
{
	return sources->mismatches;
}

const char *symbol_sources_problem(const struct symbol_sources *sources)
{
	return sources->problem;
}

/* "name size uses users state 0xstart" lines. */
static int find_module_line(const char *text, const char *module, u64 *ret)
{
	size_t len = strlen(module);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at, *end = line + strcspn(line, "\n");

		if (strncmp(line, module, len) || line[len] != ' ')
			continue;
		at = memmem(line, end - line, " 0x", 3);
		if (!at)
			return -ENOENT;
		*ret = strtoull(at + 3, NULL, 16);
		return *ret ? 0 : -ENOENT;
	}
	return -ENOENT;
}

int symbol_sources_module_start(struct symbol_sources *sources, const char *module, u64 *ret)
{
	if (!sources->modules_path)
		return -ENOENT;
	if (!sources->modules) {
		int err = file_read(AT_FDCWD, sources->modules_path, MODULES_MAX,
				    &sources->modules, NULL);

		if (err == -ENOMEM)
			return err;
		if (err)
			sources->problem = "the list of the guest's modules cannot be read";
		if (err)
			return -ENOENT;
	}
	return find_module_line(sources->modules, module, ret);
}

void search_offer(struct search *search, struct elf_file *file, const char *from)
{
	struct build_id found = { 0 };

	if (search->build_id.size &&
	    (elf_file_build_id(file, &found) || !build_id_equal(&found, &search->build_id))) {
		search->sources->mismatches++;
		log_debug("%s: not the recorded build id, not used for %s", from,
			  search->query->path);
		elf_file_close(file);
		return;
	}
	search->done = search->offer(search->arg, file);
}

int search_open(const struct search *search, const char *path, struct elf_file **ret)
{
	return search->sources->options.copies ? elf_file_open_copy(path, ret) :
						 elf_file_open(path, ret);
}

void search_try_file(struct search *search, const char *path)
{
	struct elf_file *file;

	if (!search->done && !search_open(search, path, &file))
		search_offer(search, file, path);
}

void search_releases(struct search *search, search_place_fn fn)
{
	static const char *const places[] = {
		"/boot/vmlinux-%s",
		SOURCES_DEBUG_DIR "/boot/vmlinux-%s",
		"/lib/modules/%s/build/vmlinux",
		SOURCES_DEBUG_DIR "/lib/modules/%s/vmlinux",
		SOURCES_DEBUG_DIR "/boot/vmlinux-%s.debug",
	};
	const char *release = search->query->release;
	char path[PATH_MAX];

	fn(search, "/boot/vmlinux");
	if (!release || strchr(release, '/') || strchr(release, '%'))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *at = strstr(places[i], "%s");

		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(at - places[i]), places[i],
			     release, at + 2) < (int)sizeof(path))
			fn(search, path);
	}
}

/* Of a file with holes what is known of its symbols. */
static int open_image(struct file_image *image, struct elf_file **ret)
{
	_cleanup_strbuf_ struct strbuf made = STRBUF_INIT;
	struct elf_partial partial;
	size_t size;
	int err;

	if (!file_image_missing(image)) {
		err = elf_file_open_owned(image->data, image->size, ret);
		if (!err)
			image->data = NULL;
		return err;
	}
	err = elf_partial_init(&partial, image);
	if (err)
		return err;
	err = elf_synth_program(&partial, &made);
	elf_partial_deinit(&partial);
	size = made.len;
	if (!err)
		err = elf_file_open_owned(made.data, size, ret);
	if (!err)
		strbuf_steal(&made, NULL);
	return err;
}

static void try_guest(struct search *search)
{
	const struct symbol_guest_ops *ops = &search->sources->options.guest;
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	struct elf_file *file;

	if (ops->find && !ops->find(ops->arg, search->query, &image) && !open_image(image, &file))
		search_offer(search, file, "guest memory");
}

static void try_cached(struct search *search, enum symcache_kind kind)
{
	char path[PATH_MAX];

	if (search->done || symcache_find(search->sources->cache, &search->build_id, kind, path,
					  sizeof(path)))
		return;
	search_try_file(search, path);
	symcache_touch(path);
}

static void try_cache(struct search *search)
{
	if (search->query->object == SYMBOL_OBJECT_VDSO)
		try_cached(search, SYMCACHE_VDSO);
	try_cached(search, SYMCACHE_ELF);
	try_cached(search, SYMCACHE_DEBUG);
}

static void try_debuginfod(struct search *search)
{
	struct symbol_sources *sources = search->sources;
	char path[PATH_MAX];

	if (!sources->debuginfod) {
		const char *why = NULL;
		int err = debuginfod_create(sources->options.progress, &sources->debuginfod, &why);

		/* Not asked for: no word about it. */
		if (err && why)
			sources->problem = why;
		if (err)
			return;
	}
	for (int executable = 0; executable < 2 && !search->done; executable++)
		if (!debuginfod_find(sources->debuginfod, &search->build_id, executable,
				     search->query->path, search->query->stop, path,
				     sizeof(path)))
			search_try_file(search, path);
}

static void try_source(struct search *search, enum symbol_source source)
{
	switch (source) {
	case SYMBOL_SOURCE_GUEST:
		try_guest(search);
		break;
	case SYMBOL_SOURCE_CACHE:
		try_cache(search);
		break;
	case SYMBOL_SOURCE_HOST:
		if (!search->sources->options.no_host_files)
			search_host(search);
		break;
	case SYMBOL_SOURCE_GUESTMOUNT:
		search_guestmount(search);
		break;
	case SYMBOL_SOURCE_DEBUGINFOD:
		if (search->build_id.size)
			try_debuginfod(search);
		break;
	default:
		break;
	}
}

int symbol_sources_find(struct symbol_sources *sources, const struct symbol_query *query,
			symbol_offer_fn offer, void *arg)
{
	struct search search = {
		.sources = sources,
		.query = query,
		.build_id = query->build_id,
		.offer = offer,
		.arg = arg,
	};
	const struct symbol_source_list *list = &sources->options.list;
	char link[NAME_MAX + 1];

	/* A vmlinux without a build id would be this host's for any guest's. */
	if (query->object == SYMBOL_OBJECT_KERNEL && !query->build_id.size)
		return 0;
	if (query->object == SYMBOL_OBJECT_KERNEL && sources->vmlinux)
		search_try_file(&search, sources->vmlinux);
	if (query->object == SYMBOL_OBJECT_USER && symbol_sources_has(sources, SYMBOL_SOURCE_HOST))
		search_ask_own_file(&search, link, sizeof(link));
	for (size_t i = 0; i < list->nr && !search.done && !(query->stop && *query->stop); i++)
		try_source(&search, list->order[i]);
	return 0;
}
