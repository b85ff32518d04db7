/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the perf.data writer share. */
#ifndef PERFDATA_WRITER_PRIVATE_H
#define PERFDATA_WRITER_PRIVATE_H

#include <linux/perf_event.h>

#include "base/strbuf.h"
#include "base/types.h"
#include "base/vec.h"
#include "perfdata/outfile.h"

#define WRITER_BUFFER_SIZE (256 * 1024)
#define WRITER_BUILD_ID_MAX 20

struct writer_event {
	struct perf_event_attr attr;
	char *name;
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
	u64 first_time, last_time;	/* of samples */
	u64 newest;			/* of all records */
	u64 round_time;			/* .newest at the last finished round */
	u64 wall_clock, monotonic;	/* of one moment */
	u8 buffer[WRITER_BUFFER_SIZE];
};

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
