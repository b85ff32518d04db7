/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a tracepoint's record has which field, as tracefs' `format` files say it. */
#ifndef CAPTURE_TRACE_FORMAT_H
#define CAPTURE_TRACE_FORMAT_H

#include "base/types.h"
#include "base/vec.h"

#define TRACE_COMMON_SIZE 8	/* of the fields that all have: type, flags, preempt count, pid */

enum trace_field_kind {
	TRACE_FIELD_NUMBER,	/* of 1, 2, 4 or 8 bytes */
	TRACE_FIELD_OTHER,	/* text and arrays in the record itself */
	TRACE_FIELD_DYNAMIC,	/* four bytes that say where in the record it is, and how long */
};

struct trace_field {
	char name[48];
	u16 offset, size;
	u8 kind;		/* enum trace_field_kind */
	bool is_signed;
};

struct trace_format {
	VEC(struct trace_field) fields;
	u32 size;		/* of the record but for what its dynamic fields hold */
};

/* -EBADMSG: not such a text. */
int trace_format_parse(const char *text, struct trace_format *ret);
void trace_format_deinit(struct trace_format *format);

/* NULL: it has none of that name. */
const struct trace_field *trace_format_find(const struct trace_format *format, const char *name);

/*
 * Makes of @record, the first @size bytes of one as BPF sees it or perf, what can be given away:
 * @id and @pid in the common fields, whose place BPF has a pointer in; dynamic fields, the bytes of
 * which are not among these, empty.
 */
void trace_format_tidy(const struct trace_format *format, u8 *record, size_t size, u16 id,
		       s32 pid);

#endif
