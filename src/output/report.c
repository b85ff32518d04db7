/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording as text, as perf report --stdio shows it. */
#include "output/report.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "output/callgraph.h"
#include "perfdata/format.h"

#define UNKNOWN_WIDTH 16	/* of an address without its 0x */

struct writer {
	const struct profile *profile;
	const struct report_options *options;
	struct outbuf *out;
	struct hist *hist;
	int width[HIST_MAX_KEYS];	/* of the columns of options->keys */
	struct strbuf text;		/* escaped, for a moment */
	struct strbuf line;
};

static const char *const titles[] = {
	[HIST_KEY_COMM] = "Command",
	[HIST_KEY_PID] = "    Pid:Command",
	[HIST_KEY_CPU] = "CPU",
	[HIST_KEY_DSO] = "Shared Object",
	[HIST_KEY_SYMBOL] = "Symbol",
};

/* Valid until the next call. */
static const char *escape(struct writer *writer, const char *s)
{
	struct strbuf *text = &writer->text;
	size_t room = strlen(s) * 4 + 1;

	strbuf_reset(text);
	if (strbuf_grow(text, room))
		return "";
	text->len = escape_terminal(s, text->data, room);
	return text->data;
}

static const char *entry_comm(struct writer *writer, const struct hist_entry *entry)
{
	return escape(writer, resolver_comm_name(writer->profile->resolver, entry->comm));
}

static const struct profile_thread *entry_thread(const struct writer *writer,
						 const struct hist_entry *entry)
{
	return &writer->profile->threads.data[entry->thread];
}

/* The latest name of the entry's thread: perf measures columns by it. */
static const char *thread_comm(struct writer *writer, const struct hist_entry *entry)
{
	u32 comm = entry_thread(writer, entry)->comm;

	return escape(writer, resolver_comm_name(writer->profile->resolver, comm));
}

static const char *entry_dso(struct writer *writer, const struct hist_entry *entry)
{
	return escape(writer, profile_frame_dso(writer->profile, entry->frame));
}

/* NULL when it has none. */
static const char *entry_symbol(struct writer *writer, const struct hist_entry *entry)
{
	const char *symbol = profile_frame_symbol(writer->profile, entry->frame);

	return symbol ? escape(writer, symbol) : NULL;
}

static int entry_width(struct writer *writer, enum hist_key key, const struct hist_entry *entry)
{
	const char *symbol;

	switch (key) {
	case HIST_KEY_COMM:
		return strlen(thread_comm(writer, entry));
	case HIST_KEY_PID:
		return strlen(thread_comm(writer, entry)) + 8;
	case HIST_KEY_CPU:
		return 3;
	case HIST_KEY_DSO:
		symbol = profile_frame_symbol(writer->profile, entry->frame);
		return MAX((int)strlen(entry_dso(writer, entry)), symbol ? 0 : UNKNOWN_WIDTH);
	case HIST_KEY_SYMBOL:
		symbol = entry_symbol(writer, entry);
		return 4 + (symbol ? (int)strlen(symbol) : UNKNOWN_WIDTH + 2);
	}
	return 0;
}

static void measure_columns(struct writer *writer)
{
	for (unsigned int k = 0; k < writer->options->nr_keys; k++) {
		enum hist_key key = writer->options->keys[k];

		writer->width[k] = strlen(titles[key]);
		for (size_t i = 0; i < hist_nr(writer->hist); i++) {
			int width = entry_width(writer, key, hist_entry(writer->hist, i));

			writer->width[k] = MAX(writer->width[k], width);
		}
	}
}

static void write_column_titles(struct writer *writer)
{
	const struct report_options *options = writer->options;

	outbuf_adds(writer->out, options->children ? "# Children      Self" : "# Overhead");
	for (unsigned int k = 0; k < options->nr_keys; k++) {
		const char *title = titles[options->keys[k]];

		outbuf_adds(writer->out, "  ");
		outbuf_adds(writer->out, title);
		outbuf_add_repeated(writer->out, ' ', writer->width[k] - strlen(title));
	}
	outbuf_adds(writer->out, options->children ? "\n# ........  ........" : "\n# ........");
	for (unsigned int k = 0; k < options->nr_keys; k++) {
		outbuf_adds(writer->out, "  ");
		outbuf_add_repeated(writer->out, '.', writer->width[k]);
	}
	outbuf_adds(writer->out, "\n#\n");
}

