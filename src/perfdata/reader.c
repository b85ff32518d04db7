/* SPDX-License-Identifier: GPL-2.0-only */
/* Reading perf.data: header, stream, order and decoding put together. */
#include "perfdata/reader.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "perfdata/header.h"
#include "perfdata/order.h"
#include "perfdata/record.h"
#include "perfdata/stream.h"

/* Rounds are as big as all CPUs' buffers; beyond this the order is given up before the memory. */
#define MAX_WAITING_BYTES (512UL << 20)
#define MAX_WAITING_RECORDS (8UL << 20)

struct perfdata_reader {
	int fd;
	bool ordered;
	bool cut;			/* the file was cut off, or a record in it was */
	bool ended;
	int end;			/* what _next() returns from the end on */
	struct perfdata_header header;
	struct perfdata_chunk_pool pool;
	struct perfdata_stream file;
	struct perfdata_stream packed;	/* what compressed records hold */
	struct perfdata_order order;
	struct perfdata_scratch scratch;
	struct perfdata_raw current;	/* what the caller's record points into */
	struct perfdata_raw peeked;	/* read at open, not yet used */
	struct perfdata_reader_stats stats;
};

/* A record of the file or from inside a compressed one. As perfdata_stream_next(). */
static int next_raw(struct perfdata_reader *reader, struct perfdata_raw *ret)
{
	int n;

	if (reader->peeked.chunk) {
		*ret = reader->peeked;
		reader->peeked.chunk = NULL;
		return 1;
	}
	if (reader->packed.zstd) {
		n = perfdata_stream_next(&reader->packed, ret);
		if (n != 0 && n != -ENODATA)
			return n;
		/* A record that the next compressed one completes, or that nothing will. */
		reader->cut = n == -ENODATA;
	}
	n = perfdata_stream_next(&reader->file, ret);
	if (!n && reader->cut)
		return -ENODATA;
	return n;
}

static int unpack(struct perfdata_reader *reader, struct perfdata_raw *raw)
{
	size_t from = PERFDATA_EVENT_HEADER_SIZE, to = raw->size;
	struct cursor c;
	int err;

	if (!reader->packed.zstd) {
		err = perfdata_stream_init_zstd(&reader->packed, &reader->pool,
						reader->header.swap);
		if (err)
			return err;
	}
	if (raw->type == PERFDATA_RECORD_COMPRESSED2) {
		u64 size;

		cursor_init(&c, raw->data + from, to - from);
		c.swap = reader->header.swap;
		size = cursor_u64(&c);
		if (cursor_error(&c) || size > cursor_left(&c))
			return -EBADMSG;
		from += sizeof(u64);
		to = from + size;
	}
	perfdata_stream_feed(&reader->packed, raw, from, to);
	return 0;
}

/* Records with a size at their start and that much payload behind them, outside the record. */
static int skip_payload(struct perfdata_reader *reader, struct cursor *c, u32 type)
{
	u64 size = type == PERFDATA_RECORD_AUXTRACE ? cursor_u64(c) : cursor_u32(c);

	if (type == PERFDATA_RECORD_HEADER_TRACING_DATA)
		size = ALIGN_UP(size, sizeof(u64));
	perfdata_stream_skip(&reader->file, size);
	return cursor_error(c);
}

static int add_feature(struct perfdata_reader *reader, struct cursor *c)
{
	u64 feature = cursor_u64(c);
	struct cursor rest;

	if (cursor_error(c) || feature >= PERFDATA_FEATURE_BITS)
		return cursor_error(c);
	cursor_sub(c, cursor_offset(c), cursor_left(c), &rest);
	return perfdata_header_add_feature(&reader->header, feature, &rest);
}

