/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a perf.data file that is not its stream of records: file header, attributes,
 * features. In the pipe form the same things arrive as records. Private to perfdata.
 */
#ifndef PERFDATA_HEADER_H
#define PERFDATA_HEADER_H

#include "base/cursor.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "perfdata/format.h"
#include "perfdata/reader.h"

struct perfdata_header {
	bool swap;		/* the file's byte order is not the host's */
	bool pipe;
	bool truncated;		/* the file is shorter than it says, or was never finished */
	u64 data_offset, data_size;
	VEC(struct perfdata_attr) attrs;
	VEC(struct perfdata_build_id) build_ids;
	struct hashmap id_to_attr;	/* event id -> index of its attribute */
	size_t nr_ids;
	char *strings[PERFDATA_FEATURE_BITS];
};

/*
 * Reads the header of @fd: all of it in the normal form, which needs @seekable; the first 16 bytes
 * in the pipe form. Errors and @ret_why as perfdata_reader_open().
 */
int perfdata_header_read(struct perfdata_header *header, int fd, bool seekable,
			 const char **ret_why);
void perfdata_header_deinit(struct perfdata_header *header);

/* The records that stand for the header in the pipe form: a cursor behind the event header. */
int perfdata_header_add_attr(struct perfdata_header *header, struct cursor *c);
int perfdata_header_add_feature(struct perfdata_header *header, unsigned int feature,
				struct cursor *c);
int perfdata_header_update_event(struct perfdata_header *header, struct cursor *c);

/* One build-id record, event header included. */
int perfdata_header_add_build_id(struct perfdata_header *header, const struct cursor *record);

/* The attribute's index for an event id; SIZE_MAX when no attribute has it. */
size_t perfdata_header_attr_of_id(const struct perfdata_header *header, u64 id);

#endif
