/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof flamegraph: an interactive HTML flame graph of a recording. */
#include <libgen.h>
#include <stdio.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/input.h"
#include "output/flamegraph-profile.h"
#include "perfdata/format.h"

#define MAX_NOTES 8

static const char *const by_names[] = { "none", "comm", "thread", NULL };

static struct {
	const char *input;
	const char *output;
	const char *event;
	struct input_filter filter;
	struct input_symbols symbols;
	int by;		/* enum profile_by */
	const char *title;
	bool inverted;
} opt = {
	.symbols = INPUT_SYMBOLS_DEFAULT,
	.input = DEFAULT_INPUT,
	.output = "flamegraph.html",
	.by = PROFILE_BY_COMM,
};

static const struct option_spec options[] = {
	OPT_GROUP("Samples"),
	OPT_FILE('i', "input", &opt.input,
		 "the recording (default perf.data); - for standard input"),
	OPT_STRING('e', "event", &opt.event, "EVENT", "of several events this one"),
	INPUT_FILTER_OPTIONS(opt.filter),
	INPUT_SYMBOL_OPTIONS(opt.symbols),
	OPT_GROUP("Page"),
	OPT_FILE('o', "output", &opt.output,
		 "the page (default flamegraph.html); - for standard output"),
	OPT_STRING(0, "title", &opt.title, "TEXT", "the heading"),
	OPT_CHOICE(0, "by", &opt.by, by_names, "WHAT", "a first level of frames (default comm)"),
	OPT_FLAG(0, "inverted", &opt.inverted, "the root at the top: an icicle graph"),
	OPT_END
};

static const struct command_spec spec = {
	.name = "flamegraph",
	.usage = "[-i FILE] [-o FILE] [OPTIONS]",
	.summary = "Make an interactive HTML flame graph of a recording",
	.options = options,
};

/* What the weights, the event's periods, count. */
static const char *event_unit(const struct profile_event *event)
{
	if (event->period == event->samples)
		return "samples";
	if (!strncmp(event->name, "cpu-clock", 9) || !strncmp(event->name, "task-clock", 10))
		return "ns";
	return event->name;
}

/* Those that the filter let pass. */
static u64 shown_samples(const struct profile *profile, size_t event)
{
	u64 samples = 0;

	vec_for_each(&profile->rows, row)
		if (row->event == event)
			samples += row->samples;
	return samples;
}

/* The line below the title, one note after the other in @text. */
struct notes {
	const char *list[MAX_NOTES + 1];
	struct strbuf text[MAX_NOTES];
	size_t nr;
};

static struct strbuf *add_note(struct notes *notes)
{
	return &notes->text[notes->nr++];
}

static void make_notes(struct notes *notes, const struct profile *profile, size_t event)
{
	const char *release = perfdata_reader_string(profile->reader, PERFDATA_FEATURE_OSRELEASE);
	u64 lost = profile->lost_events + profile->lost_samples;

	if (release)
		strbuf_addf(add_note(notes), "Linux %s", release);
	strbuf_adds(add_note(notes), profile->events.data[event].name);
	strbuf_addf(add_note(notes), "%llu samples",
		    (unsigned long long)shown_samples(profile, event));
	if (lost)
		strbuf_addf(add_note(notes), "%llu lost", (unsigned long long)lost);
	if (profile->filtered)
		strbuf_addf(add_note(notes), "%llu others left out",
			    (unsigned long long)profile->filtered);
	if (profile->truncated)
		strbuf_adds(add_note(notes), "the recording was cut off");
	for (size_t i = 0; i < notes->nr; i++)
		notes->list[i] = strbuf_cstr(&notes->text[i]);
}

static void notes_deinit(struct notes *notes)
{
	for (size_t i = 0; i < notes->nr; i++)
		strbuf_deinit(&notes->text[i]);
}

static int make_page(const struct profile *profile, size_t event, struct strbuf *page)
{
	const char *host = perfdata_reader_string(profile->reader, PERFDATA_FEATURE_HOSTNAME);
	struct flamegraph *graph = NULL;
	struct notes notes = { 0 };
	struct flamegraph_options graph_options = {
		.title = opt.title ?: host ?: "Flame graph",
		.notes = notes.list,
		.unit = event_unit(&profile->events.data[event]),
		/* Only our own recordings have it. */
		.guest = perfdata_reader_string(profile->reader, PERFDATA_FEATURE_ACCOUNTING),
		.inverted = opt.inverted,
	};
	int err;

	make_notes(&notes, profile, event);
	err = flamegraph_create(&graph_options, &graph);
	if (!err)
		err = flamegraph_add_profile(graph, profile, event, opt.by);
	if (!err)
		err = flamegraph_write(graph, page);
	flamegraph_destroy(graph);
	notes_deinit(&notes);
	return err;
}