static int handle_header_record(struct perfdata_reader *reader, const struct perfdata_raw *raw)
{
	struct cursor record, c;

	cursor_init(&record, raw->data, raw->size);
	record.swap = reader->header.swap;
	c = record;
	cursor_skip(&c, PERFDATA_EVENT_HEADER_SIZE);
	switch (raw->type) {
	case PERFDATA_RECORD_HEADER_ATTR:
		return perfdata_header_add_attr(&reader->header, &c);
	case PERFDATA_RECORD_HEADER_FEATURE:
		return add_feature(reader, &c);
	case PERFDATA_RECORD_EVENT_UPDATE:
		return perfdata_header_update_event(&reader->header, &c);
	case PERFDATA_RECORD_HEADER_BUILD_ID:
		return perfdata_header_add_build_id(&reader->header, &record);
	case PERFDATA_RECORD_HEADER_TRACING_DATA:
	case PERFDATA_RECORD_AUXTRACE:
		return skip_payload(reader, &c, raw->type);
	default:
		return 0;
	}
}

/* Failures that end the reading; contents that do not fit are counted instead. */
static int tolerate(struct perfdata_reader *reader, int err)
{
	if (!err || err == -ENOMEM)
		return err;
	reader->stats.bad_records++;
	return 0;
}

static int handle_user_record(struct perfdata_reader *reader, struct perfdata_raw *raw)
{
	int err;

	switch (raw->type) {
	case PERFDATA_RECORD_FINISHED_ROUND:
		err = perfdata_order_finish_round(&reader->order);
		break;
	case PERFDATA_RECORD_COMPRESSED:
	case PERFDATA_RECORD_COMPRESSED2:
		err = unpack(reader, raw);
		break;
	default:
		err = tolerate(reader, handle_header_record(reader, raw));
	}
	perfdata_raw_release(raw);
	return err;
}

/* Decodes @raw for the caller and keeps it until the next call. 1, or 0 when it is no good. */
static int give(struct perfdata_reader *reader, struct perfdata_raw *raw,
		struct perfdata_record *ret)
{
	int err = perfdata_record_decode(&reader->header, raw, &reader->scratch, ret);

	if (err) {
		perfdata_raw_release(raw);
		return tolerate(reader, err);
	}
	if (ret->kind == PERFDATA_SAMPLE)
		reader->stats.user_stacks += ret->sample.user_stack;
	reader->current = *raw;
	return 1;
}

static int wait_in_order(struct perfdata_reader *reader, u64 time, struct perfdata_raw *raw)
{
	int err = perfdata_order_push(&reader->order, time, raw);

	if (err) {
		perfdata_raw_release(raw);
		return err;
	}
	if (reader->pool.nr_used * PERFDATA_CHUNK_SIZE < MAX_WAITING_BYTES &&
	    perfdata_order_nr(&reader->order) < MAX_WAITING_RECORDS)
		return 0;
	return perfdata_order_finish_half(&reader->order);
}

/* 1: *@ret is filled; 0: the record went elsewhere. */
static int handle_raw(struct perfdata_reader *reader, struct perfdata_raw *raw,
		      struct perfdata_record *ret)
{
	size_t attr;
	u64 time;

	if (raw->type >= PERFDATA_RECORD_USER_START)
		return handle_user_record(reader, raw);
	attr = perfdata_record_attr(&reader->header, raw);
	if (attr == SIZE_MAX) {
		reader->stats.unknown_ids++;
		perfdata_raw_release(raw);
		return 0;
	}
	raw->attr = attr;
	time = perfdata_record_time(&reader->header, &reader->header.attrs.data[attr], raw);
	if (!reader->ordered || !time || time == UINT64_MAX)
		return give(reader, raw, ret);
	return wait_in_order(reader, time, raw);
}

/* The bytes have ended, as @how says: what waits may still come out. */
static int finish(struct perfdata_reader *reader, int how)
{
	if (!how && reader->header.truncated)
		how = -ENODATA;
	reader->ended = true;
	reader->end = how;
	return perfdata_order_finish(&reader->order);
}

/* 1: *@ret is filled; 0: call again; negative: the end, or a failure. */
static int step(struct perfdata_reader *reader, struct perfdata_record *ret, bool *ret_end)
{
	struct perfdata_raw raw;
	int n;

	if (perfdata_order_take(&reader->order, &raw))
		return give(reader, &raw, ret);
	if (reader->ended) {
		*ret_end = true;
		return reader->end;
	}
	n = next_raw(reader, &raw);
	if (n == 1)
		return handle_raw(reader, &raw, ret);
	return finish(reader, n);
}

