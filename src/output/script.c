/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf script's layout, fast: a line of a chain is made once for each place in the code, and a
 * chain that was seen before is the list of its lines.
 */
#include "output/script.h"

#include <linux/perf_event.h>
#include <string.h>

#include "analyze/chaincache.h"
#include "analyze/epochs.h"
#include "base/escape.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "model/sample.h"
#include "perfdata/note.h"

#define CHAIN_KEY_BYTES (24UL << 20)
#define MAX_LINE_IDS (4UL << 20)
#define MAX_LINE_BYTES (32UL << 20)
#define SHORT_LINE 64		/* copied as a whole, whatever its length */
#define NO_LINE UINT32_MAX

/* A line of a chain, newline and all. */
struct line {
	u32 at;		/* in line_text */
	u32 len;
	u64 ip;		/* that it shows */
};

/* A chain as lines. */
struct known_chain {
	u32 at;		/* in line_ids */
	u32 nr;
	u64 bytes;	/* of all its lines, with room for copies of SHORT_LINE bytes */
};

struct script {
	struct perfdata_reader *reader;
	struct resolver *resolver;
	const struct script_options *options;
	struct outbuf *out;
	struct chaincache chains;
	VEC(struct known_chain) known;
	VEC(u32) line_ids;
	VEC(struct line) lines;
	struct strbuf line_text;
	VEC(u32) line_of_place;
	struct epochs epochs;
	VEC(u32) places;
	VEC(u64) ips;
	int name_width;
	bool chains_recorded;		/* by any event */
};

static const struct {
	const char *name;
	unsigned int field;
} field_names[] = {
	{ "comm", SCRIPT_COMM },   { "pid", SCRIPT_PID },   { "tid", SCRIPT_TID },
	{ "cpu", SCRIPT_CPU },	   { "time", SCRIPT_TIME }, { "period", SCRIPT_PERIOD },
	{ "event", SCRIPT_EVENT }, { "ip", SCRIPT_IP },	    { "sym", SCRIPT_SYM },
	{ "symoff", SCRIPT_SYMOFF }, { "dso", SCRIPT_DSO },   { "stop", SCRIPT_STOP },
	{ "srcline", SCRIPT_SRCLINE },
};

unsigned int script_field_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(field_names); i++)
		if (strlen(field_names[i].name) == len && !memcmp(field_names[i].name, name, len))
			return field_names[i].field;
	return 0;
}

static void script_deinit(struct script *script)
{
	chaincache_deinit(&script->chains);
	vec_deinit(&script->known);
	vec_deinit(&script->line_ids);
	vec_deinit(&script->lines);
	strbuf_deinit(&script->line_text);
	vec_deinit(&script->line_of_place);
	epochs_deinit(&script->epochs);
	vec_deinit(&script->places);
	vec_deinit(&script->ips);
}

static void forget_chains(struct script *script)
{
	chaincache_clear(&script->chains);
	script->known.nr = 0;
	script->line_ids.nr = 0;
}

static void forget_lines(struct script *script)
{
	forget_chains(script);
	script->lines.nr = 0;
	strbuf_reset(&script->line_text);
	for (size_t i = 0; i < script->line_of_place.nr; i++)
		script->line_of_place.data[i] = NO_LINE;
}

static void add_escaped(struct strbuf *sb, const char *s)
{
	size_t room = strlen(s) * 4 + 1;

	if (strbuf_grow(sb, room))
		return;
	sb->len += escape_terminal(s, sb->data + sb->len, room);
}

static const char *dso_name(struct script *script, const struct resolver_place *place)
{
	if (place->dso == RESOLVER_NONE)
		return "[unknown]";
	return resolver_dso_name(script->resolver, place->dso);
}

/* On a line of its own, as perf has it. */
static void add_srcline(struct script *script, u32 place, struct strbuf *sb)
{
	char text[1024];

	if (resolver_line(script->resolver, place, text, sizeof(text)))
		return;
	strbuf_adds(sb, "\n  ");
	add_escaped(sb, text);
}

