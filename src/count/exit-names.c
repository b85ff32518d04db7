/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of exits from a print format: C expressions over the record's fields, with
 *	(REC->isa == 1) ? __print_symbolic(REC->exit_reason & 0xffff, { 0, "EXCEPTION_NMI" }, …) :
 *			  __print_symbolic(REC->exit_reason, { 0x000, "read_cr0" }, …)
 * in x86's (arch/x86/kvm/trace.h), and in arm64's (arch/arm64/kvm/trace_arm.h)
 *	__print_symbolic(REC->ret, { 0, "IRQ" }, …), REC->esr_ec,
 *	__print_symbolic(REC->esr_ec, { (((0x00UL))), "UNKNOWN" }, …)
 */
#include "count/exit-names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "capture/trace-format.h"

#define MAX_TABLES 16
#define MAX_NAMES 4096
#define TABLE_BEGIN "__print_symbolic("

/* The fields that make a reason, by architecture. */
static const struct {
	const char *reason, *detail;
} pairs[] = {
	{ "exit_reason", "isa" },
	{ "ret", "esr_ec" },
};

static int place_of(const struct trace_format *format, const char *name, u32 *ret_at, u32 *ret_size)
{
	const struct trace_field *field = trace_format_find(format, name);

	if (!field || field->kind != TRACE_FIELD_NUMBER || field->size > sizeof(u32))
		return -EOPNOTSUPP;
	*ret_at = field->offset;
	*ret_size = field->size;
	return 0;
}

int exit_fields_find(const char *text, struct stat_fields *ret)
{
	struct trace_format format = { .size = 0 };
	struct stat_fields fields = { 0 };
	int err = trace_format_parse(text, &format);

	if (err)
		return err;
	err = -EOPNOTSUPP;
	for (size_t i = 0; i < ARRAY_SIZE(pairs) && err; i++) {
		err = place_of(&format, pairs[i].reason, &fields.reason_at, &fields.reason_size);
		/* A kernel that has only one kind of reason need not say which. */
		if (!err && place_of(&format, pairs[i].detail, &fields.detail_at,
				     &fields.detail_size))
			fields.detail_at = fields.detail_size = 0;
	}
	trace_format_deinit(&format);
	if (!err)
		*ret = fields;
	return err;
}

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n");
}

/* A number, which may be in parentheses and end with U and L; moves *@at behind it. */
static int parse_number(const char **at, u32 *ret)
{
	const char *text = *at + strspn(*at, " \t\n(");
	char *end;
	unsigned long long value = strtoull(text, &end, 0);

	if (end == text || (!isdigit((unsigned char)*text) && *text != '-'))
		return -EBADMSG;
	end += strspn(end, "uUlL");
	*at = end + strspn(end, " \t\n)");
	*ret = value;
	return 0;
}

/* Moves *@at behind "REC->", and its name to @out of @size bytes. */
static int parse_field(const char **at, char *out, size_t size)
{
	const char *text = *at + strspn(*at, " \t\n(");
	size_t len;

	if (strncmp(text, "REC->", 5))
		return -EBADMSG;
	text += 5;
	for (len = 0; isalnum((unsigned char)text[len]) || text[len] == '_'; len++)
		;
	if (!len || len >= size)
		return -EBADMSG;
	memcpy(out, text, len);
	out[len] = '\0';
	*at = skip_space(text + len);
	return 0;
}

/* Whether @field is one of the numbers, and which. */
static int find_role(const char *field, bool *ret_detail)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		bool detail = !strcmp(field, pairs[i].detail);

		if (detail || !strcmp(field, pairs[i].reason)) {
			*ret_detail = detail;
			return 0;
		}
	}
	return -ENOENT;
}

/* { NUMBER, "NAME" }; -ENOENT: one whose number is not a plain one. Moves *@at behind it. */
static int parse_name(const char **at, struct exit_name *name)
{
	const char *close = strchr(*at, '}'), *open = strchr(*at, '"'), *end;
	const char *text = *at + 1;
	int err;

	end = open ? strchr(open + 1, '"') : NULL;
	if (!close || !end || end > close)
		return -EBADMSG;
	*at = close + 1;
	err = parse_number(&text, &name->value);
	if (err || *text != ',' || skip_space(text + 1) != open ||
	    (size_t)(end - open) > sizeof(name->name))
		return -ENOENT;
	memcpy(name->name, open + 1, end - open - 1);
	name->name[end - open - 1] = '\0';
	return 0;
}

