/* SPDX-License-Identifier: GPL-2.0-only */
/* How `kvmprof list` shows guests. */
#include "cmd/list-print.h"

#include <libsmartcols.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/strbuf.h"
#include "output/json.h"

enum column_type {
	TYPE_TEXT,
	TYPE_NUMBER,
	TYPE_TEXTS,	/* any number of them, one a line */
	TYPE_NUMBERS,
};

struct column {
	const char *name;
	enum column_type type;
	bool shown;	/* also when it is not asked for */
	const char *help;
};

static const struct column columns[LIST_NR] = {
	[LIST_NAME] = { "NAME", TYPE_TEXT, true, "what the VMM calls it, else VMM-PID" },
	[LIST_VMM] = { "VMM", TYPE_TEXT, true, "program that runs it" },
	[LIST_PID] = { "PID", TYPE_NUMBER, true, "process of the VMM" },
	[LIST_VCPUS] = { "VCPUS", TYPE_NUMBER, true, "number of virtual CPUs" },
	[LIST_THREADS] = { "THREADS", TYPE_NUMBERS, false,
			   "threads of the vCPUs, in order; 0: has not run yet" },
	[LIST_MEMORY] = { "MEMORY", TYPE_NUMBER, true, "RAM in its memory slots" },
	[LIST_SLOTS] = { "SLOTS", TYPE_NUMBER, false, "number of memory slots" },
	[LIST_KICK] = { "KICK", TYPE_TEXT, false, "signal that makes a vCPU exit, if known" },
	[LIST_CAPTURE] = { "CAPTURE", TYPE_TEXTS, true, "capture modes that work" },
	[LIST_OS] = { "OS", TYPE_TEXT, true, "operating system in its memory" },
	[LIST_KERNEL] = { "KERNEL", TYPE_TEXT, true, "release of its kernel" },
	[LIST_PROTECTED] = { "PROTECTED", TYPE_TEXT, false, "protection that keeps us out" },
	[LIST_VPMU] = { "VPMU", TYPE_TEXT, false,
			"hardware counters that the guest uses, and has lost to the host" },
	[LIST_WHY_NOT] = { "WHY_NOT", TYPE_TEXTS, false, "what does not work, and why" },
};

int list_find_column(const char *name, enum list_column *ret)
{
	for (int i = 0; i < LIST_NR; i++)
		if (!strcasecmp(columns[i].name, name)) {
			*ret = i;
			return 0;
		}
	return -ENOENT;
}

bool list_is_default(enum list_column column)
{
	return columns[column].shown;
}

void list_print_columns(void)
{
	printf("\nColumns\n");
	for (size_t i = 0; i < LIST_NR; i++)
		printf("    %-24s%s\n", columns[i].name, columns[i].help);
}

/* "1.5G": in the largest unit that leaves a number of at least 1, to a tenth. */
static void add_size(struct strbuf *sb, u64 bytes)
{
	static const char units[] = "BKMGTPE";
	unsigned int unit = 0;
	u64 rest = 0;

	while (bytes >= 1024) {
		rest = bytes % 1024;
		bytes /= 1024;
		unit++;
	}
	strbuf_addf(sb, "%llu", bytes);
	if (rest * 10 / 1024)
		strbuf_addf(sb, ".%llu", rest * 10 / 1024);
	strbuf_addc(sb, units[unit]);
}

static void add_escaped(struct strbuf *sb, const char *text)
{
	char safe[4 * VM_NAME_LEN];

	escape_terminal(text, safe, sizeof(safe));
	strbuf_adds(sb, safe);
}

static void add_threads(struct strbuf *sb, const struct vm *vm)
{
	for (size_t i = 0; i < vm->vcpus.nr; i++)
		strbuf_addf(sb, "%s%d", i ? "\n" : "", vm->vcpus.data[i].tid);
}

static void add_signal(struct strbuf *sb, int number)
{
	const char *name = number ? sigabbrev_np(number) : NULL;

	if (name)
		strbuf_addf(sb, "SIG%s", name);
	else if (number >= SIGRTMIN)
		strbuf_addf(sb, "SIGRTMIN+%d", number - SIGRTMIN);
}