static void add_percent(struct writer *writer, u64 period)
{
	u64 total = hist_period(writer->hist);

	strbuf_addf(&writer->line, "   %6.2f%%", total ? 100.0 * period / total : 0.0);
}

static void add_symbol(struct writer *writer, const struct hist_entry *entry)
{
	const char *symbol = entry_symbol(writer, entry);
	const struct profile_frame *frame = &writer->profile->frames.data[entry->frame];

	strbuf_addf(&writer->line, "[%c] ", entry->level);
	if (symbol)
		strbuf_adds(&writer->line, symbol);
	else
		strbuf_addf(&writer->line, "%-#.16llx", (unsigned long long)frame->addr);
}

static void add_column(struct writer *writer, enum hist_key key, int width,
		       const struct hist_entry *entry)
{
	struct strbuf *line = &writer->line;
	int name_width;

	switch (key) {
	case HIST_KEY_COMM:
		strbuf_addf(line, "%-*.*s", width, width, entry_comm(writer, entry));
		break;
	case HIST_KEY_PID:
		name_width = MAX(7, width) - 8;
		strbuf_addf(line, "%7d:%-*.*s", (int)entry_thread(writer, entry)->tid, name_width,
			    name_width, thread_comm(writer, entry));
		break;
	case HIST_KEY_CPU:
		strbuf_addf(line, "%*.*d", width, width, (int)entry->cpu);
		break;
	case HIST_KEY_DSO:
		strbuf_addf(line, "%-*.*s", width, width, entry_dso(writer, entry));
		break;
	case HIST_KEY_SYMBOL:
		add_symbol(writer, entry);
		break;
	}
}

static int write_entry_line(struct writer *writer, const struct hist_entry *entry)
{
	const struct report_options *options = writer->options;
	struct strbuf *line = &writer->line;

	strbuf_reset(line);
	add_percent(writer, entry->total);
	if (options->children)
		add_percent(writer, entry->self);
	for (unsigned int k = 0; k < options->nr_keys; k++) {
		size_t start, width = writer->width[k];

		strbuf_adds(line, "  ");
		start = line->len;
		add_column(writer, options->keys[k], width, entry);
		if (k + 1 < options->nr_keys && line->len - start < width)
			strbuf_addf(line, "%-*s", (int)(width - (line->len - start)), " ");
	}
	strbuf_addc(line, '\n');
	if (strbuf_error(line))
		return strbuf_error(line);
	outbuf_add(writer->out, line->data, line->len);
	return 0;
}

static int write_entries(struct writer *writer)
{
	struct callgraph graph;
	int err = callgraph_init(&graph, writer->profile, writer->hist, writer->options,
				 writer->out);

	for (size_t i = 0; i < hist_nr(writer->hist) && !err; i++) {
		const struct hist_entry *entry = hist_entry(writer->hist, i);
		double percent = 100.0 * entry->total / hist_period(writer->hist);

		if ((float)percent < (float)writer->options->entry_percent)
			continue;
		err = write_entry_line(writer, entry);
		if (!err)
			err = callgraph_write(&graph, entry);
	}
	callgraph_deinit(&graph);
	return err;
}

/* "300K": as perf, a unit is used from 1001 of the smaller one on. */
static void write_sample_count(struct writer *writer, u64 samples)
{
	static const char units[] = " KMG";
	unsigned int unit = 0;

	for (; samples > 1000 && unit < 3; unit++)
		samples /= 1000;
	outbuf_adds(writer->out, "# Samples: ");
	outbuf_add_u64(writer->out, samples, 0, ' ');
	outbuf_addc(writer->out, units[unit]);
}

