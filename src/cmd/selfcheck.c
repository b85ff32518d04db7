/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof selfcheck: what works on this host, and why the rest does not. */
#include "capture/selfcheck.h"

#include <libsmartcols.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "output/json.h"
#include "symbols/cache.h"
#include "symbols/debuginfod.h"

static struct {
	bool json;
	bool noheadings;
} opt;

static void print_more(void)
{
	printf("\nWith CHECKs, their names in the first column, only those, and the exit status\n"
	       "is whether all of them work. Without, whether recording works in some mode.\n"
	       "The output of `kvmprof selfcheck` belongs into every report of a problem.\n");
}

static const struct option_spec options[] = {
	OPT_GROUP("Output"),
	OPT_FLAG('j', "json", &opt.json, "as JSON"),
	OPT_FLAG('n', "noheadings", &opt.noheadings, "no line of column names"),
	OPT_END
};

static const struct command_spec spec = {
	.name = "selfcheck",
	.usage = "[OPTIONS] [CHECK…]",
	.summary = "Try what recording takes on this host, and say what does not work and why",
	.options = options,
	.max_operands = OPERANDS_ANY,
	.print_more = print_more,
};

static const char *const state_names[] = {
	[SELFCHECK_YES] = "yes",
	[SELFCHECK_NO] = "no",
	[SELFCHECK_NONE] = "-",
};

/* Where recorded guests' symbols go. */
static void check_cache(struct selfcheck *check)
{
	struct symcache *cache = NULL;
	int err = symcache_create(NULL, &cache);

	if (!err)
		err = symcache_check(cache);
	if (err)
		selfcheck_add(check, "symbols.cache", SELFCHECK_NO,
			      "--buildid-dir DIR names another", "%s: %s",
			      cache ? symcache_dir(cache) : "~/.debug", error_text(err));
	else
		selfcheck_add(check, "symbols.cache", SELFCHECK_YES, NULL, "%s",
			      symcache_dir(cache));
	symcache_destroy(cache);
}

static void check_debuginfod(struct selfcheck *check)
{
	struct debuginfod *debuginfod = NULL;
	const char *why = NULL;
	int err = debuginfod_create(NULL, &debuginfod, &why);

	if (err == -ENOENT)
		selfcheck_add(check, "symbols.debuginfod", SELFCHECK_NONE, NULL,
			      "not asked for: DEBUGINFOD_URLS is not set");
	else if (err)
		selfcheck_add(check, "symbols.debuginfod", SELFCHECK_NO, NULL, "%s",
			      why ?: error_text(err));
	else
		selfcheck_add(check, "symbols.debuginfod", SELFCHECK_YES, NULL,
			      "the library is there (servers are not asked now)");
	debuginfod_destroy(debuginfod);
}

/* What is known and what helps, in one line. */
static void add_detail(struct strbuf *sb, const struct selfcheck_result *result)
{
	strbuf_adds(sb, result->detail);
	if (result->remedy)
		strbuf_addf(sb, "; %s", result->remedy);
}

static int add_line(struct libscols_table *table, const struct selfcheck_result *result)
{
	_cleanup_strbuf_ struct strbuf detail = STRBUF_INIT;
	struct libscols_line *line = scols_table_new_line(table, NULL);
	int err;

	if (!line)
		return -ENOMEM;
	add_detail(&detail, result);
	err = strbuf_error(&detail) ?: scols_line_set_data(line, 0, result->name);
	err = err ?: scols_line_set_data(line, 1, state_names[result->state]);
	return err ?: scols_line_set_data(line, 2, strbuf_cstr(&detail));
}

