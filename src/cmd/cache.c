/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof cache: what is in ~/.debug, putting files into it and taking them out. */
#include <fcntl.h>
#include <libsmartcols.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "output/json.h"
#include "symbols/cache-admin.h"
#include "symbols/elf-file.h"

#define DAY (24 * 60 * 60)
#define MAX_DAYS 36500
#define NO_LIMIT UINT64_MAX

static struct {
	const char *dir;
	bool json;
	u64 max_size;
	u64 older;
} opt = {
	.max_size = NO_LIMIT,
};

static const struct option_spec options[] = {
	OPT_STRING(0, "buildid-dir", &opt.dir, "DIR",
		   "the cache (default ~/.debug or perf's buildid.dir)",
		   .complete = "dir"),
	OPT_FLAG('J', "json", &opt.json, "list: as JSON"),
	OPT_SIZE(0, "max-size", &opt.max_size, "prune: until no more than this is left"),
	OPT_NUMBER(0, "older", &opt.older, 1, MAX_DAYS, "DAYS",
		   "prune: what was not used for so long"),
	OPT_END
};

static void print_actions(void)
{
	printf("\nActions\n"
	       "    list                    what there is, least recently used first\n"
	       "    add FILE...             ELF files, each under its build id\n"
	       "    remove BUILDID|FILE...  all that there is under a build id, or a file's\n"
	       "    prune                   what is too much (--max-size) or too old (--older)\n");
}

static const struct command_spec spec = {
	.name = "cache",
	.usage = "list|add|remove|prune [OPTIONS] [FILE…]",
	.summary = "Look after the symbols that recordings need, in ~/.debug",
	.options = options,
	.max_operands = OPERANDS_ANY,
	.print_more = print_actions,
};

static void add_kinds(struct strbuf *sb, const struct symcache_entry *entry)
{
	for (int kind = 0, nr = 0; kind < SYMCACHE_NR_KINDS; kind++)
		if (entry->kinds & 1U << kind)
			strbuf_addf(sb, "%s%s", nr++ ? "," : "", symcache_kind_name(kind));
}

/* "3.4M". */
static void add_size(struct strbuf *sb, u64 bytes)
{
	static const char units[] = "BKMGT";
	double size = bytes;
	unsigned int unit = 0;

	for (; size >= 1024 && unit < sizeof(units) - 2; unit++)
		size /= 1024;
	if (unit)
		strbuf_addf(sb, "%.1f%c", size, units[unit]);
	else
		strbuf_addf(sb, "%llu", (unsigned long long)bytes);
}

static void add_time(struct strbuf *sb, u64 seconds)
{
	time_t time = seconds;
	char text[32];
	struct tm tm;

	if (localtime_r(&time, &tm) && strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm))
		strbuf_adds(sb, text);
}

static int set_cell(struct libscols_line *line, size_t column, const struct strbuf *text)
{
	return strbuf_error(text) ?: scols_line_set_data(line, column, strbuf_cstr(text));
}

static int fill_line(struct libscols_line *line, const struct symcache_entry *entry)
{
	_cleanup_strbuf_ struct strbuf kinds = STRBUF_INIT, size = STRBUF_INIT, used = STRBUF_INIT;
	char hex[BUILD_ID_HEX], path[PATH_MAX];
	int err;

	build_id_hex(&entry->id, hex);
	add_kinds(&kinds, entry);
	add_size(&size, entry->size);
	add_time(&used, entry->last_use);
	escape_terminal(entry->path, path, sizeof(path));
	err = scols_line_set_data(line, 0, hex);
	err = err ?: set_cell(line, 1, &kinds);
	err = err ?: set_cell(line, 2, &size);
	err = err ?: set_cell(line, 3, &used);
	err = err ?: scols_line_set_data(line, 4, entry->ours ? "kvmprof" : "others");
	return err ?: scols_line_set_data(line, 5, path);
}