static void add_modes(struct strbuf *sb, const struct list_row *row)
{
	for (int mode = CAPTURE_AUTO + 1; mode < CAPTURE_NR; mode++)
		if (!row->why_not[mode])
			strbuf_addf(sb, "%s%s", sb->len ? "\n" : "", capture_mode_name(mode));
}

static void add_why_not(struct strbuf *sb, const char *prefix, const struct list_row *row)
{
	for (int mode = CAPTURE_AUTO + 1; mode < CAPTURE_NR; mode++)
		if (row->why_not[mode])
			strbuf_addf(sb, "%s%s%s: %s", sb->len ? "\n" : "", prefix,
				    capture_mode_name(mode), row->why_not[mode]);
	if (row->os_why)
		strbuf_addf(sb, "%s%soperating system: %s", sb->len ? "\n" : "", prefix,
			    row->os_why);
}

static void add_counters(struct strbuf *sb, const struct vm_vcpu_counters *counters)
{
	if (counters->nr)
		strbuf_addf(sb, "%u", counters->nr);
	if (counters->failed)
		strbuf_addf(sb, ", %u lost", counters->failed);
}

/* Neither the guest nor the host is told of it otherwise. */
static void add_lost_counters(struct strbuf *sb, const struct list_row *row)
{
	if (!row->counters.failed)
		return;
	strbuf_adds(sb, sb->len ? "\n" : "");
	add_escaped(sb, row->vm->name);
	strbuf_addf(sb, ": %u of %u counters that the guest uses are lost to the host's events: "
		    "they stand still in the guest", row->counters.failed, row->counters.nr);
}

static void add_memory(struct strbuf *sb, const struct list_style *style, u64 bytes)
{
	if (style->bytes)
		strbuf_addf(sb, "%llu", bytes);
	else
		add_size(sb, bytes);
}

/* Raw text: the table and JSON each have their own way to make it harmless. */
static void add_cell(struct strbuf *sb, const struct list_style *style, const struct list_row *row,
		     enum list_column column)
{
	const struct vm *vm = row->vm;

	switch (column) {
	case LIST_NAME:
		return strbuf_adds(sb, vm->name);
	case LIST_VMM:
		return strbuf_adds(sb, vm->vmm);
	case LIST_PID:
		return strbuf_addf(sb, "%d", vm->pid);
	case LIST_VCPUS:
		return strbuf_addf(sb, "%zu", vm->vcpus.nr);
	case LIST_THREADS:
		return add_threads(sb, vm);
	case LIST_MEMORY:
		return add_memory(sb, style, vm->memory);
	case LIST_SLOTS:
		return strbuf_addf(sb, "%u", vm->slots.nr + vm->slots.cut);
	case LIST_KICK:
		return add_signal(sb, vm->kick_signal);
	case LIST_CAPTURE:
		return add_modes(sb, row);
	case LIST_OS:
		return strbuf_adds(sb, row->os == GUEST_OS_LINUX ? "Linux" : "");
	case LIST_KERNEL:
		return strbuf_adds(sb, row->release);
	case LIST_PROTECTED:
		return strbuf_adds(sb, vm->confidential ? vm->confidential_kind : "");
	case LIST_VPMU:
		return add_counters(sb, &row->counters);
	case LIST_WHY_NOT:
		return add_why_not(sb, "", row);
	case LIST_NR:
		break;
	}
}

/* Modes and threads side by side; only reasons are long enough for lines of their own. */
static void join_lines(struct strbuf *sb, enum list_column column)
{
	if (column == LIST_WHY_NOT)
		return;
	for (size_t i = 0; i < sb->len; i++)
		if (sb->data[i] == '\n')
			sb->data[i] = ',';
}

static int add_line(struct libscols_table *table, const struct list_style *style,
		    const struct list_row *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < style->nr_columns; i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
		int err;

		add_cell(&sb, style, row, style->columns[i]);
		join_lines(&sb, style->columns[i]);
		err = strbuf_error(&sb) ?: scols_line_set_data(line, i, strbuf_cstr(&sb));
		if (err)
			return err;
	}
	return 0;
}

