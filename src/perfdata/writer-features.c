/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The feature sections of a perf.data that is written. Their layout is in
 * tools/perf/Documentation/perf.data-file-format.txt of Linux 6.1.
 */
#include <time.h>

#include "perfdata/format.h"
#include "perfdata/writer-private.h"

#define STRING_ALIGN 64	/* perf's NAME_ALIGN */
#define CLOCK_RESOLUTION_NS 1
#define TRACE_PAGE 4096

static void put_u32(struct strbuf *sb, u32 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

static void put_u64(struct strbuf *sb, u64 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

/* A perf_header_string: length with padding, then the text, its NUL and the padding. */
static void put_string(struct strbuf *sb, const char *text)
{
	size_t size = strlen(text) + 1, padded = ALIGN_UP(size, STRING_ALIGN);

	put_u32(sb, padded);
	strbuf_add(sb, text, size);
	strbuf_add_zeros(sb, padded - size);
}

/* Ends the section of feature @bit, which is what was added to the sections since the last one. */
static int end_section(struct writer_features *features, unsigned int bit)
{
	features->bits[bit / 64] |= 1ULL << bit % 64;
	return vec_push(&features->ends, features->sections.len);
}

static int add_string(struct writer_features *features, unsigned int bit, const char *text)
{
	if (!text)
		return 0;
	put_string(&features->sections, text);
	return end_section(features, bit);
}

static void put_build_id(struct strbuf *sb, const struct writer_build_id *id)
{
	size_t size = strlen(id->filename) + 1, padded = ALIGN_UP(size, STRING_ALIGN);
	struct {
		struct perf_event_header header;
		u32 pid;
		u8 id[WRITER_BUILD_ID_MAX];
		u8 size;
		u8 reserved[3];
	} record = {
		.header = {
			.misc = id->misc | PERFDATA_MISC_BUILD_ID_SIZE,
			.size = sizeof(record) + padded,
		},
		.pid = -1,	/* of the host, in perf's eyes: not one guest of many */
		.size = id->size,
	};

	memcpy(record.id, id->id, id->size);
	strbuf_add(sb, &record, sizeof(record));
	strbuf_add(sb, id->filename, size);
	strbuf_add_zeros(sb, padded - size);
}

static int add_build_ids(struct writer_features *features, const struct perfdata_writer *writer)
{
	if (!writer->build_ids.nr)
		return 0;
	for (size_t i = 0; i < writer->build_ids.nr; i++)
		put_build_id(&features->sections, &writer->build_ids.data[i]);
	return end_section(features, PERFDATA_FEATURE_BUILD_ID);
}

static int add_cmdline(struct writer_features *features, char *const *cmdline)
{
	u32 nr = 0;

	if (!cmdline)
		return 0;
	while (cmdline[nr])
		nr++;
	put_u32(&features->sections, nr);
	for (u32 i = 0; i < nr; i++)
		put_string(&features->sections, cmdline[i]);
	return end_section(features, PERFDATA_FEATURE_CMDLINE);
}

static int add_event_desc(struct writer_features *features, const struct perfdata_writer *writer)
{
	struct strbuf *sb = &features->sections;

	put_u32(sb, writer->events.nr);
	put_u32(sb, sizeof(struct perf_event_attr));
	for (size_t i = 0; i < writer->events.nr; i++) {
		const struct writer_event *event = &writer->events.data[i];

		strbuf_add(sb, &event->attr, sizeof(event->attr));
		put_u32(sb, 1);
		put_string(sb, event->name);
		put_u64(sb, event->id);
	}
	return end_section(features, PERFDATA_FEATURE_EVENT_DESC);
}

static void put_u8(struct strbuf *sb, u8 v)
{
	strbuf_add(sb, &v, sizeof(v));
}

/*
 * The layout of ftrace's own buffer, of which nothing is here, on a kernel of 64 bits; perf wants
 * to see it (read_header_files() in tools/perf/util/trace-event-read.c of 6.1).
 */
static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char header_event[] =
	"# compressed entry header\n"
	"\ttype_len    :    5 bits\n"
	"\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n\n"
	"\tpadding     : type == 29\n"
	"\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n"
	"\tdata max type_len  == 28\n";

/* A name with its NUL, then a text with its length. */
static void put_text(struct strbuf *sb, const char *name, const char *text)
{
	strbuf_add(sb, name, strlen(name) + 1);
	put_u64(sb, strlen(text));
	strbuf_adds(sb, text);
}

/* "SUBSYSTEM:NAME": whether they are of one subsystem. */
static bool same_system(const char *a, const char *b)
{
	size_t len = strcspn(a, ":");

	return !strncmp(a, b, len + 1);
}

/* Whether an event before @nr is of the same subsystem as it. */
static bool is_known_system(const struct perfdata_writer *writer, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const char *point = writer->events.data[i].point;

		if (point && same_system(point, writer->events.data[nr].point))
			return true;
	}
	return false;
}

/* All of the subsystem that @first is of; an event may be there twice. */
static void put_formats(struct strbuf *sb, const struct perfdata_writer *writer, size_t first)
{
	const char *point = writer->events.data[first].point;
	u32 nr = 0;

	strbuf_add(sb, point, strcspn(point, ":"));
	put_u8(sb, 0);
	vec_for_each(&writer->events, event)
		nr += event->point && same_system(event->point, point);
	put_u32(sb, nr);
	vec_for_each(&writer->events, event) {
		if (!event->point || !same_system(event->point, point))
			continue;
		put_u64(sb, strlen(event->format));
		strbuf_adds(sb, event->format);
	}
}

static u32 nr_systems(const struct perfdata_writer *writer)
{
	u32 nr = 0;

	for (size_t i = 0; i < writer->events.nr; i++)
		nr += writer->events.data[i].point && !is_known_system(writer, i);
	return nr;
}

/*
 * What trace-cmd calls a trace.dat of version 0.6 (trace-cmd.dat.v6(5)), without what belongs to a
 * trace itself: the formats are what readers look for.
 */
static int add_tracing_data(struct writer_features *features,
			    const struct perfdata_writer *writer)
{
	static const char magic[] = { 23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g', '0', '.', '6',
				      0 };
	struct strbuf *sb = &features->sections;
	u32 systems = nr_systems(writer);

	if (!systems)
		return 0;
	strbuf_add(sb, magic, sizeof(magic));
	put_u8(sb, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	put_u8(sb, sizeof(long));
	put_u32(sb, TRACE_PAGE);
	put_text(sb, "header_page", header_page);
	put_text(sb, "header_event", header_event);
	put_u32(sb, 0);		/* ftrace's own formats */
	put_u32(sb, systems);
	for (size_t i = 0; i < writer->events.nr; i++) {
		if (writer->events.data[i].point && !is_known_system(writer, i))
			put_formats(sb, writer, i);
	}
	put_u32(sb, 0);		/* kallsyms */
	put_u32(sb, 0);		/* formats of printk */
	put_u64(sb, 0);		/* names of tasks */
	return end_section(features, PERFDATA_FEATURE_TRACING_DATA);
}

static int add_number(struct writer_features *features, unsigned int bit, u64 number)
{
	put_u64(&features->sections, number);
	return end_section(features, bit);
}

static int add_sample_time(struct writer_features *features, const struct perfdata_writer *writer)
{
	put_u64(&features->sections, writer->first_time);
	put_u64(&features->sections, writer->last_time);
	return end_section(features, PERFDATA_FEATURE_SAMPLE_TIME);
}

static int add_cpus(struct writer_features *features, const struct perfdata_writer *writer)
{
	put_u32(&features->sections, writer->nr_cpus);
	put_u32(&features->sections, writer->nr_cpus);
	return end_section(features, PERFDATA_FEATURE_NRCPUS);
}

/* The same moment by two clocks: readers can tell the time of day of each sample. */
static int add_clock_data(struct writer_features *features, const struct perfdata_writer *writer)
{
	put_u32(&features->sections, 1);
	put_u32(&features->sections, CLOCK_MONOTONIC);
	put_u64(&features->sections, writer->wall_clock);
	put_u64(&features->sections, writer->monotonic);
	return end_section(features, PERFDATA_FEATURE_CLOCK_DATA);
}

static int add_machine(struct writer_features *features, const struct perfdata_writer *writer)
{
	const struct writer_texts *texts = &writer->texts;
	int err;

	err = add_string(features, PERFDATA_FEATURE_HOSTNAME, texts->hostname);
	if (!err)
		err = add_string(features, PERFDATA_FEATURE_OSRELEASE, texts->os_release);
	if (!err)
		err = add_string(features, PERFDATA_FEATURE_VERSION, KVMPROF_VERSION);
	if (!err)
		err = add_string(features, PERFDATA_FEATURE_ARCH, texts->arch);
	if (!err)
		err = add_cpus(features, writer);
	if (!err)
		err = add_string(features, PERFDATA_FEATURE_CPUDESC, texts->cpu_desc);
	if (!err)
		err = add_number(features, PERFDATA_FEATURE_TOTAL_MEM, writer->total_mem_kb);
	return err;
}

int writer_features_build(const struct perfdata_writer *writer, struct writer_features *features)
{
	int err;

	err = add_tracing_data(features, writer);
	if (!err)
		err = add_build_ids(features, writer);
	if (!err)
		err = add_machine(features, writer);
	if (!err)
		err = add_cmdline(features, writer->texts.cmdline);
	if (!err)
		err = add_event_desc(features, writer);
	if (!err)
		err = add_sample_time(features, writer);
	if (!err)
		err = add_number(features, PERFDATA_FEATURE_CLOCKID, CLOCK_RESOLUTION_NS);
	if (!err)
		err = add_clock_data(features, writer);
	if (!err)
		err = add_string(features, PERFDATA_FEATURE_ACCOUNTING, writer->texts.accounting);
	return err ? err : strbuf_error(&features->sections);
}

void writer_features_deinit(struct writer_features *features)
{
	strbuf_deinit(&features->sections);
	vec_deinit(&features->ends);
}
