/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof report: where the time of a recording went, as text. */
#include "output/report.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/errors.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/input.h"

#define DEFAULT_GRAPH_PERCENT 0.5

static struct {
	const char *input;
	struct report_options report;
	bool graph_given;
	bool order_given;
	bool children_given;
	bool tree;
	bool flat;
	bool stdio;
	bool inverted;
	u64 max_stack;
	struct input_symbols symbols;
	struct input_filter filter;
} opt = {
	.symbols = INPUT_SYMBOLS_DEFAULT,
	.input = DEFAULT_INPUT,
	.report = {
		.keys = { HIST_KEY_COMM, HIST_KEY_DSO, HIST_KEY_SYMBOL },
		.nr_keys = 3,
		.default_keys = true,
		.children = true,
		.graph = REPORT_GRAPH,
		.graph_percent = DEFAULT_GRAPH_PERCENT,
	},
	.max_stack = DEFAULT_MAX_STACK,
};

static const struct {
	const char *name;
	enum hist_key key;
} key_names[] = {
	{ "comm", HIST_KEY_COMM },     { "pid", HIST_KEY_PID }, { "tid", HIST_KEY_PID },
	{ "cpu", HIST_KEY_CPU },       { "vcpu", HIST_KEY_CPU }, { "dso", HIST_KEY_DSO },
	{ "module", HIST_KEY_DSO },    { "sym", HIST_KEY_SYMBOL },
	{ "symbol", HIST_KEY_SYMBOL },
};

static bool find_key(const char *name, size_t len, enum hist_key *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_names); i++) {
		if (strlen(key_names[i].name) != len || memcmp(key_names[i].name, name, len))
			continue;
		*ret = key_names[i].key;
		return true;
	}
	return false;
}

static bool has_key(const struct report_options *report, enum hist_key key)
{
	for (unsigned int i = 0; i < report->nr_keys; i++)
		if (report->keys[i] == key)
			return true;
	return false;
}

static int parse_sort(const char *text, void *arg, const char **ret_why)
{
	struct report_options *report = arg;

	report->nr_keys = 0;
	report->default_keys = false;
	while (*text) {
		size_t len = strcspn(text, ",");
		enum hist_key key;

		if (!find_key(text, len, &key)) {
			*ret_why = "keys are comm, pid, cpu (vcpu), dso (module), sym (symbol)";
			return -EINVAL;
		}
		if (!has_key(report, key))
			report->keys[report->nr_keys++] = key;
		text += len;
		text += *text == ',';
	}
	if (report->nr_keys)
		return 0;
	*ret_why = "no key";
	return -EINVAL;
}

/* perf takes any beginning of these words. */
static bool is_word(const char *text, size_t len, const char *word)
{
	return len && len <= strlen(word) && !strncmp(text, word, len);
}

static const struct {
	const char *name;
	enum report_graph graph;
} graph_names[] = {
	{ "none", REPORT_GRAPH_NONE },	       { "graph", REPORT_GRAPH },
	{ "flat", REPORT_GRAPH_FLAT },	       { "fractal", REPORT_GRAPH_FRACTAL },
	{ "folded", REPORT_GRAPH_FOLDED },
};

static bool parse_graph_word(const char *text, size_t len)
{
	struct report_options *report = &opt.report;

	for (size_t i = 0; i < ARRAY_SIZE(graph_names); i++) {
		if (!is_word(text, len, graph_names[i].name))
			continue;
		report->graph = graph_names[i].graph;
		return true;
	}
	if (is_word(text, len, "caller") || is_word(text, len, "callee")) {
		report->caller = is_word(text, len, "caller");
		opt.order_given = true;
		return true;
	}
	if (is_word(text, len, "percent") || is_word(text, len, "period")) {
		report->periods = is_word(text, len, "period");
		return true;
	}
	return is_word(text, len, "function");
}

/* A number: first the least percentage, then the number of branches of an entry. */
static bool parse_graph_number(const char *text, size_t len, unsigned int *nr_numbers)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || end != text + len || number < 0)
		return false;
	if ((*nr_numbers)++ == 0)
		opt.report.graph_percent = number;
	else
		opt.report.print_limit = number;
	return true;
}

static int parse_graph(const char *text, void *arg, const char **ret_why)
{
	unsigned int nr_numbers = 0;

	(void)arg;
	opt.graph_given = true;
	while (text && *text) {
		size_t len = strcspn(text, ",");

		if (!parse_graph_word(text, len) && !parse_graph_number(text, len, &nr_numbers)) {
			*ret_why = "it is [graph|fractal|flat|folded|none],[PERCENT],[LIMIT],"
				   "[caller|callee],[percent|period]";
			return -EINVAL;
		}
		text += len;
		text += *text == ',';
	}
	return 0;
}

static int parse_percent_limit(const char *text, void *arg, const char **ret_why)
{
	char *end;
	double percent = strtod(text, &end);

	(void)arg;
	if (end == text || *end || !(percent >= 0) || percent > 100) {
		*ret_why = "it is a percentage";
		return -EINVAL;
	}
	opt.report.entry_percent = percent;
	opt.report.graph_percent = percent;
	return 0;
}

