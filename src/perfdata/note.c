/* SPDX-License-Identifier: GPL-2.0-only */
/* What kvmprof adds to each sample of a perf.data. */
#include "perfdata/note.h"

#include "base/cursor.h"

#define NOTE_SIZE sizeof(struct perfdata_note)

int perfdata_note_read(const struct perfdata_record *sample, struct perfdata_note *ret)
{
	struct perfdata_note note;
	struct cursor c;

	if (sample->kind != PERFDATA_SAMPLE || !sample->sample.raw)
		return -ENOENT;
	cursor_init(&c, sample->sample.raw, sample->sample.raw_size);
	if (sample->sample.raw_size > NOTE_SIZE)
		cursor_skip(&c, sample->sample.raw_size - NOTE_SIZE);
	note.magic = cursor_u32(&c);
	/* Known by its magic: the reader turns records around, not these bytes. */
	c.swap = note.magic == __builtin_bswap32(PERFDATA_NOTE_MAGIC);
	if (c.swap)
		note.magic = PERFDATA_NOTE_MAGIC;
	note.version = cursor_u8(&c);
	note.kernel_stop = cursor_u8(&c);
	note.user_stop = cursor_u8(&c);
	note.flags = cursor_u8(&c);
	note.host_tid = cursor_u32(&c);
	if (cursor_error(&c) || note.magic != PERFDATA_NOTE_MAGIC ||
	    note.version != PERFDATA_NOTE_VERSION)
		return -ENOENT;
	*ret = note;
	return 0;
}
