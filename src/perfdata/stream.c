/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes of a perf.data file cut into records: plain or zstd-compressed, without whole-file maps. */
#include "perfdata/stream.h"

#include <zstd.h>

/* Enough that the rounds of a recording on a few CPUs go round without malloc(). */
#define POOL_MAX_FREE 16

void perfdata_chunk_pool_deinit(struct perfdata_chunk_pool *pool)
{
	while (pool->free) {
		struct perfdata_chunk *chunk = pool->free;

		pool->free = chunk->next_free;
		free(chunk);
	}
	pool->nr_free = 0;
}

static struct perfdata_chunk *chunk_get(struct perfdata_chunk_pool *pool)
{
	struct perfdata_chunk *chunk = pool->free;

	if (chunk) {
		pool->free = chunk->next_free;
		pool->nr_free--;
	} else {
		chunk = malloc(sizeof(*chunk) + PERFDATA_CHUNK_SIZE);
		if (!chunk)
			return NULL;
	}
	pool->nr_used++;
	chunk->pool = pool;
	chunk->refs = 1;
	chunk->size = 0;
	return chunk;
}

static void chunk_put(struct perfdata_chunk *chunk)
{
	struct perfdata_chunk_pool *pool;

	if (!chunk || --chunk->refs)
		return;
	pool = chunk->pool;
	pool->nr_used--;
	if (pool->nr_free >= POOL_MAX_FREE) {
		free(chunk);
		return;
	}
	chunk->next_free = pool->free;
	pool->free = chunk;
	pool->nr_free++;
}

void perfdata_raw_release(struct perfdata_raw *raw)
{
	chunk_put(raw->chunk);
	raw->chunk = NULL;
	raw->data = NULL;
}