static const struct option_spec options[] = {
	OPT_GROUP("What to show"),
	OPT_FILE('i', "input", &opt.input, "the recording; - for standard input"),
	OPT_CALLBACK('s', "sort", parse_sort, &opt.report, "KEYS",
		     "comm,pid,cpu,dso,sym: what makes an entry (comm,dso,sym)"),
	OPT_FLAG(0, "children", &opt.report.children,
		 "count callers too, in a column of its own (the default)"),
	INPUT_FILTER_OPTIONS(opt.filter),
	OPT_CALLBACK(0, "percent-limit", parse_percent_limit, NULL, "PERCENT",
		     "leave out entries and branches below this"),
	OPT_NUMBER(0, "max-stack", &opt.max_stack, 1, 65535, "N",
		   "frames of a chain that count (default 127)"),
	OPT_GROUP("How"),
	OPT_CALLBACK('g', "call-graph", parse_graph, NULL, "HOW",
		     "graph|fractal|flat|folded|none,PERCENT,LIMIT,caller|callee,percent|period",
		     .optional_arg = true),
	OPT_FLAG('G', "inverted", &opt.inverted, "call graphs begin at the outermost caller"),
	OPT_FLAG(0, "tree", &opt.tree, "one call tree for each command"),
	OPT_FLAG(0, "flat", &opt.flat, "entries without call graphs and callers"),
	OPT_FLAG(0, "stdio", &opt.stdio, "text, as always"),
	INPUT_SYMBOL_OPTIONS(opt.symbols),
	OPT_END
};

static const struct command_spec spec = {
	.name = "report",
	.usage = "[-i FILE] [OPTIONS]",
	.summary = "Show where the time of a recording went",
	.options = options,
};

/* --tree and --flat are short for other options. */
static void apply_shapes(void)
{
	struct report_options *report = &opt.report;

	if (opt.tree || opt.flat)
		report->children = false;
	if (opt.flat)
		report->graph = REPORT_GRAPH_NONE;
	if (opt.tree) {
		report->caller = opt.order_given = true;
		if (report->default_keys)
			report->nr_keys = 1;
	}
	if (opt.inverted)
		report->caller = opt.order_given = true;
}

static bool any_chains(const struct profile *profile)
{
	for (size_t i = 0; i < perfdata_reader_nr_attrs(profile->reader); i++)
		if (perfdata_reader_attr(profile->reader, i)->sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

static int load(struct profile **ret)
{
	const struct profile_options profile_options = {
		.resolver = input_resolver_options(&opt.symbols),
		.details = (has_key(&opt.report, HIST_KEY_PID) ? PROFILE_DETAIL_THREAD : 0) |
			   (has_key(&opt.report, HIST_KEY_CPU) ? PROFILE_DETAIL_CPU : 0),
		.max_stack = opt.max_stack,
		.keep_outermost = opt.report.caller,
		.filter = input_filter_active(&opt.filter) ? input_filter_sample : NULL,
		.filter_arg = &opt.filter,
	};
	const char *why = NULL;
	int err = profile_load(opt.input, &profile_options, ret, &why);

	if (err)
		return input_error(opt.input, err, why);
	input_tell_sources((*ret)->resolver);
	input_warn_user_stacks((*ret)->reader);
	return STATUS_OK;
}

static int run_report(struct outbuf *out)
{
	_cleanup_(profile_destroy) struct profile *profile = NULL;
	int err, status = input_check_symbols(&opt.symbols);

	if (!status)
		status = load(&profile);
	if (status)
		return status;
	if (profile->truncated)
		input_warn_truncated(opt.input);
	if (!any_chains(profile)) {
		if (opt.graph_given && opt.report.graph != REPORT_GRAPH_NONE) {
			log_error("%s: no call chains were recorded; leave out -g", opt.input);
			return STATUS_FAILURE;
		}
		opt.report.children = false;
		opt.report.graph = REPORT_GRAPH_NONE;
	}
	err = report_write(profile, &opt.report, out);
	return err ? input_error(opt.input, err, NULL) : STATUS_OK;
}

int cmd_report(int argc, char **argv)
{
	struct operands operands;
	struct outbuf out;
	int status, err;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	if (opt.tree && opt.flat)
		return options_usage_error(&spec, "--tree and --flat exclude each other");
	apply_shapes();
	if (!opt.order_given)
		opt.report.caller = opt.report.children;
	err = outbuf_init(&out, STDOUT_FILENO);
	if (err) {
		log_error("out of memory");
		return STATUS_FAILURE;
	}
	status = run_report(&out);
	err = outbuf_flush(&out);
	if (err && err != -EPIPE)
		log_error("standard output: %s", error_text(err));
	outbuf_deinit(&out);
	input_filter_deinit(&opt.filter);
	return err ? STATUS_FAILURE : status;
}