int perfdata_reader_next(struct perfdata_reader *reader, struct perfdata_record *ret)
{
	bool end = false;
	int n;

	perfdata_raw_release(&reader->current);
	do
		n = step(reader, ret, &end);
	while (!n && !end);
	return n;
}

void perfdata_reader_set_unordered(struct perfdata_reader *reader)
{
	reader->ordered = false;
}

/* The pipe form begins with its attributes: takes them in, so that they are there after open. */
static int read_pipe_header(struct perfdata_reader *reader, const char **ret_why)
{
	struct perfdata_raw raw;
	int n;

	while ((n = next_raw(reader, &raw)) == 1) {
		if (raw.type < PERFDATA_RECORD_USER_START ||
		    raw.type == PERFDATA_RECORD_FINISHED_ROUND ||
		    raw.type == PERFDATA_RECORD_COMPRESSED ||
		    raw.type == PERFDATA_RECORD_COMPRESSED2) {
			reader->peeked = raw;
			return 0;
		}
		n = handle_user_record(reader, &raw);
		if (n)
			return n;
	}
	if (n < 0 && n != -ENODATA) {
		*ret_why = "its records make no sense";
		return n;
	}
	return finish(reader, n);
}

static int open_reader(struct perfdata_reader *reader, const char **ret_why)
{
	struct perfdata_header *header = &reader->header;
	bool seekable = lseek(reader->fd, 0, SEEK_CUR) >= 0;
	int err = perfdata_header_read(header, reader->fd, seekable, ret_why);

	if (err)
		return err;
	perfdata_stream_init_file(&reader->file, &reader->pool, reader->fd, seekable,
				  header->data_offset, header->data_offset + header->data_size,
				  header->swap);
	return header->pipe ? read_pipe_header(reader, ret_why) : 0;
}

int perfdata_reader_open_fd(int fd, struct perfdata_reader **ret, const char **ret_why)
{
	struct perfdata_reader *reader = calloc(1, sizeof(*reader));
	const char *why = NULL;
	int err;

	if (!reader) {
		close(fd);
		return -ENOMEM;
	}
	reader->fd = fd;
	reader->ordered = true;
	err = open_reader(reader, &why);
	if (err) {
		if (ret_why)
			*ret_why = why;
		perfdata_reader_close(reader);
		return err;
	}
	*ret = reader;
	return 0;
}

int perfdata_reader_open(const char *path, struct perfdata_reader **ret, const char **ret_why)
{
	int fd;

	if (!strcmp(path, "-"))
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (ret_why)
			*ret_why = NULL;
		return -errno;
	}
	return perfdata_reader_open_fd(fd, ret, ret_why);
}

void perfdata_reader_close(struct perfdata_reader *reader)
{
	if (!reader)
		return;
	perfdata_raw_release(&reader->current);
	perfdata_raw_release(&reader->peeked);
	perfdata_order_deinit(&reader->order);
	perfdata_stream_deinit(&reader->file);
	perfdata_stream_deinit(&reader->packed);
	perfdata_chunk_pool_deinit(&reader->pool);
	perfdata_scratch_deinit(&reader->scratch);
	perfdata_header_deinit(&reader->header);
	close(reader->fd);
	free(reader);
}

void perfdata_reader_stats(const struct perfdata_reader *reader,
			   struct perfdata_reader_stats *ret)
{
	*ret = reader->stats;
	ret->unordered = reader->order.nr_unordered;
}

size_t perfdata_reader_nr_attrs(const struct perfdata_reader *reader)
{
	return reader->header.attrs.nr;
}

const struct perfdata_attr *perfdata_reader_attr(const struct perfdata_reader *reader, size_t i)
{
	return &reader->header.attrs.data[i];
}

size_t perfdata_reader_nr_build_ids(const struct perfdata_reader *reader)
{
	return reader->header.build_ids.nr;
}

const struct perfdata_build_id *perfdata_reader_build_id(const struct perfdata_reader *reader,
							 size_t i)
{
	return &reader->header.build_ids.data[i];
}

const char *perfdata_reader_string(const struct perfdata_reader *reader, unsigned int feature)
{
	return feature < PERFDATA_FEATURE_BITS ? reader->header.strings[feature] : NULL;
}
