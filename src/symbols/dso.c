/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the symbols of an object are found: the same places, in the same order and under the same
 * conditions as dso__load() of tools/perf/util/symbol.c, Linux 6.1, has it. A file counts only
 * when its build id is the recorded one.
 */
#include "symbols/dso.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <link.h>

#include "base/file.h"
#include "symbols/elf-file.h"

#define NOTES_MAX (1 << 20)
#define PERF_MAP_MAX (256U << 20)
#define VDSO_MAX (1 << 20)
#define DEBUG_DIR "/usr/lib/debug"

/* A running search: the file with the symbols, and the one that is mapped. */
struct search {
	struct dso *dso;
	const struct dso_sources *sources;
	struct elf_file *symbols;
	struct elf_file *runtime;
	struct elf_file *partial;	/* for when there is no better */
};

void dso_destroy(struct dso *dso)
{
	if (!dso)
		return;
	free(dso->name);
	free(dso->short_name);
	free(dso->path);
	free(dso->symbol_ids);
	free(dso->ref_name);
	kallsyms_text_destroy(dso->kallsyms);
	symtab_destroy(dso->symtab);
	free(dso);
}

static void search_deinit(struct search *search)
{
	if (search->runtime != search->symbols)
		elf_file_close(search->runtime);
	if (search->partial != search->symbols)
		elf_file_close(search->partial);
	elf_file_close(search->symbols);
}

static bool search_done(const struct search *search)
{
	return search->symbols && search->runtime;
}

/* Takes @file over: keeps it when it is of use, else closes it. */
static void consider(struct search *search, struct elf_file *file)
{
	const struct build_id *wanted = &search->dso->build_id;
	struct build_id found;
	bool used = false;

	if (wanted->size &&
	    (elf_file_build_id(file, &found) || !build_id_equal(&found, wanted))) {
		elf_file_close(file);
		return;
	}
	if (elf_file_is_partial(file)) {
		used = !search->partial;
		search->partial = used ? file : search->partial;
	} else if (!search->symbols && elf_file_has_symtab(file)) {
		search->symbols = file;
		used = true;
	}
	if (!search->runtime && elf_file_has_dynsym(file)) {
		search->runtime = file;
		used = true;
	}
	if (!used)
		elf_file_close(file);
}

static void try_file(struct search *search, const char *path)
{
	struct elf_file *file;

	if (!search_done(search) && !elf_file_open(path, &file))
		consider(search, file);
}

static void try_cached(struct search *search, enum symcache_kind kind)
{
	char path[PATH_MAX];

	if (symcache_find(search->sources->cache, &search->dso->build_id, kind, path,
			  sizeof(path)))
		return;
	try_file(search, path);
	symcache_touch(path);
}

/* The host's own file, under the root that was asked for. */
static void try_host(struct search *search, const char *fmt, ...) __printf(2, 3);

static void try_host(struct search *search, const char *fmt, ...)
{
	char path[PATH_MAX];
	int used = snprintf(path, sizeof(path), "%s", search->sources->root), len;
	va_list ap;

	if (search->sources->no_host_files || used < 0 || used >= (int)sizeof(path))
		return;
	va_start(ap, fmt);
	len = vsnprintf(path + used, sizeof(path) - used, fmt, ap);
	va_end(ap);
	if (len >= 0 && len < (int)sizeof(path) - used)
		try_file(search, path);
}

static int open_own_file(const struct search *search, struct elf_file **ret)
{
	char path[PATH_MAX];

	if (search->sources->no_host_files ||
	    snprintf(path, sizeof(path), "%s%s", search->sources->root, search->dso->path) >=
	    (int)sizeof(path))
		return -ENOENT;
	return elf_file_open(path, ret);
}

/* What the program's own file says: a build id when none was recorded, its debug file's name. */
static void ask_own_file(struct search *search, char *ret_link, size_t size)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	struct build_id found;

	*ret_link = '\0';
	if (open_own_file(search, &file))
		return;
	if (!search->dso->build_id.size && !elf_file_build_id(file, &found))
		search->dso->build_id = found;
	if (elf_file_debuglink(file, ret_link, size))
		*ret_link = '\0';
}

static void try_debuglink(struct search *search, const char *link)
{
	const char *path = search->dso->path, *slash = strrchr(path, '/');
	int dir = slash ? slash - path : 0;

	if (!*link)
		return;
	try_host(search, "%.*s/%s", dir, path, link);
	try_host(search, "%.*s/.debug/%s", dir, path, link);
	try_host(search, DEBUG_DIR "%.*s/%s", dir, path, link);
}