static int add_column(struct libscols_table *table, enum list_column id)
{
	int flags = columns[id].type == TYPE_NUMBER ? SCOLS_FL_RIGHT : 0;
	struct libscols_column *column;

	if (id == LIST_WHY_NOT)
		flags |= SCOLS_FL_WRAP;
	column = scols_table_new_column(table, columns[id].name, 0, flags);
	if (!column)
		return -ENOMEM;
	if (id != LIST_WHY_NOT)
		return 0;
	scols_column_set_safechars(column, "\n");
	return scols_column_set_wrapfunc(column, scols_wrapnl_chunksize, scols_wrapnl_nextchunk,
					 NULL);
}

int list_print_table(FILE *out, const struct list_style *style, const struct list_row *rows,
		     size_t nr)
{
	struct libscols_table *table = scols_new_table();
	int err = 0;

	if (!table)
		return -ENOMEM;
	scols_table_set_stream(table, out);
	scols_table_enable_noheadings(table, style->noheadings);
	for (size_t i = 0; !err && i < style->nr_columns; i++)
		err = add_column(table, style->columns[i]);
	for (size_t i = 0; !err && i < nr; i++)
		err = add_line(table, style, &rows[i]);
	err = err ?: scols_print_table(table);
	scols_unref_table(table);
	return err;
}

int list_print_notes(FILE *out, const struct list_row *rows, size_t nr)
{
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT;

	for (size_t i = 0; i < nr; i++) {
		_cleanup_strbuf_ struct strbuf prefix = STRBUF_INIT;

		add_escaped(&prefix, rows[i].vm->name);
		strbuf_adds(&prefix, ": no ");
		add_why_not(&notes, strbuf_cstr(&prefix), &rows[i]);
		add_lost_counters(&notes, &rows[i]);
	}
	if (notes.len)
		fprintf(out, "\n%s\n", strbuf_cstr(&notes));
	return strbuf_error(&notes);
}

static void add_json_value(struct strbuf *sb, enum column_type type, const char *text)
{
	if (type == TYPE_NUMBER || type == TYPE_NUMBERS)
		strbuf_adds(sb, text);
	else
		json_add_string(sb, text);
}

/* An array of @text's lines. */
static void add_json_array(struct strbuf *sb, enum column_type type, char *text)
{
	char *save = NULL;

	strbuf_addc(sb, '[');
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (line != text)
			strbuf_adds(sb, ", ");
		add_json_value(sb, type, line);
	}
	strbuf_addc(sb, ']');
}

static void add_json_cell(struct strbuf *sb, const struct list_style *style,
			  const struct list_row *row, enum list_column id)
{
	_cleanup_strbuf_ struct strbuf cell = STRBUF_INIT;
	enum column_type type = columns[id].type;

	add_cell(&cell, style, row, id);
	strbuf_adds(sb, "      \"");
	for (const char *c = columns[id].name; *c; c++)
		strbuf_addc(sb, *c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c);
	strbuf_adds(sb, "\": ");
	strbuf_addc(&cell, '\0');
	if (type == TYPE_TEXTS || type == TYPE_NUMBERS)
		add_json_array(sb, type, cell.data);
	else if (cell.len > 1)
		add_json_value(sb, type, cell.data);
	else
		strbuf_adds(sb, "null");
	if (strbuf_error(&cell))
		sb->error = strbuf_error(&cell);
}

int list_print_json(FILE *out, const struct list_style *style, const struct list_row *rows,
		    size_t nr)
{
	struct list_style exact = *style;
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	exact.bytes = true;
	strbuf_adds(&sb, "{\n  \"guests\": [");
	for (size_t i = 0; i < nr; i++) {
		strbuf_adds(&sb, i ? ", {\n" : "{\n");
		for (size_t j = 0; j < style->nr_columns; j++) {
			if (j)
				strbuf_adds(&sb, ",\n");
			add_json_cell(&sb, &exact, &rows[i], style->columns[j]);
		}
		strbuf_adds(&sb, "\n    }");
	}
	strbuf_adds(&sb, "]\n}\n");
	if (strbuf_error(&sb))
		return strbuf_error(&sb);
	fputs(strbuf_cstr(&sb), out);
	return 0;
}
