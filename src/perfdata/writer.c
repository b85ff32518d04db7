/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing perf.data. Records are laid out in one buffer, which goes to the file whenever it is
 * full; the header, which has the sizes, goes there last.
 */
#include "perfdata/writer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/hashmap.h"
#include "perfdata/format.h"
#include "perfdata/writer-private.h"

#define SAMPLE_TYPE                                                                       \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |   \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

#define MAX_RECORD 65528U	/* a 16-bit size, in whole words */
#define MAX_FILENAME 4095
#define NS_PER_S 1000000000ULL

/* The guest kernel's name to perf, with the name of the symbol that tells the KASLR offset. */
#define KERNEL_NAME "[kernel.kallsyms]"
#define KERNEL_MAP_NAME KERNEL_NAME "_text"

/* What follows every record that is not a sample: sample_id_all. */
struct sample_id {
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
	u64 id;
};

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

	if (!event.name)
		return -ENOMEM;
	err = vec_push(&writer->events, event);
	if (err)
		free(event.name);
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

	return clock_gettime(clock, &ts) ? 0 : ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int fail(struct perfdata_writer *writer, int err)
{
	if (err && !writer->error)
		writer->error = err;
	return writer->error;
}

static int flush(struct perfdata_writer *writer)
{
	int err;

	if (writer->error)
		return writer->error;
	err = fd_write_all(writer->out.fd, writer->buffer, writer->used);
	if (err)
		return fail(writer, err);
	writer->written += writer->used;
	writer->used = 0;
	return 0;
}

/* Room for @size bytes in the buffer, to be filled by the caller; NULL after a write error. */
static void *reserve(struct perfdata_writer *writer, size_t size)
{
	void *room;

	if (writer->error)
		return NULL;
	if (size > sizeof(writer->buffer) - writer->used && flush(writer))
		return NULL;
	room = writer->buffer + writer->used;
	writer->used += size;
	return room;
}

static int append(struct perfdata_writer *writer, const void *data, size_t size)
{
	const u8 *p = data;

	while (size) {
		size_t part = MIN(size, sizeof(writer->buffer));
		void *room = reserve(writer, part);

		if (!room)
			return writer->error;
		memcpy(room, p, part);
		p += part;
		size -= part;
	}
	return 0;
}