/* The event that was asked for, else the one with the most samples. -ENOENT: not in the file. */
static int choose_event(const struct profile *profile, size_t *ret_event)
{
	bool found = false;

	for (size_t i = 0; i < profile->events.nr; i++) {
		const struct profile_event *event = &profile->events.data[i];

		if (opt.event && strcmp(event->name, opt.event))
			continue;
		if (!found || event->samples > profile->events.data[*ret_event].samples)
			*ret_event = i;
		found = true;
	}
	return found ? 0 : -ENOENT;
}

static void say_unknown_event(const struct profile *profile)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < profile->events.nr; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", profile->events.data[i].name);
	log_error("%s has no event %s; it has: %s", opt.input, opt.event ?: "",
		  names.len ? strbuf_cstr(&names) : "none");
}

/* A page is of one event. */
static void say_chosen_event(const struct profile *profile, size_t chosen)
{
	size_t nr = 0;

	vec_for_each(&profile->events, event)
		nr += event->samples != 0;
	if (!opt.event && nr > 1)
		log_notice("event %s, of %zu the one with the most samples; -e chooses another",
			   profile->events.data[chosen].name, nr);
}

static int write_page(const struct strbuf *page)
{
	bool to_stdout = !strcmp(opt.output, "-");
	int err;

	err = to_stdout ? fd_write_all(STDOUT_FILENO, page->data, page->len) :
			  file_write_atomic(opt.output, page->data, page->len);
	if (err) {
		log_error_errno(err, "cannot write %s", to_stdout ? "standard output" : opt.output);
		return STATUS_FAILURE;
	}
	if (!to_stdout)
		log_notice("%s: %.1f kB", opt.output, page->len / 1e3);
	return STATUS_OK;
}

/* Before the work is done. A folder that is not there is most likely a slip: none is made. */
static int check_output(void)
{
	_cleanup_free_ char *copy = strdup(opt.output);
	int err = copy ? 0 : -ENOMEM;

	if (!err && strcmp(opt.output, "-") && access(dirname(copy), F_OK))
		err = -errno;
	if (err)
		log_error_errno(err, "cannot write %s: its folder", opt.output);
	return err ? STATUS_FAILURE : STATUS_OK;
}

static int make_graph(const struct profile *profile)
{
	_cleanup_strbuf_ struct strbuf page = STRBUF_INIT;
	size_t event = 0;
	int err;

	if (choose_event(profile, &event)) {
		say_unknown_event(profile);
		return STATUS_FAILURE;
	}
	say_chosen_event(profile, event);
	if (!shown_samples(profile, event))
		log_warning("%s: no samples%s", opt.input,
			    profile->filtered ? " of what was asked for" : "");
	err = make_page(profile, event, &page);
	if (err) {
		log_error_errno(err, "cannot make the page");
		return STATUS_FAILURE;
	}
	return write_page(&page);
}

static int load(struct profile **ret)
{
	const struct profile_options profile_options = {
		.resolver = input_resolver_options(&opt.symbols),
		.details = opt.by == PROFILE_BY_THREAD ? PROFILE_DETAIL_THREAD : 0,
		.filter = input_filter_active(&opt.filter) ? input_filter_sample : NULL,
		.filter_arg = &opt.filter,
	};
	const char *why = NULL;
	int err = profile_load(opt.input, &profile_options, ret, &why);

	if (err)
		return input_error(opt.input, err, why);
	input_tell_sources((*ret)->resolver);
	input_warn_user_stacks((*ret)->reader);
	if ((*ret)->truncated)
		input_warn_truncated(opt.input);
	return STATUS_OK;
}

int cmd_flamegraph(int argc, char **argv)
{
	_cleanup_(profile_destroy) struct profile *profile = NULL;
	struct operands operands;
	int status;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	status = check_output();
	if (!status)
		status = input_check_symbols(&opt.symbols);
	if (!status)
		status = load(&profile);
	if (!status)
		status = make_graph(profile);
	input_filter_deinit(&opt.filter);
	return status;
}