/* " symbol+0xoff (dso)" as far as asked for. */
static void add_place(struct script *script, u32 place, struct strbuf *sb)
{
	unsigned int fields = script->options->fields;
	const struct resolver_place p = *resolver_place_at(script->resolver, place);

	if (fields & SCRIPT_SYM) {
		strbuf_addc(sb, ' ');
		if (p.symbol == RESOLVER_NONE)
			strbuf_adds(sb, "[unknown]");
		else
			add_escaped(sb, resolver_symbol_name(script->resolver, p.symbol));
		if (p.symbol != RESOLVER_NONE && fields & SCRIPT_SYMOFF)
			strbuf_addf(sb, "+0x%llx", (unsigned long long)p.offset);
	}
	if (fields & SCRIPT_DSO && !p.inlined) {
		strbuf_adds(sb, " (");
		add_escaped(sb, dso_name(script, &p));
		strbuf_addc(sb, ')');
	}
	if (fields & SCRIPT_SRCLINE)
		add_srcline(script, place, sb);
	if (p.inlined)
		strbuf_adds(sb, " (inlined)");
}

/* Addresses of user code are shown as offsets in its file. */
static u64 shown_address(const struct script *script, const struct resolver_place *place, u64 ip)
{
	if (place->dso == RESOLVER_NONE || resolver_dso_is_kernel(script->resolver, place->dso))
		return ip;
	return place->addr;
}

static int make_line(struct script *script, u32 place, u64 ip, u32 *ret)
{
	const struct resolver_place *p = resolver_place_at(script->resolver, place);
	struct line line = { .at = script->line_text.len, .ip = ip };
	struct strbuf *text = &script->line_text;

	strbuf_addf(text, "\t%16llx", (unsigned long long)shown_address(script, p, ip));
	add_place(script, place, text);
	strbuf_addc(text, '\n');
	line.len = text->len - line.at;
	/* So that copying a short line as SHORT_LINE bytes stays inside. */
	if (strbuf_grow(text, SHORT_LINE))
		return strbuf_error(text);
	if (vec_push(&script->lines, line))
		return -ENOMEM;
	*ret = script->lines.nr - 1;
	return 0;
}

static int line_of(struct script *script, u32 place, u64 ip, u32 *ret)
{
	u32 line;
	int err;

	while (script->line_of_place.nr <= place)
		if (vec_push(&script->line_of_place, NO_LINE))
			return -ENOMEM;
	line = script->line_of_place.data[place];
	/* A module may have moved. */
	if (line == NO_LINE || script->lines.data[line].ip != ip) {
		err = make_line(script, place, ip, &line);
		if (err)
			return err;
		script->line_of_place.data[place] = line;
	}
	*ret = line;
	return 0;
}

/* User code's lines do not show where in a process it was. */
static u64 line_identity(const struct script *script, u32 place, u64 ip)
{
	return shown_address(script, resolver_place_at(script->resolver, place), ip);
}

static int resolve_chain(struct script *script, const struct perfdata_record *sample,
			 struct known_chain *ret)
{
	size_t nr = MIN(resolver_chain_max(script->resolver, sample),
			(size_t)script->options->max_stack);
	struct known_chain chain = { .at = script->line_ids.nr };

	if (vec_reserve(&script->places, nr + 1) || vec_reserve(&script->ips, nr + 1))
		return -ENOMEM;
	nr = resolver_chain(script->resolver, sample, nr, script->places.data, script->ips.data);
	for (size_t i = 0; i < nr; i++) {
		u32 place = script->places.data[i], line;
		u64 ip = line_identity(script, place, script->ips.data[i]);
		int err = line_of(script, place, ip, &line);

		if (err)
			return err;
		if (vec_push(&script->line_ids, line))
			return -ENOMEM;
		chain.bytes += MAX(script->lines.data[line].len, SHORT_LINE);
	}
	chain.nr = nr;
	*ret = chain;
	return 0;
}

/* Resolves a chain that was not known and keeps it. */
static int learn_chain(struct script *script, const struct perfdata_record *sample, u64 hash,
		       const struct chain_tag *tag, struct known_chain *ret)
{
	const u64 *ips = sample->sample.ips;
	size_t nr = sample->sample.nr_ips;
	int err;

	if (script->line_text.len > MAX_LINE_BYTES)
		forget_lines(script);
	else if (script->line_ids.nr > MAX_LINE_IDS)
		forget_chains(script);
	err = chaincache_add(&script->chains, hash, tag, ips, nr, script->known.nr);
	if (err == -ENOSPC) {
		forget_chains(script);
		err = chaincache_add(&script->chains, hash, tag, ips, nr, 0);
	}
	if (err && err != -ENOSPC)
		return err;
	if (vec_push(&script->known, (struct known_chain){ 0 }))
		return -ENOMEM;
	err = resolve_chain(script, sample, ret);
	if (!err)
		script->known.data[script->known.nr - 1] = *ret;
	return err;
}