/* Header (to be overwritten at the end), the ids of each event, the attributes that point there. */
static int write_start(struct perfdata_writer *writer)
{
	struct file_header header = { .magic = PERFDATA_MAGIC, .size = sizeof(header) };
	int err = append(writer, &header, sizeof(header));

	for (size_t i = 0; i < writer->events.nr && !err; i++)
		err = append(writer, &writer->events.data[i].id, sizeof(u64));
	for (size_t i = 0; i < writer->events.nr && !err; i++) {
		struct file_attr attr = {
			.attr = writer->events.data[i].attr,
			.ids = { sizeof(header) + i * sizeof(u64), sizeof(u64) },
		};

		err = append(writer, &attr, sizeof(attr));
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
		free(writer->events.data[i].name);
	vec_deinit(&writer->events);
	for (size_t i = 0; i < writer->build_ids.nr; i++)
		free(writer->build_ids.data[i].filename);
	vec_deinit(&writer->build_ids);
	free(writer);
}

static u8 *put_bytes(u8 *p, const void *data, size_t size)
{
	if (size)
		memcpy(p, data, size);
	return p + size;
}

static u8 *put_u32(u8 *p, u32 v)
{
	return put_bytes(p, &v, sizeof(v));
}

static u8 *put_u64(u8 *p, u64 v)
{
	return put_bytes(p, &v, sizeof(v));
}

/* The text, its NUL and zeros up to a whole word. */
static u8 *put_text(u8 *p, const char *text, size_t padded)
{
	size_t len = strlen(text);

	memcpy(p, text, len);
	memset(p + len, 0, padded - len);
	return p + padded;
}

static size_t text_size(const char *text)
{
	return ALIGN_UP(strlen(text) + 1, 8);
}

/*
 * perf holds records back to sort them by time, until a mark says that what is older than the mark
 * before will not come any more. A mark a second leaves a record that much time to be late in.
 */
static int end_round(struct perfdata_writer *writer)
{
	struct perf_event_header mark = {
		.type = PERFDATA_RECORD_FINISHED_ROUND,
		.size = sizeof(mark),
	};

	if (!writer->round_time)
		writer->round_time = writer->newest;
	if (writer->newest - writer->round_time < NS_PER_S)
		return 0;
	writer->round_time = writer->newest;
	return append(writer, &mark, sizeof(mark));
}

/* Starts a record of @size bytes in all. The buffer has room for it when this returns a place. */
static u8 *start_record(struct perfdata_writer *writer, u32 type, u16 misc, size_t size, u64 time)
{
	struct perf_event_header header = { .type = type, .misc = misc, .size = size };
	u8 *p;

	if (time > writer->newest)
		writer->newest = time;
	if (end_round(writer))
		return NULL;
	p = reserve(writer, size);
	return p ? put_bytes(p, &header, sizeof(header)) : NULL;
}

static void end_record(u8 *p, const struct perfdata_writer *writer, u32 pid, u32 tid, u64 time)
{
	struct sample_id id = {
		.pid = pid,
		.tid = tid,
		.time = time,
		.id = writer->events.data[0].id,
	};

	put_bytes(p, &id, sizeof(id));
}

static size_t sample_size(const struct perfdata_writer *writer,
			  const struct perfdata_sample *sample)
{
	size_t size = sizeof(struct perf_event_header) + 7 * sizeof(u64);

	size += (size_t)sample->nr_ips * sizeof(u64);
	if (writer->raw)
		size += sizeof(u32) + sample->raw_size;
	return size;
}

int perfdata_writer_sample(struct perfdata_writer *writer, const struct perfdata_sample *sample)
{
	size_t size = sample_size(writer, sample);
	u16 misc = sample->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	u8 *p;

	if (sample->event >= writer->events.nr || size % 8)
		return -EINVAL;
	if (size > MAX_RECORD)
		return -E2BIG;
	p = start_record(writer, PERF_RECORD_SAMPLE, misc, size, sample->time);
	if (!p)
		return writer->error;
	p = put_u64(p, writer->events.data[sample->event].id);
	p = put_u64(p, sample->ip);
	p = put_u32(p, sample->pid);
	p = put_u32(p, sample->tid);
	p = put_u64(p, sample->time);
	p = put_u32(p, sample->cpu);
	p = put_u32(p, 0);
	p = put_u64(p, sample->period);
	p = put_u64(p, sample->nr_ips);
	p = put_bytes(p, sample->ips, sample->nr_ips * sizeof(u64));
	if (writer->raw) {
		p = put_u32(p, sample->raw_size);
		put_bytes(p, sample->raw, sample->raw_size);
	}
	if (!writer->first_time || sample->time < writer->first_time)
		writer->first_time = sample->time;
	writer->last_time = MAX(writer->last_time, sample->time);
	return 0;
}

int perfdata_writer_comm(struct perfdata_writer *writer, u32 pid, u32 tid, const char *comm,
			 bool exec, u64 time)
{
	char safe[256];
	size_t text, size;
	u8 *p;

	escape_terminal(comm, safe, sizeof(safe));
	text = text_size(safe);
	size = sizeof(struct perf_event_header) + 2 * sizeof(u32) + text + sizeof(struct sample_id);
	p = start_record(writer, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, size,
			 time);
	if (!p)
		return writer->error;
	p = put_u32(p, pid);
	p = put_u32(p, tid);
	p = put_text(p, safe, text);
	end_record(p, writer, pid, tid, time);
	return 0;
}

int perfdata_writer_fork(struct perfdata_writer *writer, u32 pid, u32 tid, u32 ppid, u32 ptid,
			 u64 time)
{
	size_t size = sizeof(struct perf_event_header) + 3 * sizeof(u64) + sizeof(struct sample_id);
	u8 *p = start_record(writer, PERF_RECORD_FORK, 0, size, time);

	if (!p)
		return writer->error;
	p = put_u32(p, pid);
	p = put_u32(p, ppid);
	p = put_u32(p, tid);
	p = put_u32(p, ptid);
	p = put_u64(p, time);
	end_record(p, writer, ppid, ptid, time);
	return 0;
}

int perfdata_writer_lost(struct perfdata_writer *writer, u64 nr, u64 time)
{
	size_t size = sizeof(struct perf_event_header) + 2 * sizeof(u64) + sizeof(struct sample_id);
	u8 *p = start_record(writer, PERF_RECORD_LOST, 0, size, time);

	if (!p)
		return writer->error;
	p = put_u64(p, writer->events.data[0].id);
	p = put_u64(p, nr);
	end_record(p, writer, 0, 0, time);
	return 0;
}

/* Once for each file and build id. */
static int add_build_id(struct perfdata_writer *writer, const struct perfdata_mmap *mmap,
			const char *filename)
{
	struct writer_build_id id = {
		.misc = mmap->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		.size = mmap->build_id_size,
	};
	int err;

	memcpy(id.id, mmap->build_id, id.size);
	for (size_t i = 0; i < writer->build_ids.nr; i++) {
		const struct writer_build_id *other = &writer->build_ids.data[i];

		if (other->size == id.size && !memcmp(other->id, id.id, id.size) &&
		    !strcmp(other->filename, filename))
			return 0;
	}
	id.filename = strdup(filename);
	if (!id.filename)
		return -ENOMEM;
	err = vec_push(&writer->build_ids, id);
	if (err)
		free(id.filename);
	return err;
}

/* The kernel and its modules: PERF_RECORD_MMAP, the only form in which all of perf knows them. */
static int write_kernel_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap,
			     const char *filename)
{
	size_t text = text_size(filename);
	size_t size = sizeof(struct perf_event_header) + 4 * sizeof(u64) + text +
		      sizeof(struct sample_id);
	u8 *p = start_record(writer, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, size, mmap->time);

	if (!p)
		return writer->error;
	p = put_u32(p, mmap->pid);
	p = put_u32(p, mmap->tid);
	p = put_u64(p, mmap->start);
	p = put_u64(p, mmap->len);
	p = put_u64(p, mmap->pgoff);
	p = put_text(p, filename, text);
	end_record(p, writer, mmap->pid, mmap->tid, mmap->time);
	return 0;
}