static int write_event(struct writer *writer, size_t event)
{
	const struct profile_event *e = &writer->profile->events.data[event];
	const struct report_options *options = writer->options;
	struct hist_options hist_options = {
		.event = event,
		.nr_keys = options->nr_keys,
		.children = options->children,
		.chains = options->graph != REPORT_GRAPH_NONE,
		.caller = options->caller,
	};
	_cleanup_(hist_destroy) struct hist *hist = NULL;
	int err;

	memcpy(hist_options.keys, options->keys, sizeof(options->keys));
	err = hist_create(writer->profile, &hist_options, &hist);
	if (err)
		return err;
	writer->hist = hist;
	measure_columns(writer);
	write_sample_count(writer, e->samples);
	outbuf_adds(writer->out, " of event '");
	outbuf_add_escaped(writer->out, e->name);
	outbuf_adds(writer->out, "'\n# Event count (approx.): ");
	outbuf_add_u64(writer->out, e->period, 0, ' ');
	outbuf_adds(writer->out, "\n#\n");
	write_column_titles(writer);
	err = write_entries(writer);
	outbuf_adds(writer->out, "\n\n");
	return err;
}

static void write_count(struct outbuf *out, const char *what, u64 count)
{
	outbuf_addf(out, "#   %-40s", what);
	outbuf_add_u64(out, count, 12, ' ');
	outbuf_addc(out, '\n');
}

/* What the recorder wrote down: lines "what: number". */
static void write_recorded_accounting(struct writer *writer, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");
		_cleanup_free_ char *line = strndup(text, len);
		char *colon = line ? strrchr(line, ':') : NULL;

		if (colon) {
			*colon++ = '\0';
			colon += *colon == ' ';
			strbuf_reset(&writer->line);
			strbuf_adds(&writer->line, escape(writer, line));
			outbuf_addf(writer->out, "#   %-40.80s", strbuf_cstr(&writer->line));
			outbuf_addf(writer->out, "%12.40s\n", escape(writer, colon));
		}
		text += len + !!text[len];
	}
}

/* Where perf gives a tip: what became of all events, so that nothing is missing silently. */
static void write_accounting(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	struct outbuf *out = writer->out;
	const char *recorded = perfdata_reader_string(profile->reader,
						      PERFDATA_FEATURE_ACCOUNTING);
	struct perfdata_reader_stats stats;
	u64 samples = 0;

	vec_for_each(&profile->events, event)
		samples += event->samples;
	perfdata_reader_stats(profile->reader, &stats);
	outbuf_adds(out, "#\n# Accounting:\n");
	write_count(out, "samples", samples);
	if (profile->filtered)
		write_count(out, "of them not shown", profile->filtered);
	write_count(out, "lost samples", profile->lost_samples);
	write_count(out, "lost records", profile->lost_events);
	if (profile->throttled)
		write_count(out, "times throttled by the kernel", profile->throttled);
	if (stats.bad_records)
		write_count(out, "records that make no sense", stats.bad_records);
	if (stats.unknown_ids)
		write_count(out, "records of unknown events", stats.unknown_ids);
	if (stats.unordered)
		write_count(out, "records out of order", stats.unordered);
	if (profile->truncated)
		outbuf_adds(out, "#   the file ends early: there was more to record\n");
	if (recorded) {
		outbuf_adds(out, "#\n# Accounting of the recorder:\n");
		write_recorded_accounting(writer, recorded);
	}
	outbuf_adds(out, "#\n");
}

int report_write(const struct profile *profile, const struct report_options *options,
		 struct outbuf *out)
{
	struct writer writer = { .profile = profile, .options = options, .out = out };
	int err = 0;

	outbuf_adds(out, "#\n# Total Lost Samples: ");
	outbuf_add_u64(out, profile->lost_samples, 0, ' ');
	outbuf_adds(out, "\n#\n");
	for (size_t i = 0; i < profile->events.nr && !err; i++)
		if (profile->events.data[i].samples)
			err = write_event(&writer, i);
	if (!err)
		write_accounting(&writer);
	if (!err)
		err = strbuf_error(&writer.text);
	strbuf_deinit(&writer.text);
	strbuf_deinit(&writer.line);
	return err;
}
