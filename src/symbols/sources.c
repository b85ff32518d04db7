/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The places where files with symbols are. Which of the host's are tried, and in which order, is
 * what dso__load() of tools/perf/util/symbol.c, Linux 6.1, does.
 */
#include "symbols/sources.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/log.h"
#include "symbols/debuginfod.h"
#include "symbols/elf-synth.h"

#define VDSO_MAX (1 << 20)
#define MODULES_MAX (4 << 20)
#define MAX_MOUNTS 256		/* folders of guests below one --guestmount */
#define DEBUG_DIR "/usr/lib/debug"

struct symbol_sources {
	struct symbol_sources_options options;	/* strings in it are NULL or below */
	struct symcache *cache;
	char *root, *guestmount, *vmlinux, *kallsyms, *modules_path;
	char *modules;		/* text of .modules_path, read on first use */
	struct debuginfod *debuginfod;
	const char *problem;
	u64 mismatches;
};

/* A running search. */
struct search {
	struct symbol_sources *sources;
	const struct symbol_query *query;
	struct build_id build_id;	/* wanted; may come from the host's own file */
	symbol_offer_fn offer;
	void *arg;
	bool done;
};

static const char *const names[SYMBOL_SOURCE_NR] = {
	[SYMBOL_SOURCE_GUEST] = "guest",
	[SYMBOL_SOURCE_CACHE] = "cache",
	[SYMBOL_SOURCE_HOST] = "host",
	[SYMBOL_SOURCE_GUESTMOUNT] = "guestmount",
	[SYMBOL_SOURCE_DEBUGINFOD] = "debuginfod",
};

static bool in_list(const struct symbol_source_list *list, enum symbol_source source)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->order[i] == source)
			return true;
	return false;
}

static int source_by_name(const char *name, size_t len)
{
	for (int i = 0; i < SYMBOL_SOURCE_NR; i++)
		if (names[i] && strlen(names[i]) == len && !memcmp(names[i], name, len))
			return i;
	return -ENOENT;
}

int symbol_source_list_parse(const char *text, struct symbol_source_list *ret,
			     const char **ret_why)
{
	struct symbol_source_list list = { .nr = 0 };

	for (;;) {
		size_t len = strcspn(text, ",");
		int source = source_by_name(text, len);

		if (source < 0 || in_list(&list, source)) {
			*ret_why = source < 0 ? "sources are " SYMBOL_SOURCE_NAMES :
						"a source comes twice";
			return -EINVAL;
		}
		list.order[list.nr++] = source;
		if (!text[len])
			break;
		text += len + 1;
	}
	*ret = list;
	return 0;
}

static int copy_string(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

static void set_list(struct symbol_sources *sources)
{
	struct symbol_source_list *list = &sources->options.list;
	struct symbol_source_list all = { .nr = 0 };

	for (int i = 0; i < SYMBOL_SOURCE_NR; i++)
		if (names[i] && !list->nr)
			all.order[all.nr++] = i;
	if (!list->nr)
		*list = all;
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
	set_list(sources);
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
	return in_list(&sources->options.list, source) &&
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

/* Takes @file over: offers it when it is what is looked for. */
static void check_and_offer(struct search *search, struct elf_file *file, const char *from)
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

static void try_file(struct search *search, const char *path)
{
	struct elf_file *file;

	if (!search->done && !elf_file_open(path, &file))
		check_and_offer(search, file, path);
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
		check_and_offer(search, file, "guest memory");
}

static void try_cached(struct search *search, enum symcache_kind kind)
{
	char path[PATH_MAX];

	if (search->done || symcache_find(search->sources->cache, &search->build_id, kind, path,
					  sizeof(path)))
		return;
	try_file(search, path);
	symcache_touch(path);
}

static void try_cache(struct search *search)
{
	if (search->query->object == SYMBOL_OBJECT_VDSO)
		try_cached(search, SYMCACHE_VDSO);
	try_cached(search, SYMCACHE_ELF);
	try_cached(search, SYMCACHE_DEBUG);
}

/* The host's own file, under the root that was asked for. */
static void try_host_file(struct search *search, const char *fmt, ...) __printf(2, 3);

static void try_host_file(struct search *search, const char *fmt, ...)
{
	char path[PATH_MAX];
	int used = snprintf(path, sizeof(path), "%s", search->sources->root), len;
	va_list ap;

	if (used < 0 || used >= (int)sizeof(path))
		return;
	va_start(ap, fmt);
	len = vsnprintf(path + used, sizeof(path) - used, fmt, ap);
	va_end(ap);
	if (len >= 0 && len < (int)sizeof(path) - used)
		try_file(search, path);
}

/* What the program's own file says: a build id when none was recorded, its debug file's name. */
static void ask_own_file(struct search *search, char *ret_link, size_t size)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	char path[PATH_MAX];
	struct build_id found;

	*ret_link = '\0';
	if (snprintf(path, sizeof(path), "%s%s", search->sources->root, search->query->path) >=
	    (int)sizeof(path) || elf_file_open(path, &file))
		return;
	if (!search->build_id.size && !elf_file_build_id(file, &found))
		search->build_id = found;
	if (elf_file_debuglink(file, ret_link, size))
		*ret_link = '\0';
}

static void try_debuglink(struct search *search, const char *link)
{
	const char *path = search->query->path, *slash = strrchr(path, '/');
	int dir = slash ? slash - path : 0;

	if (!*link)
		return;
	try_host_file(search, "%.*s/%s", dir, path, link);
	try_host_file(search, "%.*s/.debug/%s", dir, path, link);
	try_host_file(search, DEBUG_DIR "%.*s/%s", dir, path, link);
}

static void try_host_user(struct search *search)
{
	const char *path = search->query->path;
	char link[NAME_MAX + 1], hex[BUILD_ID_HEX];

	ask_own_file(search, link, sizeof(link));
	try_debuglink(search, link);
	if (*path == '/') {
		try_host_file(search, DEBUG_DIR "%s.debug", path);
		try_host_file(search, DEBUG_DIR "%s", path);
	}
	build_id_hex(&search->build_id, hex);
	if (search->build_id.size > 1)
		try_host_file(search, DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (*path == '/')
		try_host_file(search, "%s", path);
}

/* Calls @fn with each place of a vmlinux that is named by its release. */
static void try_releases(struct search *search,
			 void (*fn)(struct search *search, const char *fmt, ...))
{
	static const char *const places[] = {
		"/boot/vmlinux-%s",
		DEBUG_DIR "/boot/vmlinux-%s",
		"/lib/modules/%s/build/vmlinux",
		DEBUG_DIR "/lib/modules/%s/vmlinux",
		DEBUG_DIR "/boot/vmlinux-%s.debug",
	};
	const char *release = search->query->release;
	char path[PATH_MAX];

	fn(search, "%s", "/boot/vmlinux");
	if (!release || strchr(release, '/') || strchr(release, '%'))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *at = strstr(places[i], "%s");

		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(at - places[i]), places[i],
			     release, at + 2) < (int)sizeof(path))
			fn(search, "%s", path);
	}
}

