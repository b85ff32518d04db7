/* SPDX-License-Identifier: GPL-2.0-only */
/* The samples of a recording, one by one, in the layout of stock perf's `perf script`. */
#ifndef OUTPUT_SCRIPT_H
#define OUTPUT_SCRIPT_H

#include "output/outbuf.h"
#include "perfdata/reader.h"
#include "symbols/resolve.h"

enum script_field {
	SCRIPT_COMM = 1 << 0,
	SCRIPT_PID = 1 << 1,
	SCRIPT_TID = 1 << 2,
	SCRIPT_CPU = 1 << 3,
	SCRIPT_TIME = 1 << 4,
	SCRIPT_PERIOD = 1 << 5,
	SCRIPT_EVENT = 1 << 6,
	SCRIPT_IP = 1 << 7,
	SCRIPT_SYM = 1 << 8,
	SCRIPT_SYMOFF = 1 << 9,
	SCRIPT_DSO = 1 << 10,
	SCRIPT_STOP = 1 << 11,	/* why the chain ended, in kvmprof's recordings; perf has it not */
	SCRIPT_SRCLINE = 1 << 12,	/* file and line, where there is DWARF and lines are on */
};

/* What perf shows; fields that an event does not record are left out of it. */
#define SCRIPT_DEFAULT_FIELDS                                                         \
	(SCRIPT_COMM | SCRIPT_TID | SCRIPT_CPU | SCRIPT_TIME | SCRIPT_PERIOD |        \
	 SCRIPT_EVENT | SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO)

/* The field of that name in -F's argument; 0 when there is none. */
unsigned int script_field_by_name(const char *name, size_t len);

struct script_options {
	unsigned int fields;	/* enum script_field */
	u32 max_stack;		/* frames shown of a chain, innermost first */
	bool nanoseconds;
	/* False: pass over the sample. NULL: show all. */
	bool (*filter)(const struct perfdata_record *sample, const char *comm, void *arg);
	void *filter_arg;
};

/*
 * Reads @reader to its end and writes its samples to @out, without the last flush. 0 or the
 * reader's end when that is an error (-ENODATA: cut off; what there was has been written),
 * -ENOMEM, or out->error.
 */
int script_write(struct perfdata_reader *reader, struct resolver *resolver,
		 const struct script_options *options, struct outbuf *out);

#endif
