/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bytes of a perf.data file cut into records. A stream reads into chunks of fixed size; a record
 * lies whole and 8-byte aligned in one chunk, and the chunk lives as long as somebody holds a
 * record of it, so that records can wait for their turn without being copied.
 */
#ifndef PERFDATA_STREAM_H
#define PERFDATA_STREAM_H

#include "base/cursor.h"

/* Several of the biggest records: a record's size has 16 bits. */
#define PERFDATA_CHUNK_SIZE (256 * 1024)
#define PERFDATA_EVENT_HEADER_SIZE 8

struct perfdata_chunk {
	struct perfdata_chunk_pool *pool;
	struct perfdata_chunk *next_free;
	u32 refs;
	u32 size;	/* bytes of data[] that are filled */
	u64 data[];
};

/* Chunks to use again; shared by the streams of a reader. */
struct perfdata_chunk_pool {
	struct perfdata_chunk *free;
	size_t nr_free;
	size_t nr_used;
};

void perfdata_chunk_pool_deinit(struct perfdata_chunk_pool *pool);

/* A record as it lies in the file, the size and type of its header already decoded. */
struct perfdata_raw {
	const u8 *data;
	struct perfdata_chunk *chunk;
	u32 type;
	u16 size;
	u16 attr;	/* the reader's note: index of the attribute */
};

/* Drops the reference that @raw holds on its chunk. */
void perfdata_raw_release(struct perfdata_raw *raw);

struct perfdata_stream {
	/* Reads up to @room bytes to @out. How many, 0 when there are no more, or -errno. */
	ssize_t (*fill)(struct perfdata_stream *stream, void *out, size_t room);
	struct perfdata_chunk_pool *pool;
	struct perfdata_chunk *chunk;
	size_t head;		/* of the next record in the chunk */
	u64 skip;		/* bytes to pass over before the next record */
	bool swap;
	/* Of a file. */
	int fd;
	bool seekable;
	u64 pos, end;
	/* Of compressed records. */
	void *zstd;		/* ZSTD_DStream */
	struct perfdata_raw input;
	size_t input_pos, input_end;
};

/* Records at [@pos, @end) of @fd, or of all that can be read when @fd is not @seekable. */
void perfdata_stream_init_file(struct perfdata_stream *stream, struct perfdata_chunk_pool *pool,
			       int fd, bool seekable, u64 pos, u64 end, bool swap);

/* Records inside the compressed ones that perfdata_stream_feed() brings. 0 or -ENOMEM. */
int perfdata_stream_init_zstd(struct perfdata_stream *stream, struct perfdata_chunk_pool *pool,
			      bool swap);

/* NULL-safe for a zeroed stream; chunks live on while a record of them is held. */
void perfdata_stream_deinit(struct perfdata_stream *stream);

/*
 * 1 and the next record, with a reference for the caller; 0 when the bytes end between two
 * records; -ENODATA when they end inside one (for a zstd stream: so far); -EBADMSG when a
 * record's size cannot be or the compressed data is broken.
 */
int perfdata_stream_next(struct perfdata_stream *stream, struct perfdata_raw *ret);

/* Passes over @size bytes after the last record: the payload of AUXTRACE and tracing data. */
void perfdata_stream_skip(struct perfdata_stream *stream, u64 size);

/* Hands bytes [@from, @to) of a compressed record over, with its reference, to a zstd stream. */
void perfdata_stream_feed(struct perfdata_stream *stream, struct perfdata_raw *raw, size_t from,
			  size_t to);

#endif