static int print_table(const struct symcache_list *list)
{
	static const char *const names[] = { "BUILD_ID", "KINDS", "SIZE", "USED", "BY", "PATH" };
	struct libscols_table *table = scols_new_table();
	int err = 0;

	if (!table)
		return -ENOMEM;
	scols_table_set_stream(table, stdout);
	for (size_t i = 0; !err && i < ARRAY_SIZE(names); i++)
		if (!scols_table_new_column(table, names[i], 0, i == 2 ? SCOLS_FL_RIGHT : 0))
			err = -ENOMEM;
	for (size_t i = 0; !err && i < list->entries.nr; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		err = line ? fill_line(line, &list->entries.data[i]) : -ENOMEM;
	}
	err = err ?: scols_print_table(table);
	scols_unref_table(table);
	return err;
}

static void add_json_entry(struct strbuf *sb, const struct symcache_entry *entry)
{
	char hex[BUILD_ID_HEX];

	build_id_hex(&entry->id, hex);
	strbuf_addf(sb, "{\n      \"build_id\": \"%s\",\n      \"kinds\": [", hex);
	for (int kind = 0, nr = 0; kind < SYMCACHE_NR_KINDS; kind++)
		if (entry->kinds & 1U << kind)
			strbuf_addf(sb, "%s\"%s\"", nr++ ? ", " : "", symcache_kind_name(kind));
	strbuf_addf(sb, "],\n      \"size\": %llu,\n      \"used\": %llu,\n      \"by\": \"%s\","
		    "\n      \"path\": ", (unsigned long long)entry->size,
		    (unsigned long long)entry->last_use, entry->ours ? "kvmprof" : "others");
	json_add_string(sb, entry->path);
	strbuf_adds(sb, "\n    }");
}

static int print_json(const struct symcache_list *list)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	strbuf_adds(&sb, "{\n  \"entries\": [");
	for (size_t i = 0; i < list->entries.nr; i++) {
		strbuf_adds(&sb, i ? ", " : "");
		add_json_entry(&sb, &list->entries.data[i]);
	}
	strbuf_adds(&sb, "]\n}\n");
	if (!strbuf_error(&sb))
		fputs(strbuf_cstr(&sb), stdout);
	return strbuf_error(&sb);
}

static int run_list(struct symcache *cache, const struct operands *operands)
{
	struct symcache_list list;
	int err;

	if (operands->nr > 1)
		return options_usage_error(&spec, "list takes no names");
	err = symcache_list(cache, &list);
	if (!err) {
		err = opt.json ? print_json(&list) : print_table(&list);
		symcache_list_deinit(&list);
	}
	if (err)
		log_error_errno(err, "%s", symcache_dir(cache));
	return err ? STATUS_FAILURE : STATUS_OK;
}

/* The file's own build id, and what kind of file it is. */
static int ask_file(const char *path, struct build_id *ret_id, enum symcache_kind *ret_kind)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	int err = elf_file_open(path, &file);

	if (err == -EBADMSG)
		log_error("%s: not an ELF file", path);
	else if (err)
		log_error_errno(err, "%s", path);
	if (err)
		return err;
	err = elf_file_build_id(file, ret_id);
	if (err)
		log_error("%s: it has no build id, by which it could be found again", path);
	else
		*ret_kind = elf_file_is_debug(file) ? SYMCACHE_DEBUG : SYMCACHE_ELF;
	return err;
}

static int store_file(struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
		      const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char full[PATH_MAX];
	struct stat st;
	void *map;
	int err;

	if (fd < 0 || fstat(fd, &st) || !realpath(path, full))
		return -errno;
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	err = symcache_add_file(cache, id, kind, full, map, st.st_size);
	munmap(map, st.st_size);
	return err;
}

static int add_one(struct symcache *cache, const char *path)
{
	enum symcache_kind kind = SYMCACHE_ELF;
	struct build_id id;
	int err = ask_file(path, &id, &kind);

	if (err)
		return err;
	err = store_file(cache, &id, kind, path);
	if (err == -EBADMSG)
		log_error("%s: the file is not whole", path);
	else if (err)
		log_error_errno(err, "%s cannot be stored in %s", path, symcache_dir(cache));
	return err;
}

