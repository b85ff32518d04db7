/* SPDX-License-Identifier: GPL-2.0-only */
/* The buffer between the records of a perf.data and the file. */
#include <string.h>

#include "base/file.h"
#include "perfdata/writer-private.h"
#include "perfdata/writer.h"

int writer_fail(struct perfdata_writer *writer, int err)
{
	if (err && !writer->error)
		writer->error = err;
	return writer->error;
}

int writer_flush(struct perfdata_writer *writer)
{
	int err;

	if (writer->error)
		return writer->error;
	err = fd_write_all(writer->out.fd, writer->buffer, writer->used);
	if (err)
		return writer_fail(writer, err);
	writer->written += writer->used;
	writer->used = 0;
	return 0;
}

void *writer_reserve(struct perfdata_writer *writer, size_t size)
{
	void *room;

	if (writer->error)
		return NULL;
	if (size > sizeof(writer->buffer) - writer->used && writer_flush(writer))
		return NULL;
	room = writer->buffer + writer->used;
	writer->used += size;
	return room;
}

int writer_append(struct perfdata_writer *writer, const void *data, size_t size)
{
	const u8 *p = data;

	while (size) {
		size_t part = MIN(size, sizeof(writer->buffer));
		void *room = writer_reserve(writer, part);

		if (!room)
			return writer->error;
		memcpy(room, p, part);
		p += part;
		size -= part;
	}
	return 0;
}

u64 perfdata_writer_bytes(const struct perfdata_writer *writer)
{
	return writer->written + writer->used;
}
