/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing perf.data. Records are laid out in one buffer, which goes to the file whenever it is
 * full; the header, which has the sizes, goes there last.
 */
#include "perfdata/writer.h"

#include <string.h>
#include <time.h>

#include "perfdata/format.h"
#include "perfdata/writer-private.h"

#define SAMPLE_TYPE                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |   \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

struct file_section {
	u64 offset, size;
};

struct file_header {
	char magic[8];
	u64 size;
	u64 attr_size;
	struct file_section attrs;
	struct file_section data;
	struct file_section event_types;
	u64 features[4];
};

struct file_attr {
	struct perf_event_attr attr;
	struct file_section ids;
};

_Static_assert(sizeof(struct file_header) == PERFDATA_HEADER_SIZE, "perf.data header");

static int set_string(char **place, const char *text)
{
	char *copy = NULL;

	if (text) {
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
	}
	free(*place);
	*place = copy;
	return 0;
}

static int copy_cmdline(char ***place, const char *const *cmdline)
{
	size_t nr = 0;

	if (!cmdline)
		return 0;
	while (cmdline[nr])
		nr++;
	*place = calloc(nr + 1, sizeof(**place));
	if (!*place)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		(*place)[i] = strdup(cmdline[i]);
		if (!(*place)[i])
			return -ENOMEM;
	}
	return 0;
}

static void texts_deinit(struct writer_texts *texts)
{
	free(texts->hostname);
	free(texts->os_release);
	free(texts->arch);
	free(texts->cpu_desc);
	free(texts->accounting);
	for (size_t i = 0; texts->cmdline && texts->cmdline[i]; i++)
		free(texts->cmdline[i]);
	free(texts->cmdline);
}

static void free_event(struct writer_event *event)
{
	free(event->name);
	free(event->point);
	free(event->format);
}

static int add_event(struct perfdata_writer *writer, const struct perfdata_writer_event *from)
{
	struct writer_event event = {
		.attr = {
			.type = from->type,
			.size = sizeof(struct perf_event_attr),
			.config = from->config,
			.sample_period = from->period_or_freq,
			.sample_type = SAMPLE_TYPE | (writer->raw ? PERF_SAMPLE_RAW : 0),
			.freq = from->freq,
			.mmap = 1,
			.mmap2 = 1,
			.comm = 1,
			.comm_exec = 1,
			.task = 1,
			.sample_id_all = 1,
			.use_clockid = 1,
			.clockid = CLOCK_MONOTONIC,
		},
		.name = strdup(from->name),
		.id = writer->events.nr + 1,
	};
	int err;

	err = event.name ? 0 : -ENOMEM;
	if (!err && from->point)
		err = set_string(&event.point, from->point);
	if (!err && from->point)
		err = set_string(&event.format, from->format);
	if (!err)
		err = vec_push(&writer->events, event);
	if (err)
		free_event(&event);
	return err;
}

static int set_options(struct perfdata_writer *writer,
		       const struct perfdata_writer_options *options)
{
	struct writer_texts *texts = &writer->texts;
	int err;

	writer->nr_cpus = options->nr_cpus;
	writer->total_mem_kb = options->total_mem_kb;
	writer->raw = options->raw;
	err = set_string(&texts->hostname, options->hostname);
	if (!err)
		err = set_string(&texts->os_release, options->os_release);
	if (!err)
		err = set_string(&texts->arch, options->arch);
	if (!err)
		err = set_string(&texts->cpu_desc, options->cpu_desc);
	if (!err)
		err = copy_cmdline(&texts->cmdline, options->cmdline);
	for (u32 i = 0; i < options->nr_events && !err; i++)
		err = add_event(writer, &options->events[i]);
	return err;
}

static u64 read_clock(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 : ts.tv_sec * WRITER_NS_PER_S + ts.tv_nsec;
}

/* Header (to be overwritten at the end), the ids of each event, the attributes that point there. */
static int write_start(struct perfdata_writer *writer)
{
	struct file_header header = { .magic = PERFDATA_MAGIC, .size = sizeof(header) };
	int err = writer_append(writer, &header, sizeof(header));

	for (size_t i = 0; i < writer->events.nr && !err; i++)
		err = writer_append(writer, &writer->events.data[i].id, sizeof(u64));
	for (size_t i = 0; i < writer->events.nr && !err; i++) {
		struct file_attr attr = {
			.attr = writer->events.data[i].attr,
			.ids = { sizeof(header) + i * sizeof(u64), sizeof(u64) },
		};

		err = writer_append(writer, &attr, sizeof(attr));
	}
	writer->data_start = perfdata_writer_bytes(writer);
	return err;
}