static ssize_t read_retry(struct perfdata_stream *stream, void *out, size_t room)
{
	ssize_t n;

	do {
		if (stream->seekable)
			n = pread(stream->fd, out, room, (off_t)stream->pos);
		else
			n = read(stream->fd, out, room);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t fill_from_file(struct perfdata_stream *stream, void *out, size_t room)
{
	ssize_t n;

	room = MIN(room, stream->end - stream->pos);
	if (!room)
		return 0;
	n = read_retry(stream, out, room);
	if (n > 0)
		stream->pos += n;
	return n;
}

/* One frame may end and another begin inside the input: on until there is output. */
static int decompress(struct perfdata_stream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from)
{
	while (!to->pos && from->pos < from->size) {
		size_t before = from->pos;
		size_t err = ZSTD_decompressStream(stream->zstd, to, from);

		if (ZSTD_isError(err) || (!to->pos && from->pos == before))
			return -EBADMSG;
	}
	return 0;
}

/* What the decoder still holds of input that it took before, when the output had no room. */
static int drain(struct perfdata_stream *stream, ZSTD_outBuffer *to, ZSTD_inBuffer *from)
{
	return ZSTD_isError(ZSTD_decompressStream(stream->zstd, to, from)) ? -EBADMSG : 0;
}

static ssize_t fill_from_zstd(struct perfdata_stream *stream, void *out, size_t room)
{
	ZSTD_outBuffer to = { .dst = out, .size = room };
	ZSTD_inBuffer from = {
		.src = stream->input.data,
		.size = stream->input_end,
		.pos = stream->input_pos,
	};
	int err;

	if (!stream->input.chunk)
		return 0;
	if (from.pos == from.size)
		err = drain(stream, &to, &from);
	else
		err = decompress(stream, &to, &from);
	if (err)
		return err;
	stream->input_pos = from.pos;
	if (from.pos == from.size && to.pos < to.size)
		perfdata_raw_release(&stream->input);
	return to.pos;
}

void perfdata_stream_init_file(struct perfdata_stream *stream, struct perfdata_chunk_pool *pool,
			       int fd, bool seekable, u64 pos, u64 end, bool swap)
{
	*stream = (struct perfdata_stream){
		.fill = fill_from_file,
		.pool = pool,
		.fd = fd,
		.seekable = seekable,
		.pos = seekable ? pos : 0,
		.end = seekable ? end : UINT64_MAX,
		.swap = swap,
	};
}

int perfdata_stream_init_zstd(struct perfdata_stream *stream, struct perfdata_chunk_pool *pool,
			      bool swap)
{
	ZSTD_DStream *zstd = ZSTD_createDStream();

	if (!zstd)
		return -ENOMEM;
	*stream = (struct perfdata_stream){
		.fill = fill_from_zstd,
		.pool = pool,
		.zstd = zstd,
		.swap = swap,
	};
	return 0;
}

void perfdata_stream_deinit(struct perfdata_stream *stream)
{
	chunk_put(stream->chunk);
	stream->chunk = NULL;
	perfdata_raw_release(&stream->input);
	ZSTD_freeDStream(stream->zstd);
	stream->zstd = NULL;
}

static size_t bytes_left(const struct perfdata_stream *stream)
{
	return stream->chunk ? stream->chunk->size - stream->head : 0;
}

/* Moves the bytes that are left to the start of a fresh chunk: aligned, with room behind them. */
static int start_chunk(struct perfdata_stream *stream)
{
	struct perfdata_chunk *chunk = chunk_get(stream->pool);
	size_t left = bytes_left(stream);

	if (!chunk)
		return -ENOMEM;
	if (left)
		memcpy(chunk->data, (u8 *)stream->chunk->data + stream->head, left);
	chunk->size = left;
	chunk_put(stream->chunk);
	stream->chunk = chunk;
	stream->head = 0;
	return 0;
}

/* Makes @need bytes available at the head. 1, 0 when there are fewer, or a failure. */
static int need_bytes(struct perfdata_stream *stream, size_t need)
{
	while (bytes_left(stream) < need) {
		struct perfdata_chunk *chunk = stream->chunk;
		ssize_t n;
		int err;

		if (!chunk || PERFDATA_CHUNK_SIZE - stream->head < need) {
			err = start_chunk(stream);
			if (err)
				return err;
			chunk = stream->chunk;
		}
		n = stream->fill(stream, (u8 *)chunk->data + chunk->size,
				 PERFDATA_CHUNK_SIZE - chunk->size);
		if (n <= 0)
			return n;
		chunk->size += n;
	}
	return 1;
}

/* Only ever after odd-sized records: a chunk of its own for the one that is not aligned. */
static int realign(struct perfdata_stream *stream, struct perfdata_raw *raw)
{
	struct perfdata_chunk *chunk = chunk_get(stream->pool);

	if (!chunk)
		return -ENOMEM;
	memcpy(chunk->data, raw->data, raw->size);
	chunk->size = raw->size;
	raw->data = (const u8 *)chunk->data;
	raw->chunk = chunk;
	return 0;
}

static int pass_over(struct perfdata_stream *stream)
{
	while (stream->skip) {
		int n = need_bytes(stream, 1);
		size_t step;

		if (n <= 0)
			return n ? n : -ENODATA;
		step = MIN(stream->skip, bytes_left(stream));
		stream->head += step;
		stream->skip -= step;
	}
	return 0;
}

/* type, misc, size: the event header at the head. */
static void decode_header(const struct perfdata_stream *stream, struct perfdata_raw *raw)
{
	struct cursor c;

	cursor_init(&c, (const u8 *)stream->chunk->data + stream->head,
		    PERFDATA_EVENT_HEADER_SIZE);
	c.swap = stream->swap;
	raw->data = c.pos;
	raw->type = cursor_u32(&c);
	cursor_skip(&c, sizeof(u16));
	raw->size = cursor_u16(&c);
}

int perfdata_stream_next(struct perfdata_stream *stream, struct perfdata_raw *ret)
{
	struct perfdata_raw raw = { 0 };
	int n = pass_over(stream);

	if (n < 0)
		return n;
	n = need_bytes(stream, PERFDATA_EVENT_HEADER_SIZE);
	if (n <= 0)
		return n < 0 ? n : bytes_left(stream) ? -ENODATA : 0;
	decode_header(stream, &raw);
	if (raw.size < PERFDATA_EVENT_HEADER_SIZE)
		return -EBADMSG;
	n = need_bytes(stream, raw.size);
	if (n <= 0)
		return n < 0 ? n : -ENODATA;

	/* The bytes may have moved to another chunk. */
	raw.data = (const u8 *)stream->chunk->data + stream->head;
	raw.chunk = stream->chunk;
	if (stream->head % sizeof(u64)) {
		n = realign(stream, &raw);
		if (n)
			return n;
	} else {
		stream->chunk->refs++;
	}
	stream->head += raw.size;
	*ret = raw;
	return 1;
}

void perfdata_stream_skip(struct perfdata_stream *stream, u64 size)
{
	stream->skip = size;
}

void perfdata_stream_feed(struct perfdata_stream *stream, struct perfdata_raw *raw, size_t from,
			  size_t to)
{
	perfdata_raw_release(&stream->input);
	stream->input = *raw;
	stream->input_pos = from;
	stream->input_end = to;
	raw->chunk = NULL;
}
