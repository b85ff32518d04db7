/* SPDX-License-Identifier: GPL-2.0-only */
/* Decoding one record of perf.data. Private to perfdata. */
#ifndef PERFDATA_RECORD_H
#define PERFDATA_RECORD_H

#include "perfdata/header.h"
#include "perfdata/stream.h"

/* Chains of the other byte order are turned round into this. */
struct perfdata_scratch {
	VEC(u64) ips;
};

void perfdata_scratch_deinit(struct perfdata_scratch *scratch);

/* The index of the record's attribute; SIZE_MAX when its event id is unknown or missing. */
size_t perfdata_record_attr(const struct perfdata_header *header, const struct perfdata_raw *raw);

/* The record's time; 0 when it has none. */
u64 perfdata_record_time(const struct perfdata_header *header, const struct perfdata_attr *attr,
			 const struct perfdata_raw *raw);

/*
 * Decodes a record of the kernel's types, whose .attr is set. -ENODATA or -EBADMSG when its parts
 * do not fit into it.
 * Pointers in *@ret go into @raw and @scratch.
 */
int perfdata_record_decode(const struct perfdata_header *header, const struct perfdata_raw *raw,
			   struct perfdata_scratch *scratch, struct perfdata_record *ret);

#endif