/* The vdso that the kernel gave to this very process. */
static void try_own_vdso(struct search *search)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_free_ void *copy = NULL;
	struct elf_file *file;
	size_t size;

	if (search->done || !header)
		return;
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	copy = size <= VDSO_MAX ? malloc(size) : NULL;
	if (!copy)
		return;
	memcpy(copy, header, size);
	if (elf_file_open_owned(copy, size, &file))
		return;
	copy = NULL;
	check_and_offer(search, file, "[vdso]");
}

static void try_host(struct search *search)
{
	switch (search->query->object) {
	case SYMBOL_OBJECT_USER:
		try_host_user(search);
		break;
	case SYMBOL_OBJECT_KERNEL:
		try_releases(search, try_host_file);
		break;
	case SYMBOL_OBJECT_MODULE:
		if (*search->query->path == '/')
			try_host_file(search, "%s", search->query->path);
		break;
	case SYMBOL_OBJECT_VDSO:
		try_own_vdso(search);
		break;
	}
}

/* As if @dir were the root: absolute links of the guest's stay in it, and nothing leads out. */
static int open_in_root(const char *dir, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	long fd;

	if (root < 0)
		return -errno;
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static void try_in_root(struct search *search, const char *dir, const char *path)
{
	_cleanup_close_ int fd = search->done ? -1 : open_in_root(dir, path);
	struct elf_file *file;
	char link[64];

	if (fd < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!elf_file_open(link, &file))
		check_and_offer(search, file, path);
}

static bool is_number(const char *name)
{
	return *name && strspn(name, "0123456789") == strlen(name);
}

/* DIR itself and, as perf kvm has it, DIR/PID. */
static void try_mounted_path(struct search *search, const char *path)
{
	const char *mount = search->sources->guestmount;
	const struct dirent *entry;
	char dir[PATH_MAX];
	int nr = 0;
	DIR *stream;

	try_in_root(search, mount, path);
	stream = search->done ? NULL : opendir(mount);
	if (!stream)
		return;
	while (!search->done && nr < MAX_MOUNTS && (entry = readdir(stream))) {
		if (!is_number(entry->d_name) ||
		    snprintf(dir, sizeof(dir), "%s/%s", mount, entry->d_name) >= (int)sizeof(dir))
			continue;
		nr++;
		try_in_root(search, dir, path);
	}
	closedir(stream);
}

static void try_mounted(struct search *search, const char *fmt, ...) __printf(2, 3);

static void try_mounted(struct search *search, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (len >= 0 && len < (int)sizeof(path))
		try_mounted_path(search, path);
}

static void try_guestmount(struct search *search)
{
	const char *path = search->query->path;
	char hex[BUILD_ID_HEX];

	/* Nothing else says which guest's it is. */
	if (!search->sources->guestmount || !search->build_id.size)
		return;
	build_id_hex(&search->build_id, hex);
	if (search->query->object == SYMBOL_OBJECT_KERNEL)
		try_releases(search, try_mounted);
	else
		try_mounted(search, DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (search->query->object != SYMBOL_OBJECT_KERNEL && *path == '/')
		try_mounted_path(search, path);
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
				     search->query->path, path, sizeof(path)))
			try_file(search, path);
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
			try_host(search);
		break;
	case SYMBOL_SOURCE_GUESTMOUNT:
		try_guestmount(search);
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
		try_file(&search, sources->vmlinux);
	if (query->object == SYMBOL_OBJECT_USER && symbol_sources_has(sources, SYMBOL_SOURCE_HOST))
		ask_own_file(&search, link, sizeof(link));
	for (size_t i = 0; i < list->nr && !search.done; i++)
		try_source(&search, list->order[i]);
	return 0;
}