int perfdata_writer_create(const char *path, const struct perfdata_writer_options *options,
			   struct perfdata_writer **ret)
{
	_cleanup_(perfdata_writer_destroy) struct perfdata_writer *writer = NULL;
	int err;

	if (!options->nr_events)
		return -EINVAL;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return -ENOMEM;
	writer->out = OUTFILE_INIT;
	writer->seed = hash_new_seed();
	writer->oldest_to_come = UINT64_MAX;
	writer->wall_clock = read_clock(CLOCK_REALTIME);
	writer->monotonic = read_clock(CLOCK_MONOTONIC);
	err = set_options(writer, options);
	if (!err)
		err = outfile_open(&writer->out, path);
	if (!err)
		err = write_start(writer);
	if (err)
		return err;
	*ret = TAKE_PTR(writer);
	return 0;
}

void perfdata_writer_destroy(struct perfdata_writer *writer)
{
	if (!writer)
		return;
	outfile_deinit(&writer->out);
	texts_deinit(&writer->texts);
	for (size_t i = 0; i < writer->events.nr; i++)
		free_event(&writer->events.data[i]);
	vec_deinit(&writer->events);
	for (size_t i = 0; i < writer->build_ids.nr; i++)
		free(writer->build_ids.data[i].filename);
	vec_deinit(&writer->build_ids);
	hashmap_deinit(&writer->build_ids_by_hash);
	free(writer);
}

int perfdata_writer_set_release(struct perfdata_writer *writer, const char *os_release)
{
	return set_string(&writer->texts.os_release, os_release);
}

int perfdata_writer_set_cpu_desc(struct perfdata_writer *writer, const char *cpu_desc)
{
	return set_string(&writer->texts.cpu_desc, cpu_desc);
}

int perfdata_writer_set_arch(struct perfdata_writer *writer, const char *arch)
{
	return set_string(&writer->texts.arch, arch);
}

int perfdata_writer_set_accounting(struct perfdata_writer *writer, const char *text)
{
	return set_string(&writer->texts.accounting, text);
}

/* After the data: where each feature's section lies, then the sections. */
static int write_features(struct perfdata_writer *writer, const struct writer_features *features)
{
	size_t nr = features->ends.nr;
	u64 base = perfdata_writer_bytes(writer) + nr * sizeof(struct file_section);
	u64 start = 0;
	int err = 0;

	for (size_t i = 0; i < nr && !err; i++) {
		struct file_section section = { base + start, features->ends.data[i] - start };

		err = writer_append(writer, &section, sizeof(section));
		start = features->ends.data[i];
	}
	if (!err)
		err = writer_append(writer, features->sections.data, features->sections.len);
	return err ? err : writer_flush(writer);
}

static int write_header(struct perfdata_writer *writer, const struct writer_features *features,
			u64 data_end)
{
	size_t nr = writer->events.nr;
	struct file_header header = {
		.magic = PERFDATA_MAGIC,
		.size = sizeof(header),
		.attr_size = sizeof(struct file_attr),
		.attrs = { sizeof(header) + nr * sizeof(u64), nr * sizeof(struct file_attr) },
		.data = { writer->data_start, data_end - writer->data_start },
	};
	ssize_t n;

	memcpy(header.features, features->bits, sizeof(header.features));
	n = pwrite(writer->out.fd, &header, sizeof(header), 0);
	if (n < 0)
		return writer_fail(writer, -errno);
	return n == sizeof(header) ? 0 : writer_fail(writer, -ENOSPC);
}

int perfdata_writer_finish(struct perfdata_writer *writer)
{
	struct writer_features features = { .sections = STRBUF_INIT };
	u64 data_end = perfdata_writer_bytes(writer);
	int err = writer->error;

	if (!err)
		err = writer_features_build(writer, &features);
	if (!err)
		err = write_features(writer, &features);
	if (!err)
		err = write_header(writer, &features, data_end);
	writer_features_deinit(&features);
	return err ? err : writer_fail(writer, outfile_commit(&writer->out));
}
