/* SPDX-License-Identifier: GPL-2.0-only */
/* perf.data files in code: either byte order, normal and pipe form, plain and compressed. */
#ifndef BUILD_BUILD_PERFDATA_H
#define BUILD_BUILD_PERFDATA_H

#include "build.h"

struct perfdata_build {
	struct strbuf out;
	struct strbuf *to;	/* where records go: out, or pack */
	struct strbuf pack;	/* records to compress */
	bool swap;		/* write the other byte order */
	bool pipe;
	u64 sample_type;
	u64 sample_ip;	/* of samples; 0: the first address of their chain */
	u32 nr_attrs;
	u64 data_start;
	void *zstd;
};

/* Ids of the events: attribute i has BUILD_ID_OF(i) and that + 1, as on two CPUs. */
#define BUILD_ID_OF(attr) (100 + 10 * (u64)(attr))

/* What each record carries besides its own fields. */
struct perfdata_build_where {
	u32 pid, tid, cpu;
	u64 time, id;
};

/* Starts a file of @nr_attrs software events with sample_id_all. */
void perfdata_build_begin(struct perfdata_build *b, bool swap, bool pipe, u32 nr_attrs,
			  u64 sample_type);

void perfdata_build_mmap(struct perfdata_build *b, const struct perfdata_build_where *where,
			 u64 start, u64 len, u64 pgoff, const char *filename);
/* @build_id NULL: device and inode instead. */
void perfdata_build_mmap2(struct perfdata_build *b, const struct perfdata_build_where *where,
			  u64 start, u64 len, const u8 *build_id, const char *filename);
void perfdata_build_comm(struct perfdata_build *b, const struct perfdata_build_where *where,
			 const char *comm);
void perfdata_build_task(struct perfdata_build *b, const struct perfdata_build_where *where,
			 bool fork, u32 ppid);
void perfdata_build_lost(struct perfdata_build *b, const struct perfdata_build_where *where,
			 u64 lost);
void perfdata_build_throttle(struct perfdata_build *b, const struct perfdata_build_where *where);
void perfdata_build_sample(struct perfdata_build *b, const struct perfdata_build_where *where,
			   u16 cpumode, u64 period, const u64 *ips, u64 nr_ips);
void perfdata_build_round(struct perfdata_build *b);
/* A record of any type with these bytes, whatever they are. */
void perfdata_build_raw(struct perfdata_build *b, u32 type, u16 misc, const void *data,
			size_t size);

/* Records from here to pack() go into one compressed record; the zstd stream goes on. */
void perfdata_build_pack_begin(struct perfdata_build *b);
void perfdata_build_pack(struct perfdata_build *b, bool second_form);
/* The same, but cut into two compressed records in the middle of the bytes. */
void perfdata_build_pack_halves(struct perfdata_build *b);

/*
 * A small file with every kind of record, for fuzz targets and peers to read. Bits of @form: 1 the
 * other byte order, 2 the pipe form, 4 two events, 8 half of it compressed.
 */
#define PERFDATA_BUILD_FORMS 16
void perfdata_build_example(struct perfdata_build *b, unsigned int form);

/* Completes sizes and features; the file's bytes are in b->out. */
void perfdata_build_finish(struct perfdata_build *b);
void perfdata_build_deinit(struct perfdata_build *b);

#endif