/* Copies the lines; there is room in the buffer for all of @chain->bytes. */
static void copy_lines(struct script *script, const struct known_chain *chain)
{
	const u32 *ids = script->line_ids.data + chain->at;
	const struct line *lines = script->lines.data;
	const char *text = script->line_text.data;
	char *to = script->out->data + script->out->len;

	for (u32 i = 0; i < chain->nr; i++) {
		const struct line *line = &lines[ids[i]];

		if (likely(line->len <= SHORT_LINE))
			memcpy(to, text + line->at, SHORT_LINE);
		else
			memcpy(to, text + line->at, line->len);
		to += line->len;
	}
	script->out->len = to - script->out->data;
}

static void write_lines(struct script *script, const struct known_chain *chain)
{
	struct outbuf *out = script->out;

	if (!chain->nr)
		return;
	if (chain->bytes > out->size - out->len)
		outbuf_flush(out);
	if (likely(chain->bytes <= out->size)) {
		copy_lines(script, chain);
		return;
	}
	for (u32 i = 0; i < chain->nr; i++) {
		const struct line *line = &script->lines.data[script->line_ids.data[chain->at + i]];

		outbuf_add(out, script->line_text.data + line->at, line->len);
	}
}

static int write_chain(struct script *script, const struct perfdata_record *sample)
{
	struct chain_tag tag = epochs_tag(&script->epochs, sample);
	const u64 *ips = sample->sample.ips;
	size_t nr = sample->sample.nr_ips;
	u64 hash = chaincache_hash(&script->chains, &tag, ips, nr);
	const u32 *known = chaincache_find(&script->chains, hash, &tag, ips, nr);
	struct known_chain chain;

	if (known) {
		chain = script->known.data[*known];
	} else {
		int err = learn_chain(script, sample, hash, &tag, &chain);

		if (err)
			return err;
	}
	write_lines(script, &chain);
	return 0;
}

/* An event without chains: the address on the sample's own line. */
static int write_place(struct script *script, const struct perfdata_record *sample)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct resolver_space *space = resolver_space(script->resolver, sample->pid,
						      sample->cpumode);
	u32 place = resolver_place(script->resolver, space, sample->sample.ip);

	strbuf_addf(&text, "%16llx", (unsigned long long)sample->sample.ip);
	add_place(script, place, &text);
	if (strbuf_error(&text))
		return strbuf_error(&text);
	outbuf_add(script->out, text.data, text.len);
	return 0;
}

/* Right-aligned seconds and a fraction. */
static void write_time(struct script *script, u64 time)
{
	u64 seconds = time / 1000000000, rest = time % 1000000000;

	outbuf_add_u64(script->out, seconds, 5, ' ');
	outbuf_addc(script->out, '.');
	if (script->options->nanoseconds)
		outbuf_add_u64(script->out, rest, 9, '0');
	else
		outbuf_add_u64(script->out, rest / 1000, 6, '0');
	outbuf_add(script->out, ": ", 2);
}

static void write_comm(struct script *script, const char *comm, bool padded)
{
	if (padded && strlen(comm) < 16)
		outbuf_add_repeated(script->out, ' ', 16 - strlen(comm));
	outbuf_add_escaped(script->out, comm);
	outbuf_addc(script->out, ' ');
}

static void write_ids(struct script *script, const struct perfdata_record *sample)
{
	unsigned int fields = script->options->fields;

	if ((fields & SCRIPT_PID) && (fields & SCRIPT_TID))
		outbuf_addf(script->out, "%5d/%-5d ", (int)sample->pid, (int)sample->tid);
	else if (fields & SCRIPT_PID)
		outbuf_addf(script->out, "%5d ", (int)sample->pid);
	else if (fields & SCRIPT_TID && sample->tid <= INT32_MAX) {
		outbuf_add_u64(script->out, sample->tid, 5, ' ');
		outbuf_addc(script->out, ' ');
	} else if (fields & SCRIPT_TID) {
		outbuf_addf(script->out, "%5d ", (int)sample->tid);
	}
}

static void write_event_name(struct script *script, const char *name)
{
	size_t len = strlen(name);

	if ((int)len < script->name_width)
		outbuf_add_repeated(script->out, ' ', script->name_width - len);
	outbuf_add_escaped(script->out, name);
	outbuf_add(script->out, ": ", 2);
}