static int print_table(const struct selfcheck_result *const *results, size_t nr)
{
	struct libscols_table *table = scols_new_table();
	int err = 0;

	if (!table)
		return -ENOMEM;
	scols_table_enable_noheadings(table, opt.noheadings);
	if (!scols_table_new_column(table, "CHECK", 0, 0) ||
	    !scols_table_new_column(table, "WORKS", 0, 0) ||
	    !scols_table_new_column(table, "DETAIL", 0, SCOLS_FL_WRAP))
		err = -ENOMEM;
	for (size_t i = 0; i < nr && !err; i++)
		err = add_line(table, results[i]);
	err = err ?: scols_print_table(table);
	scols_unref_table(table);
	return err;
}

static void add_json_result(struct strbuf *sb, const struct selfcheck_result *result)
{
	static const char *const values[] = {
		[SELFCHECK_YES] = "true", [SELFCHECK_NO] = "false", [SELFCHECK_NONE] = "null",
	};

	strbuf_adds(sb, "    {\"check\": ");
	json_add_string(sb, result->name);
	strbuf_addf(sb, ", \"works\": %s, \"detail\": ", values[result->state]);
	json_add_string(sb, result->detail);
	strbuf_adds(sb, ", \"remedy\": ");
	if (result->remedy)
		json_add_string(sb, result->remedy);
	else
		strbuf_adds(sb, "null");
	strbuf_addc(sb, '}');
}

static int print_json(const struct selfcheck_result *const *results, size_t nr, bool works)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "{\n  \"version\": \"%s\",\n  \"works\": %s,\n  \"checks\": [\n",
		    KVMPROF_VERSION, works ? "true" : "false");
	for (size_t i = 0; i < nr; i++) {
		add_json_result(&sb, results[i]);
		strbuf_adds(&sb, i + 1 < nr ? ",\n" : "\n");
	}
	strbuf_adds(&sb, "  ]\n}\n");
	if (strbuf_error(&sb))
		return strbuf_error(&sb);
	fputs(strbuf_cstr(&sb), stdout);
	return 0;
}

static void run_checks(struct selfcheck *check)
{
	_cleanup_(vm_host_close) struct vm_host *host = NULL;
	const char *why = NULL;
	int err = vm_host_open(&host, &why);

	selfcheck_host(check, host, err ? why ?: error_text(err) : NULL);
	check_cache(check);
	check_debuginfod(check);
	if (host)
		selfcheck_guests(check, host);
}

/* Those that were asked for, or all. Whether they work, or recording does. */
static int choose(const struct selfcheck *check, const struct operands *operands,
		  const struct selfcheck_result **chosen, size_t *ret_nr, bool *ret_works)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < operands->nr; i++) {
		chosen[nr] = selfcheck_find(check, operands->args[i]);
		if (!chosen[nr])
			return options_usage_error(&spec, "there is no check '%s' here",
						   operands->args[i]);
		*ret_works &= chosen[nr++]->state != SELFCHECK_NO;
	}
	if (!operands->nr) {
		vec_for_each(&check->results, result)
			chosen[nr++] = result;
		*ret_works = selfcheck_find(check, "record")->state == SELFCHECK_YES;
	}
	*ret_nr = nr;
	return STATUS_OK;
}

static int print(const struct selfcheck *check, const struct operands *operands)
{
	_cleanup_free_ const struct selfcheck_result **chosen =
		calloc(MAX(check->results.nr, (size_t)operands->nr), sizeof(*chosen));
	bool works = true;
	size_t nr = 0;
	int err = check->error, status;

	if (err || !chosen) {
		log_error("out of memory");
		return STATUS_FAILURE;
	}
	status = choose(check, operands, chosen, &nr, &works);
	if (status)
		return status;
	err = opt.json ? print_json(chosen, nr, works) : print_table(chosen, nr);
	if (err)
		log_error_errno(err, "cannot show the checks");
	return err || !works ? STATUS_FAILURE : STATUS_OK;
}

int cmd_selfcheck(int argc, char **argv)
{
	struct selfcheck check = { .error = 0 };
	struct operands operands;
	int status;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	run_checks(&check);
	status = print(&check, &operands);
	selfcheck_deinit(&check);
	return status;
}
