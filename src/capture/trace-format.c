/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The format of a tracepoint: lines "field:TYPE NAME[…]; offset:N; size:N; signed:N;"
 * (kernel/trace/trace_events.c, f_show()).
 */
#include "capture/trace-format.h"

#include <stdio.h>
#include <string.h>

#include "base/errors.h"

#define EMPTY_TEXT_AT 2		/* a byte that is 0: the common flags, as we write them */

/* The number behind @key in the line that ends at @end. */
static int find_number(const char *line, const char *end, const char *key, unsigned long *ret)
{
	const char *at = strstr(line, key);
	char *stop;

	if (!at || at >= end)
		return -EBADMSG;
	at += strlen(key);
	*ret = strtoul(at, &stop, 10);
	return stop == at || *ret > UINT16_MAX ? -EBADMSG : 0;
}

/* The last word of the declaration @text, without what is in brackets behind it. */
static int copy_name(const char *text, size_t len, struct trace_field *field)
{
	const char *bracket = memchr(text, '[', len);
	size_t end = bracket ? (size_t)(bracket - text) : len, start;

	/* "__data_loc char[] name": there the brackets are the type's. */
	if (field->kind == TRACE_FIELD_DYNAMIC)
		end = len;
	for (start = end; start && text[start - 1] != ' ' && text[start - 1] != '*'; start--)
		;
	if (!start || start == end || end - start >= sizeof(field->name))
		return -EBADMSG;
	memcpy(field->name, text + start, end - start);
	field->name[end - start] = '\0';
	return 0;
}

static enum trace_field_kind field_kind(const char *text, size_t len, size_t size)
{
	if (!strncmp(text, "__data_loc ", 11) || !strncmp(text, "__rel_loc ", 10))
		return TRACE_FIELD_DYNAMIC;
	if (memchr(text, '[', len) || (size != 1 && size != 2 && size != 4 && size != 8))
		return TRACE_FIELD_OTHER;
	return TRACE_FIELD_NUMBER;
}

/* @line is behind "field:". */
static int parse_field(const char *line, struct trace_field *ret)
{
	const char *end = strchrnul(line, '\n'), *semicolon = strchr(line, ';');
	unsigned long offset, size, is_signed;
	int err = semicolon && semicolon < end ? 0 : -EBADMSG;

	if (!err)
		err = find_number(semicolon, end, "offset:", &offset);
	if (!err)
		err = find_number(semicolon, end, "size:", &size);
	if (!err)
		err = find_number(semicolon, end, "signed:", &is_signed);
	if (err)
		return err;
	*ret = (struct trace_field){
		.offset = offset,
		.size = size,
		.is_signed = is_signed,
		.kind = field_kind(line, semicolon - line, size),
	};
	return copy_name(line, semicolon - line, ret);
}

int trace_format_parse(const char *text, struct trace_format *ret)
{
	struct trace_format format = { .size = 0 };
	int err = 0;

	while ((text = strstr(text, "field:")) && !err) {
		struct trace_field field;

		text += strlen("field:");
		err = parse_field(text, &field);
		if (!err)
			err = vec_push(&format.fields, field);
		if (!err)
			format.size = MAX(format.size, (u32)field.offset + field.size);
	}
	if (!err && format.size < TRACE_COMMON_SIZE)
		err = -EBADMSG;
	if (err)
		trace_format_deinit(&format);
	else
		*ret = format;
	return err;
}

void trace_format_deinit(struct trace_format *format)
{
	vec_deinit(&format->fields);
}

const struct trace_field *trace_format_find(const struct trace_format *format, const char *name)
{
	vec_for_each(&format->fields, field) {
		if (!strcmp(field->name, name))
			return field;
	}
	return NULL;
}

void trace_format_tidy(const struct trace_format *format, u8 *record, size_t size, u16 id, s32 pid)
{
	const u32 nothing = EMPTY_TEXT_AT;	/* of no length, there */

	if (size < TRACE_COMMON_SIZE)
		return;
	memset(record, 0, TRACE_COMMON_SIZE);
	memcpy(record, &id, sizeof(id));
	memcpy(record + 4, &pid, sizeof(pid));
	vec_for_each(&format->fields, field) {
		if (field->kind == TRACE_FIELD_DYNAMIC && field->offset + sizeof(nothing) <= size)
			memcpy(record + field->offset, &nothing, sizeof(nothing));
	}
}
