/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the perf.data writer share. */
#ifndef PERFDATA_WRITER_PRIVATE_H
#define PERFDATA_WRITER_PRIVATE_H

#include <linux/perf_event.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/strbuf.h"
#include "base/types.h"
#include "base/vec.h"
#include "perfdata/outfile.h"

#define WRITER_BUFFER_SIZE (256 * 1024)
#define WRITER_BUILD_ID_MAX 20
#define WRITER_NS_PER_S 1000000000ULL

struct writer_event {
	struct perf_event_attr attr;
	char *name;
	char *point, *format;	/* of a tracepoint, else NULL */
	u64 id;
};

struct writer_build_id {
	u16 misc;	/* PERF_RECORD_MISC_KERNEL or _USER */
	u8 size;
	u8 id[WRITER_BUILD_ID_MAX];
	char *filename;
};

/* Feature texts; NULL: none. */
struct writer_texts {
	char *hostname;
	char *os_release;
	char *arch;
	char *cpu_desc;
	char *accounting;
	char **cmdline;		/* NULL-terminated */
};

struct perfdata_writer {
	struct outfile out;
	int error;			/* the first write error; sticks */
	u64 written;			/* bytes of the file that are out of the buffer */
	size_t used;			/* bytes in the buffer */
	u64 data_start;
	struct writer_texts texts;
	u32 nr_cpus;
	u64 total_mem_kb;
	bool raw;
	VEC(struct writer_event) events;
	VEC(struct writer_build_id) build_ids;
	struct hashmap build_ids_by_hash;	/* of both and the name, to index + 1 */
	u64 seed;
	u64 first_time, last_time;	/* of samples */
	u64 newest;			/* of all records */
	u64 round_time;			/* .newest at the last finished round */
	u64 oldest_to_come;		/* UINT64_MAX: in time */
	u64 wall_clock, monotonic;	/* of one moment */
	u8 buffer[WRITER_BUFFER_SIZE];
};

/* What follows every record that is not a sample: sample_id_all. */
struct writer_sample_id {
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
	u64 id;
};

/* The first error sticks, and is what is returned. */
int writer_fail(struct perfdata_writer *writer, int err);

/* Room for @size bytes in the buffer, to be filled by the caller; NULL after a write error. */
void *writer_reserve(struct perfdata_writer *writer, size_t size);
int writer_append(struct perfdata_writer *writer, const void *data, size_t size);
int writer_flush(struct perfdata_writer *writer);

/*
 * Starts a record of @size bytes in all. The buffer has room for it when this returns a place, for
 * what comes after the header; NULL after a write error.
 */
u8 *writer_start_record(struct perfdata_writer *writer, u32 type, u16 misc, size_t size, u64 time);

/* Puts what ends every record that is not a sample to @p. */
void writer_end_record(u8 *p, const struct perfdata_writer *writer, u32 pid, u32 tid, u64 time);

/* Each puts a value to @p and returns the place behind it. */
static inline u8 *writer_put_bytes(u8 *p, const void *data, size_t size)
{
	if (size)
		memcpy(p, data, size);
	return p + size;
}

static inline u8 *writer_put_u32(u8 *p, u32 v)
{
	return writer_put_bytes(p, &v, sizeof(v));
}

static inline u8 *writer_put_u64(u8 *p, u64 v)
{
	return writer_put_bytes(p, &v, sizeof(v));
}

/* The text, its NUL and zeros up to a whole word. */
static inline u8 *writer_put_text(u8 *p, const char *text, size_t padded)
{
	size_t len = strlen(text);

	memcpy(p, text, len);
	memset(p + len, 0, padded - len);
	return p + padded;
}

static inline size_t writer_text_size(const char *text)
{
	return ALIGN_UP(strlen(text) + 1, 8);
}

/* What follows the data: the sections of features, in the order of their bits. */
struct writer_features {
	struct strbuf sections;		/* the contents, one after the other */
	VEC(u64) ends;			/* where each ends in them */
	u64 bits[4];
};

/* Appends the sections of all features that @writer knows of. 0 or -ENOMEM. */
int writer_features_build(const struct perfdata_writer *writer, struct writer_features *features);
void writer_features_deinit(struct writer_features *features);

#endif