/* "[stop: complete]", with what else is to be known of the chain. */
static void write_stop(struct script *script, const struct perfdata_record *sample)
{
	struct perfdata_note note;

	if (perfdata_note_read(sample, &note))
		return;
	outbuf_addf(script->out, "[stop: %s%s%s%s] ",
		    stop_reason_text(stop_reason_join(note.kernel_stop, note.user_stop)),
		    note.flags & PERFDATA_NOTE_CHANGED ? ", changed" : "",
		    note.flags & PERFDATA_NOTE_MOVED ? ", moved" : "",
		    note.flags & PERFDATA_NOTE_UNVERIFIED ? ", unverified" : "");
}

static void write_head(struct script *script, const struct perfdata_record *sample,
		       const struct perfdata_attr *attr, const char *comm)
{
	unsigned int fields = script->options->fields;
	bool chain = attr->sample_type & PERF_SAMPLE_CALLCHAIN;

	if (fields & SCRIPT_COMM)
		write_comm(script, comm, !(chain && fields & SCRIPT_IP));
	write_ids(script, sample);
	if (fields & SCRIPT_CPU && attr->sample_type & PERF_SAMPLE_CPU) {
		outbuf_addc(script->out, '[');
		outbuf_add_u64(script->out, sample->cpu, 3, '0');
		outbuf_add(script->out, "] ", 2);
	}
	if (fields & SCRIPT_TIME && attr->sample_type & PERF_SAMPLE_TIME)
		write_time(script, sample->time);
	if (fields & SCRIPT_PERIOD && attr->type != PERF_TYPE_TRACEPOINT) {
		outbuf_add_u64(script->out, sample->sample.period, 10, ' ');
		outbuf_addc(script->out, ' ');
	}
	if (fields & SCRIPT_EVENT)
		write_event_name(script, attr->name);
	if (fields & SCRIPT_STOP)
		write_stop(script, sample);
}

static int write_sample(struct script *script, const struct perfdata_record *sample)
{
	const struct perfdata_attr *attr = perfdata_reader_attr(script->reader, sample->attr);
	const struct script_options *options = script->options;
	bool chain = attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	u32 comm_id = resolver_comm(script->resolver, sample->pid, sample->tid);
	const char *comm;
	int err = 0;

	if (comm_id == RESOLVER_NONE)
		return -ENOMEM;
	comm = resolver_comm_name(script->resolver, comm_id);
	if (options->filter && !options->filter(sample, comm, options->filter_arg))
		return 0;
	write_head(script, sample, attr, comm);
	if (options->fields & SCRIPT_IP &&
	    !(attr->type == PERF_TYPE_TRACEPOINT && !script->chains_recorded)) {
		outbuf_addc(script->out, chain ? '\n' : ' ');
		err = chain ? write_chain(script, sample) : write_place(script, sample);
	}
	outbuf_addc(script->out, '\n');
	return err;
}

static int write_record(struct script *script, const struct perfdata_record *record)
{
	int err;

	if (record->kind == PERFDATA_SAMPLE)
		return write_sample(script, record);
	err = resolver_record(script->resolver, record);
	return err ? err : epochs_note(&script->epochs, record);
}

/* Names of events are aligned with each other. */
static void look_at_attrs(struct script *script)
{
	for (size_t i = 0; i < perfdata_reader_nr_attrs(script->reader); i++) {
		const struct perfdata_attr *attr = perfdata_reader_attr(script->reader, i);

		script->name_width = MAX(script->name_width, (int)strlen(attr->name));
		script->chains_recorded |= !!(attr->sample_type & PERF_SAMPLE_CALLCHAIN);
	}
}

int script_write(struct perfdata_reader *reader, struct resolver *resolver,
		 const struct script_options *options, struct outbuf *out)
{
	struct script script = {
		.reader = reader, .resolver = resolver, .options = options, .out = out,
	};
	struct perfdata_record record;
	int err = chaincache_init(&script.chains, CHAIN_KEY_BYTES);
	int n = 0;

	if (err)
		return err;
	look_at_attrs(&script);
	while (!err && !out->error && (n = perfdata_reader_next(reader, &record)) == 1)
		err = write_record(&script, &record);
	script_deinit(&script);
	if (err)
		return err;
	return out->error ? out->error : n < 0 ? n : 0;
}