static void find_user_files(struct search *search)
{
	const char *path = search->dso->path;
	char link[NAME_MAX + 1], hex[BUILD_ID_HEX];

	ask_own_file(search, link, sizeof(link));
	build_id_hex(&search->dso->build_id, hex);
	try_debuglink(search, link);
	try_cached(search, SYMCACHE_ELF);
	try_cached(search, SYMCACHE_DEBUG);
	if (*path == '/') {
		try_host(search, DEBUG_DIR "%s.debug", path);
		try_host(search, DEBUG_DIR "%s", path);
	}
	if (search->dso->build_id.size > 1)
		try_host(search, DEBUG_DIR "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (*path == '/')
		try_host(search, "%s", path);
}

static int new_symtab(const struct dso_sources *sources, struct symtab **ret)
{
	int err = symtab_create(ret);

	if (!err && sources->demangle)
		symtab_rank_demangled(*ret);
	return err;
}

/* Bad files are as good as none; only memory is worth an error. */
static int only_memory(int err)
{
	return err == -ENOMEM ? err : 0;
}

/* What was left of the symbols of a program that was stripped. */
static int add_debugdata(const struct search *search, struct symtab *symtab)
{
	_cleanup_(elf_file_close) struct elf_file *packed = NULL;
	int err;

	if (elf_file_has_symtab(search->symbols))
		return 0;
	err = elf_file_open_debugdata(search->runtime, &packed);
	if (!err)
		err = elf_file_add_symbols(packed, search->runtime, symtab);
	return only_memory(err);
}

static int read_found(struct search *search)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	int err;

	if (!search->symbols && !search->runtime)
		search->symbols = search->partial;
	if (!search->symbols)
		search->symbols = search->runtime;
	if (!search->runtime)
		search->runtime = search->symbols;
	if (!search->symbols)
		return 0;
	err = new_symtab(search->sources, &symtab);
	if (!err)
		err = elf_file_add_symbols(search->symbols, search->runtime, symtab);
	if (!err)
		err = add_debugdata(search, symtab);
	if (!err)
		err = elf_file_add_plt(search->runtime, symtab);
	if (!err)
		err = symtab_finish(symtab);
	if (!err)
		search->dso->symtab = TAKE_PTR(symtab);
	return only_memory(err);
}

static int load_user(struct search *search)
{
	find_user_files(search);
	return read_found(search);
}

static int load_module(struct search *search)
{
	int err;

	try_cached(search, SYMCACHE_ELF);
	try_cached(search, SYMCACHE_DEBUG);
	if (*search->dso->path == '/')
		try_host(search, "%s", search->dso->path);
	err = read_found(search);
	/* A module's mapping starts with its .text, wherever that is in the file. */
	if (!err && search->symbols)
		search->dso->bias = elf_file_text_offset(search->symbols);
	return err;
}

/* The vdso that the kernel gave to this very process. */
static int open_own_vdso(void **ret_copy, struct elf_file **ret)
{
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_free_ void *copy = NULL;
	size_t size;
	int err;

	if (!header)
		return -ENOENT;
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (size > VDSO_MAX)
		return -E2BIG;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, header, size);
	err = elf_file_open_memory(copy, size, ret);
	if (!err)
		*ret_copy = TAKE_PTR(copy);
	return err;
}

static int load_vdso(struct search *search)
{
	_cleanup_free_ void *copy = NULL;
	struct elf_file *file;
	int err;

	try_cached(search, SYMCACHE_VDSO);
	try_cached(search, SYMCACHE_ELF);
	if (!search_done(search) && !search->sources->no_host_files &&
	    !open_own_vdso(&copy, &file))
		consider(search, file);
	err = read_found(search);
	search_deinit(search);	/* while the copy is there */
	search->symbols = search->runtime = search->partial = NULL;
	return err;
}

/* Once, for one name: not worth the index that symtab_find_name() makes. */
static const struct symbol *scan_for_name(const struct symtab *symtab, const char *name)
{
	for (size_t i = 0; i < symtab_nr(symtab); i++)
		if (!strcmp(symtab_name(symtab, symtab_at(symtab, i)), name))
			return symtab_at(symtab, i);
	return NULL;
}

/* Where @symtab has the reference symbol, less where it was when the recording was made. */
static int find_bias(const struct dso *dso, const struct symtab *symtab, u64 *ret)
{
	const struct symbol *ref;

	*ret = 0;
	if (!dso->ref_name || !dso->ref_addr)
		return 0;
	ref = scan_for_name(symtab, dso->ref_name);
	if (!ref)
		return -ENOENT;
	*ret = ref->start - dso->ref_addr;
	return 0;
}

static int read_vmlinux(struct search *search)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	struct dso *dso = search->dso;
	int err;

	if (!search->symbols)
		return 0;
	err = new_symtab(search->sources, &symtab);
	if (!err)
		err = elf_file_add_symbols(search->symbols, NULL, symtab);
	if (!err)
		err = symtab_finish(symtab);
	if (!err)
		err = find_bias(dso, symtab, &dso->bias);
	if (!err && symtab_nr(symtab))
		dso->symtab = TAKE_PTR(symtab);
	return only_memory(err);
}