/* The names behind the expression of a table. */
static int parse_names(const char **at, struct exit_names *names)
{
	while (**at == ',') {
		struct exit_name name = { .table = names->tables.nr };
		int err;

		*at = skip_space(*at + 1);
		if (**at != '{')
			return -EBADMSG;
		err = parse_name(at, &name);
		if (!err && names->names.nr >= MAX_NAMES)
			err = -E2BIG;
		if (!err)
			err = vec_push(&names->names, name);
		if (err && err != -ENOENT)
			return err;
		*at = skip_space(*at);
	}
	return **at == ')' ? 0 : -EBADMSG;
}

/* "REC->isa == NUMBER" right before a "?", the last one in [@from, @to). */
static void find_condition(const char *from, const char *to, struct exit_table *table)
{
	const char *mark = memrchr(from, '?', to - from), *at;
	char field[32];

	table->conditional = false;
	if (!mark || memchr(mark, ':', to - mark))
		return;
	for (at = mark; at > from && at[-1] != ','; at--)
		;
	table->conditional = !parse_field(&at, field, sizeof(field)) &&
			     !strcmp(field, pairs[0].detail) && !strncmp(at, "==", 2) &&
			     (at += 2, !parse_number(&at, &table->other)) && at == mark;
}

/* @at is behind TABLE_BEGIN. Tables of other fields are passed over: -ENOENT. */
static int parse_table(const char **at, struct exit_table *table, struct exit_names *names)
{
	char field[32];
	int err = parse_field(at, field, sizeof(field));

	err = err ?: find_role(field, &table->of_detail);
	if (err)
		return err == -EBADMSG ? -ENOENT : err;
	table->mask = UINT32_MAX;
	if (**at == '&') {
		++*at;
		err = parse_number(at, &table->mask);
	}
	err = err ?: parse_names(at, names);
	err = err ?: vec_push(&names->tables, *table);
	if (!err && names->tables.nr > MAX_TABLES)
		err = -E2BIG;
	return err;
}

static int parse_tables(const char *text, struct exit_names *names)
{
	const char *last = text, *at;
	int err = 0;

	while (!err && (at = strstr(last, TABLE_BEGIN))) {
		/* What comes after "A ? TABLE : " is A's other case. */
		const struct exit_table *before =
			names->tables.nr ? &names->tables.data[names->tables.nr - 1] : NULL;
		const char *between = last + strspn(last, " \t\n):");
		struct exit_table table = { .mask = 0 };

		if (before && before->conditional && !before->negated && between == at &&
		    memchr(last, ':', at - last)) {
			table = *before;
			table.negated = true;
		} else {
			find_condition(last, at, &table);
		}
		at += strlen(TABLE_BEGIN);
		err = parse_table(&at, &table, names);
		if (err == -ENOENT)
			err = 0;
		last = at;
	}
	return err;
}

int exit_names_parse(const char *format, struct exit_names *ret)
{
	const char *text = strstr(format, "print fmt:");
	struct exit_names names = { VEC_INIT };
	int err = text ? parse_tables(text, &names) : -EBADMSG;

	if (err)
		exit_names_deinit(&names);
	else
		*ret = names;
	return err;
}

void exit_names_deinit(struct exit_names *names)
{
	vec_deinit(&names->tables);
	vec_deinit(&names->names);
}

static bool holds(const struct exit_table *table, u32 detail)
{
	return !table->conditional || (detail == table->other) != table->negated;
}

static const char *look_up(const struct exit_names *names, u32 table, u32 value)
{
	vec_for_each(&names->names, name) {
		if (name->table == table && name->value == value)
			return name->name;
	}
	return NULL;
}

/* The name of the one number or the other; NULL: it has none. @ret_rest: bits not in the mask. */
static const char *find_one(const struct exit_names *names, u32 reason, u32 detail, bool of_detail,
			    u32 *ret_rest)
{
	u32 value = of_detail ? detail : reason;

	for (size_t i = 0; i < names->tables.nr; i++) {
		const struct exit_table *table = &names->tables.data[i];
		const char *name;

		if (table->of_detail != of_detail || !holds(table, detail))
			continue;
		name = look_up(names, i, value & table->mask);
		*ret_rest = value & ~table->mask;
		if (name)
			return name;
	}
	return NULL;
}

void exit_names_find(const struct exit_names *names, u32 reason, u32 detail, char *out)
{
	u32 rest = 0;
	const char *first = find_one(names, reason, detail, false, &rest), *second;
	u32 ignored;

	/* x86's second number has no names; arm64's is 0 where the first says it all. */
	second = detail ? find_one(names, reason, detail, true, &ignored) : NULL;
	if (!first)
		snprintf(out, EXIT_NAME_LEN, "0x%x", reason);
	else if (rest)
		snprintf(out, EXIT_NAME_LEN, "%s+0x%x", first, rest);
	else if (second)
		snprintf(out, EXIT_NAME_LEN, "%s:%s", first, second);
	else
		snprintf(out, EXIT_NAME_LEN, "%s", first);
}