/* A build id is one first of all; a file of that name has "./" before it. */
static int remove_one(struct symcache *cache, const char *what)
{
	enum symcache_kind kind;
	struct build_id id;
	int err = symcache_parse_id(what, &id) ? ask_file(what, &id, &kind) : 0;

	if (err)
		return err;
	err = symcache_remove(cache, &id);
	if (err == -ENOENT)
		log_error("%s: %s has nothing of it", what, symcache_dir(cache));
	else if (err)
		log_error_errno(err, "%s cannot be removed from %s", what, symcache_dir(cache));
	return err;
}

/* All are tried; one that fails is a failure. */
static int for_each(struct symcache *cache, const struct operands *operands,
		    int (*fn)(struct symcache *cache, const char *name))
{
	int status = STATUS_OK;

	if (operands->nr < 2)
		return options_usage_error(&spec, "%s: of what?", operands->args[0]);
	for (unsigned int i = 1; i < operands->nr; i++)
		if (fn(cache, operands->args[i]))
			status = STATUS_FAILURE;
	return status;
}

static int run_add(struct symcache *cache, const struct operands *operands)
{
	return for_each(cache, operands, add_one);
}

static int run_remove(struct symcache *cache, const struct operands *operands)
{
	return for_each(cache, operands, remove_one);
}

/* Of the time that is @days ago; 0, which is before all others, when there was no such time. */
static u64 days_ago(u64 days)
{
	u64 now = time(NULL), age = days * DAY;

	return age < now ? now - age : 0;
}

static int run_prune(struct symcache *cache, const struct operands *operands)
{
	const struct symcache_limits limits = {
		.max_size = opt.max_size,
		.used_since = opt.older ? days_ago(opt.older) : 0,
	};
	struct symcache_pruned pruned = { 0 };
	int err;

	if (operands->nr > 1)
		return options_usage_error(&spec, "prune takes no names");
	if (opt.max_size == NO_LIMIT && !opt.older)
		return options_usage_error(&spec, "prune: --max-size or --older says what goes");
	err = symcache_prune(cache, &limits, &pruned);
	log_notice("%s: %zu entries removed, %.1f MB; %.1f MB are left", symcache_dir(cache),
		   pruned.nr, pruned.bytes / 1e6, pruned.left / 1e6);
	if (err)
		log_error_errno(err, "%s", symcache_dir(cache));
	return err ? STATUS_FAILURE : STATUS_OK;
}

static const struct {
	const char *name;
	int (*run)(struct symcache *cache, const struct operands *operands);
	bool json, limits;
} actions[] = {
	{ "list", run_list, .json = true },
	{ "add", run_add },
	{ "remove", run_remove },
	{ "prune", run_prune, .limits = true },
};

static int run(const struct operands *operands)
{
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	bool limits = opt.max_size != NO_LIMIT || opt.older;
	size_t i = 0;
	int err;

	while (i < ARRAY_SIZE(actions) && strcmp(actions[i].name, operands->args[0]))
		i++;
	if (i == ARRAY_SIZE(actions))
		return options_usage_error(&spec, "unknown action '%s'", operands->args[0]);
	if ((opt.json && !actions[i].json) || (limits && !actions[i].limits))
		return options_usage_error(&spec, "that option is not for %s", actions[i].name);
	err = symcache_create(opt.dir, &cache);
	if (err) {
		log_error_errno(err, "the symbol cache");
		return STATUS_FAILURE;
	}
	return actions[i].run(cache, operands);
}

int cmd_cache(int argc, char **argv)
{
	struct operands operands;
	int status;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	if (!operands.nr)
		return options_usage_error(&spec, "what to do: list, add, remove or prune");
	return run(&operands);
}
