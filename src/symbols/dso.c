/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbols of an object: of the files that symbols/sources.h finds those count that dso__load()
 * of tools/perf/util/symbol.c, Linux 6.1, would take.
 */
#include "symbols/dso.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "symbols/elf-file.h"

#define NOTES_MAX (1 << 20)
#define PERF_MAP_MAX (256U << 20)

/* A running search: the file with the symbols, and the one that is mapped. */
struct search {
	struct dso *dso;
	const struct dso_sources *sources;
	struct elf_file *symbols;
	struct elf_file *runtime;
	struct elf_file *partial;	/* for when there is no better */
	struct elf_file *dwarf;		/* when it is wanted */
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
	dwarf_lines_destroy(dso->lines);
	if (dso->segments_file != dso->dwarf_file)
		elf_file_close(dso->segments_file);
	elf_file_close(dso->dwarf_file);
	free(dso);
}

/* One file may have several parts. */
static void search_deinit(struct search *search)
{
	if (search->dwarf != search->symbols && search->dwarf != search->runtime)
		elf_file_close(search->dwarf);
	if (search->runtime != search->symbols)
		elf_file_close(search->runtime);
	if (search->partial != search->symbols)
		elf_file_close(search->partial);
	elf_file_close(search->symbols);
}

/* What the lines need stays open with the object. */
static int keep_lines(struct search *search)
{
	struct dso *dso = search->dso;
	int err;

	if (!search->dwarf)
		return 0;
	err = dwarf_lines_create(elf_file_elf(search->dwarf), &dso->lines);
	if (err)
		return err == -ENOMEM ? err : 0;
	dso->dwarf_file = search->dwarf;
	if (dso->kind == DSO_USER)
		dso->segments_file = search->runtime ? search->runtime : search->dwarf;
	if (search->symbols == dso->dwarf_file || search->symbols == dso->segments_file)
		search->symbols = NULL;
	if (search->runtime == dso->dwarf_file || search->runtime == dso->segments_file)
		search->runtime = NULL;
	if (search->partial == dso->segments_file)
		search->partial = NULL;
	search->dwarf = NULL;
	return 0;
}

struct dwarf_lines *dso_lines(const struct dso *dso, u64 addr, u64 *ret_addr)
{
	if (!dso->lines || (dso->segments_file &&
			    elf_file_address(dso->segments_file, addr, &addr)))
		return NULL;
	*ret_addr = addr;
	return dso->lines;
}

/* Takes @file over: keeps it when it is of use, else closes it. */
static void consider(struct search *search, struct elf_file *file)
{
	bool used = false;

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
	if (search->sources->lines && !search->dwarf && elf_file_has_dwarf(file)) {
		search->dwarf = file;
		used = true;
	}
	if (!used)
		elf_file_close(file);
}

static bool take_offer(void *arg, struct elf_file *file)
{
	struct search *search = arg;

	consider(search, file);
	return search->symbols && search->runtime && (search->dwarf || !search->sources->lines);
}

static int find_files(struct search *search, enum symbol_object object)
{
	const struct symbol_query query = {
		.object = object,
		.build_id = search->dso->build_id,
		.path = search->dso->path,
		.release = search->sources->release,
	};

	return symbol_sources_find(search->sources->from, &query, take_offer, search);
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
	int err = find_files(search, SYMBOL_OBJECT_USER);

	return err ? err : read_found(search);
}

static int load_module(struct search *search)
{
	int err = find_files(search, SYMBOL_OBJECT_MODULE);

	if (!err)
		err = read_found(search);
	/* A module's mapping starts with its .text, wherever that is in the file. */
	if (!err && search->symbols)
		search->dso->bias = elf_file_text_offset(search->symbols);
	return err;
}

static int load_vdso(struct search *search)
{
	int err = find_files(search, SYMBOL_OBJECT_VDSO);

	return err ? err : read_found(search);
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
	const struct symbol_sources *from = search->sources->from;
	char path[PATH_MAX];
	int err = -ENOENT;

	if (symbol_sources_kallsyms(from))
		err = read_kallsyms(dso, symbol_sources_kallsyms(from));
	if (err && err != -ENOMEM && symbol_sources_has(from, SYMBOL_SOURCE_CACHE) &&
	    !symcache_find(symbol_sources_cache(from), &dso->build_id, SYMCACHE_KALLSYMS, path,
			   sizeof(path)))
		err = read_kallsyms(dso, path);
	if (err && err != -ENOMEM && symbol_sources_has(from, SYMBOL_SOURCE_HOST) &&
	    !*symbol_sources_root(from) && is_running_kernel(dso))
		err = read_kallsyms(dso, "/proc/kallsyms");
	return only_memory(err);
}

static int load_kernel(struct search *search)
{
	int err = find_files(search, SYMBOL_OBJECT_KERNEL);

	if (!err)
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

	if (!symbol_sources_has(search->sources->from, SYMBOL_SOURCE_HOST) ||
	    *symbol_sources_root(search->sources->from) ||
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
	if (!err)
		err = keep_lines(&search);
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
