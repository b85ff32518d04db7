/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kvmprof adds to each sample of a perf.data: why its chain ended. It travels as the sample's
 * PERF_SAMPLE_RAW bytes, which stock perf steps over for events that are not tracepoints. Of a
 * tracepoint they come behind its record, where perf does not look.
 */
#ifndef PERFDATA_NOTE_H
#define PERFDATA_NOTE_H

#include "base/types.h"
#include "perfdata/reader.h"

#define PERFDATA_NOTE_MAGIC 0x504d564bU	/* "KVMP" in a little-endian file */
#define PERFDATA_NOTE_VERSION 1

enum perfdata_note_flags {
	PERFDATA_NOTE_CHANGED = 1 << 0,		/* guest memory changed under the walk */
	PERFDATA_NOTE_MOVED = 1 << 1,		/* registers later than the event */
	PERFDATA_NOTE_UNVERIFIED = 1 << 2,	/* a return address could not be checked */
};

/* 12 bytes: with PERF_SAMPLE_RAW's own size before it the sample stays 8-byte aligned. */
struct perfdata_note {
	u32 magic;
	u8 version;
	u8 kernel_stop;	/* enum stop_reason */
	u8 user_stop;	/* enum stop_reason */
	u8 flags;	/* enum perfdata_note_flags */
	u32 host_tid;	/* the vCPU's thread */
};

/* The note of @sample, of either byte order; -ENOENT when it has none that we know. */
int perfdata_note_read(const struct perfdata_record *sample, struct perfdata_note *ret);

#endif