/* With a build id in the place of device and inode: PERF_RECORD_MMAP2 since Linux 5.12. */
static int write_user_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap,
			   const char *filename)
{
	size_t text = text_size(filename);
	size_t size = sizeof(struct perf_event_header) + 8 * sizeof(u64) + text +
		      sizeof(struct sample_id);
	u8 identity[24] = { mmap->build_id_size };
	u16 misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID;
	u8 *p;

	memcpy(identity + 4, mmap->build_id, mmap->build_id_size);
	p = start_record(writer, PERF_RECORD_MMAP2, misc, size, mmap->time);
	if (!p)
		return writer->error;
	p = put_u32(p, mmap->pid);
	p = put_u32(p, mmap->tid);
	p = put_u64(p, mmap->start);
	p = put_u64(p, mmap->len);
	p = put_u64(p, mmap->pgoff);
	p = put_bytes(p, identity, sizeof(identity));
	p = put_u32(p, mmap->prot);
	p = put_u32(p, mmap->flags);
	p = put_text(p, filename, text);
	end_record(p, writer, mmap->pid, mmap->tid, mmap->time);
	return 0;
}

/* All zero is none, to perf too. */
static bool has_build_id(const struct perfdata_mmap *mmap)
{
	static const u8 zero[WRITER_BUILD_ID_MAX];

	return mmap->build_id && mmap->build_id_size &&
	       mmap->build_id_size <= WRITER_BUILD_ID_MAX &&
	       memcmp(mmap->build_id, zero, mmap->build_id_size);
}

/*
 * What has no build id gets one that nothing else has. perf takes an object without one for the
 * object of that name on the machine where it reads the file: the running kernel, the host's libc.
 */
