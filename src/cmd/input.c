/* SPDX-License-Identifier: GPL-2.0-only */
/* What the commands that read a recording have in common. */
#include "cmd/input.h"

#include <stdio.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/log.h"

bool input_filter_active(const struct input_filter *filter)
{
	return filter->comms.nr || filter->pids.nr || filter->tids.nr;
}

static bool matches_number(const struct option_list *list, u32 number)
{
	char text[16];

	if (!list->nr)
		return true;
	snprintf(text, sizeof(text), "%d", (int)number);
	return option_list_matches(list, text);
}

bool input_filter_sample(const struct perfdata_record *sample, const char *comm, void *arg)
{
	const struct input_filter *filter = arg;

	return option_list_matches(&filter->comms, comm) &&
	       matches_number(&filter->pids, sample->pid) &&
	       matches_number(&filter->tids, sample->tid);
}

void input_filter_deinit(struct input_filter *filter)
{
	option_list_deinit(&filter->comms);
	option_list_deinit(&filter->pids);
	option_list_deinit(&filter->tids);
}

int input_parse_sources(const char *text, void *arg, const char **ret_why)
{
	return symbol_source_list_parse(text, arg, ret_why);
}

/* One line that is written over, on a terminal only. Ctrl-C ends the program as ever. */
static bool show_fetch(const char *path, u64 done, u64 total)
{
	char safe[256];

	if (!isatty(STDERR_FILENO) || log_get_level() < LOG_LEVEL_NOTICE)
		return false;
	escape_terminal(path, safe, sizeof(safe));
	if (total)
		fprintf(stderr, "\r%s: %.1f of %.1f MB\033[K", safe, done / 1e6, total / 1e6);
	else
		fprintf(stderr, "\r%s: asking debuginfod\033[K", safe);
	return false;
}

struct resolver_options input_resolver_options(const struct input_symbols *symbols)
{
	return (struct resolver_options){
		.sources = {
			.list = symbols->sources,
			.cache_dir = symbols->cache_dir,
			.root = symbols->symfs,
			.guestmount = symbols->guestmount,
			.vmlinux = symbols->vmlinux,
			.kallsyms = symbols->kallsyms,
			.modules = symbols->modules,
			.progress = show_fetch,
		},
		.no_demangle = !symbols->demangle,
		.inlines = symbols->inlines,
	};
}

int input_check_symbols(const struct input_symbols *symbols)
{
	const struct {
		const char *option, *path;
	} given[] = {
		{ "buildid-dir", symbols->cache_dir },
		{ "guestvmlinux", symbols->vmlinux },
		{ "guestkallsyms", symbols->kallsyms },
	};
	int status = STATUS_OK;

	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		if (!given[i].path || !access(given[i].path, R_OK))
			continue;
		log_error("--%s %s: %s", given[i].option, given[i].path, error_text(-errno));
		status = STATUS_FAILURE;
	}
	return status;
}

static void tell_missing(const struct resolver *resolver)
{
	char safe[256], hex[BUILD_ID_HEX], others[48] = "";
	u32 first, nr = resolver_nr_missing(resolver, &first);

	if (!nr)
		return;
	escape_terminal(resolver_dso_name(resolver, first), safe, sizeof(safe));
	build_id_hex(resolver_dso_build_id(resolver, first), hex);
	if (nr > 1)
		snprintf(others, sizeof(others), ", nor of %u other%s", nr - 1,
			 nr > 2 ? "s" : "");
	log_warning("no symbols found of %s, build id %s%s; --buildid-dir DIR says where they are",
		    safe, hex, others);
}

void input_tell_sources(const struct resolver *resolver)
{
	const struct symbol_sources *sources = resolver_sources(resolver);
	const char *problem = symbol_sources_problem(sources);
	u64 mismatches = symbol_sources_mismatches(sources);

	if (isatty(STDERR_FILENO) && log_get_level() >= LOG_LEVEL_NOTICE)
		fputs("\r\033[K", stderr);
	if (problem)
		log_warning("%s", problem);
	if (mismatches)
		log_debug("%llu files had another build id than the recorded one and were not used",
			  (unsigned long long)mismatches);
	tell_missing(resolver);
}

int input_error(const char *path, int err, const char *why)
{
	if (why)
		log_error("%s: %s: %s", path, error_text(err), why);
	else if (err == -ENOENT)
		log_error("%s: no such file; `kvmprof record` writes one, -i FILE names another",
			  path);
	else
		log_error("%s: %s", path, error_text(err));
	return STATUS_FAILURE;
}

void input_warn_user_stacks(const struct perfdata_reader *reader)
{
	struct perfdata_reader_stats stats;

	perfdata_reader_stats(reader, &stats);
	if (stats.user_stacks)
		log_warning("%llu samples carry copies of the user stack that are not unwound "
			    "here; perf does", (unsigned long long)stats.user_stacks);
}

void input_warn_truncated(const char *path)
{
	log_warning("%s: the file ends early, was its recorder killed? It goes this far", path);
}