/* Not one without a build id: it would be this host's for any guest's. */
static void find_vmlinux(struct search *search)
{
	static const char *const places[] = {
		"/boot/vmlinux-%s",
		DEBUG_DIR "/boot/vmlinux-%s",
		"/lib/modules/%s/build/vmlinux",
		DEBUG_DIR "/lib/modules/%s/vmlinux",
		DEBUG_DIR "/boot/vmlinux-%s.debug",
	};
	const char *release = search->sources->release;
	char path[PATH_MAX];

	if (!search->dso->build_id.size)
		return;
	try_cached(search, SYMCACHE_ELF);
	try_host(search, "/boot/vmlinux");
	if (!release || strchr(release, '/') || strchr(release, '%'))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *at = strstr(places[i], "%s");

		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(at - places[i]), places[i],
			     release, at + 2) < (int)sizeof(path))
			try_host(search, "%s", path);
	}
}

static int read_kallsyms(struct dso *dso, const char *path)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *kallsyms = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	u64 bias;
	int err;

	err = file_read(AT_FDCWD, path, KALLSYMS_MAX_TEXT, &text, &size);
	if (!err)
		err = kallsyms_text_read(text, size, KALLSYMS_PERF, &kallsyms);
	if (!err)
		err = find_bias(dso, kallsyms_text_kernel(kallsyms), &bias);
	if (err)
		return err;
	dso->kallsyms = TAKE_PTR(kallsyms);
	dso->kallsyms_bias = bias;
	if (!dso->symtab) {
		dso->symtab = kallsyms_text_take_kernel(dso->kallsyms);
		dso->bias = bias;
	}
	return 0;
}

/* A recording without a build id is taken to be of this host's kernel, as by perf. */
static bool is_running_kernel(const struct dso *dso)
{
	_cleanup_free_ char *notes = NULL;
	struct build_id running;
	size_t size;

	if (!dso->build_id.size)
		return true;
	return !file_read(AT_FDCWD, "/sys/kernel/notes", NOTES_MAX, &notes, &size) &&
	       !build_id_from_notes(notes, size, false, &running) &&
	       build_id_equal(&running, &dso->build_id);
}

static int load_kallsyms(struct search *search)
{
	struct dso *dso = search->dso;
	char path[PATH_MAX];
	int err = -ENOENT;

	if (!symcache_find(search->sources->cache, &dso->build_id, SYMCACHE_KALLSYMS, path,
			   sizeof(path)))
		err = read_kallsyms(dso, path);
	if (err && err != -ENOMEM && !search->sources->no_host_files &&
	    !*search->sources->root && is_running_kernel(dso))
		err = read_kallsyms(dso, "/proc/kallsyms");
	return only_memory(err);
}

static int load_kernel(struct search *search)
{
	int err;

	find_vmlinux(search);
	err = read_vmlinux(search);
	return err ? err : load_kallsyms(search);
}

/* "start size name" lines, hexadecimal. */
static int add_perf_map_line(struct symtab *symtab, char *line)
{
	char *end;
	u64 start, size;

	start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return 0;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1])
		return 0;
	return symtab_add(symtab, start, size, 'T', end + 1);
}

static int load_perf_map(struct search *search)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	int err;

	if (search->sources->no_host_files || *search->sources->root ||
	    file_read(AT_FDCWD, search->dso->path, PERF_MAP_MAX, &text, NULL))
		return 0;
	err = new_symtab(search->sources, &symtab);
	rest = text;
	while (!err && (line = strsep(&rest, "\n")))
		err = add_perf_map_line(symtab, line);
	if (!err)
		err = symtab_finish(symtab);
	if (!err)
		search->dso->symtab = TAKE_PTR(symtab);
	return only_memory(err);
}

int dso_load(struct dso *dso, const struct dso_sources *sources)
{
	static int (*const loaders[])(struct search *) = {
		[DSO_USER] = load_user,
		[DSO_KERNEL] = load_kernel,
		[DSO_MODULE] = load_module,
		[DSO_VDSO] = load_vdso,
		[DSO_PERF_MAP] = load_perf_map,
	};
	struct search search = { .dso = dso, .sources = sources };
	int err = 0;

	if (dso->loaded)
		return 0;
	dso->loaded = true;
	if (dso->kind < ARRAY_SIZE(loaders))
		err = loaders[dso->kind](&search);
	search_deinit(&search);
	return err;
}

/* A copy relative to the module's start in that boot: what it is mapped at is its own business. */
int dso_load_module_from(struct dso *dso, const struct dso *kernel, u64 start)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	const struct kallsyms_text *text = kernel->kallsyms;
	const struct symtab *from = NULL;
	size_t len = strlen(dso->short_name);
	int err = symtab_create(&symtab);

	for (size_t i = 0; i < kallsyms_text_nr_modules(text); i++) {
		const char *name = kallsyms_text_module_name(text, i);

		if (strlen(name) + 2 == len && !strncmp(name, dso->short_name + 1, len - 2))
			from = kallsyms_text_module(text, i);
	}
	if (!from)
		return err;
	for (size_t i = 0; i < symtab_nr(from) && !err; i++) {
		const struct symbol *symbol = symtab_at(from, i);

		err = symtab_add(symtab, symbol->start - start, symbol->end - symbol->start,
				 symbol->type, symtab_name(from, symbol));
	}
	if (!err)
		err = symtab_finish(symtab);
	if (!err)
		dso->symtab = TAKE_PTR(symtab);
	return only_memory(err);
}