static void ensure_build_id(struct perfdata_mmap *mmap, const char *filename,
			    u8 room[WRITER_BUILD_ID_MAX])
{
	static const char prefix[12] = "no build id";
	u64 hash = hash_bytes(filename, strlen(filename));

	if (has_build_id(mmap))
		return;
	memcpy(room, prefix, sizeof(prefix));
	memcpy(room + sizeof(prefix), &hash, sizeof(hash));
	mmap->build_id = room;
	mmap->build_id_size = WRITER_BUILD_ID_MAX;
}

int perfdata_writer_mmap(struct perfdata_writer *writer, const struct perfdata_mmap *mmap)
{
	struct perfdata_mmap checked = *mmap;
	u8 room[WRITER_BUILD_ID_MAX];
	char safe[MAX_FILENAME + 1];
	int err;

	if (writer->error)
		return writer->error;
	escape_terminal(mmap->filename, safe, sizeof(safe));
	ensure_build_id(&checked, safe, room);
	err = add_build_id(writer, &checked, safe);
	if (err)
		return err;
	return mmap->kernel ? write_kernel_mmap(writer, &checked, safe) :
			      write_user_mmap(writer, &checked, safe);
}

/* The map's name carries the reference symbol's, the build id goes by the name without it. */
int perfdata_writer_kernel(struct perfdata_writer *writer, u64 start, u64 end, u64 ref,
			   const u8 *build_id, u8 build_id_size)
{
	struct perfdata_mmap mmap = {
		.pid = -1,
		.start = start,
		.len = end - start,
		.pgoff = ref,
		.kernel = true,
		.build_id = build_id,
		.build_id_size = build_id_size,
	};
	u8 room[WRITER_BUILD_ID_MAX];
	int err;

	if (end <= start)
		return -EINVAL;
	if (writer->error)
		return writer->error;
	ensure_build_id(&mmap, KERNEL_NAME, room);
	err = add_build_id(writer, &mmap, KERNEL_NAME);
	if (err)
		return err;
	return write_kernel_mmap(writer, &mmap, KERNEL_MAP_NAME);
}

/*
 * Named as a file, as perf in the guest would do. perf shows it as "[name]" all the same; but of an
 * object without a path it believes that it is the kernel, and looks for its kallsyms.
 */
int perfdata_writer_module(struct perfdata_writer *writer, const char *name, u64 start, u64 size,
			   const u8 *build_id, u8 build_id_size, u64 time)
{
	const char *release = writer->texts.os_release;
	char part[128], safe_release[128], filename[sizeof(part) + sizeof(safe_release) + 32];
	struct perfdata_mmap mmap = {
		.pid = -1,
		.start = start,
		.len = size,
		.kernel = true,
		.build_id = build_id,
		.build_id_size = build_id_size,
		.filename = filename,
		.time = time,
	};

	escape_path_component(name, part, sizeof(part));
	escape_path_component(release ? release : "unknown", safe_release, sizeof(safe_release));
	snprintf(filename, sizeof(filename), "/lib/modules/%s/%s.ko", safe_release, part);
	return perfdata_writer_mmap(writer, &mmap);
}

int perfdata_writer_set_release(struct perfdata_writer *writer, const char *os_release)
{
	return set_string(&writer->texts.os_release, os_release);
}

int perfdata_writer_set_cpu_desc(struct perfdata_writer *writer, const char *cpu_desc)
{
	return set_string(&writer->texts.cpu_desc, cpu_desc);
}

int perfdata_writer_set_accounting(struct perfdata_writer *writer, const char *text)
{
	return set_string(&writer->texts.accounting, text);
}

u64 perfdata_writer_bytes(const struct perfdata_writer *writer)
{
	return writer->written + writer->used;
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

		err = append(writer, &section, sizeof(section));
		start = features->ends.data[i];
	}
	if (!err)
		err = append(writer, features->sections.data, features->sections.len);
	return err ? err : flush(writer);
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
		return fail(writer, -errno);
	return n == sizeof(header) ? 0 : fail(writer, -ENOSPC);
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
	return err ? err : fail(writer, outfile_commit(&writer->out));
}
