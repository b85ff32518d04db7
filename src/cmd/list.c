/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof list: the KVM guests of this host. */
#include <libsmartcols.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "vm/vm.h"

static const char *const source_names[] = { "auto", "bpf", "kcore", NULL };

static struct {
	u64 pid;
	struct option_list columns;
	bool json;
	bool noheadings;
	bool bytes;
	int source;
} opt;

enum column_id {
	COLUMN_NAME,
	COLUMN_VMM,
	COLUMN_PID,
	COLUMN_VCPUS,
	COLUMN_THREADS,
	COLUMN_MEMORY,
	COLUMN_SLOTS,
	COLUMN_KICK,
	COLUMN_PROTECTED,
	COLUMN_NR,
};

struct column {
	const char *name;
	const char *help;
	int flags;
	int json;
	bool shown;	/* without -o */
};

static const struct column columns[COLUMN_NR] = {
	[COLUMN_NAME] = { "NAME", "what the VMM calls it, else VMM-PID", .shown = true },
	[COLUMN_VMM] = { "VMM", "program that runs it", .shown = true },
	[COLUMN_PID] = { "PID", "process of the VMM", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_VCPUS] = { "VCPUS", "number of virtual CPUs", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_THREADS] = { "THREADS", "threads of the vCPUs, in their order; 0: has not run yet",
			     SCOLS_FL_WRAP, SCOLS_JSON_ARRAY_NUMBER },
	[COLUMN_MEMORY] = { "MEMORY", "RAM in its memory slots", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER, true },
	[COLUMN_SLOTS] = { "SLOTS", "number of memory slots", SCOLS_FL_RIGHT, SCOLS_JSON_NUMBER },
	[COLUMN_KICK] = { "KICK", "signal that makes a vCPU exit; empty: none known", 0 },
	[COLUMN_PROTECTED] = { "PROTECTED", "protection that keeps us out", 0 },
};

static void print_columns(void)
{
	printf("\nColumns\n");
	for (size_t i = 0; i < COLUMN_NR; i++)
		printf("    %-24s%s\n", columns[i].name, columns[i].help);
}

static const struct option_spec options[] = {
	OPT_GROUP("Which guests"),
	OPT_NUMBER('p', "pid", &opt.pid, 1, INT32_MAX, "PID", "only those of this VMM",
		   .complete = "pid"),
	OPT_GROUP("Output"),
	OPT_LIST('o', "output", &opt.columns, "COLUMNS", "columns to show, see below"),
	OPT_FLAG('J', "json", &opt.json, "all columns as JSON"),
	OPT_FLAG('n', "noheadings", &opt.noheadings, "no line of column names"),
	OPT_FLAG('b', "bytes", &opt.bytes, "sizes in bytes"),
	OPT_CHOICE(0, "source", &opt.source, source_names, "SOURCE",
		   "how to read the kernel's memory: auto, bpf, kcore", .hidden = true),
	OPT_END
};

static const struct command_spec spec = {
	.name = "list",
	.usage = "[-p PID] [-o COLUMNS] [--json]",
	.summary = "Show the KVM guests of this host",
	.options = options,
	.print_more = print_columns,
};

static int find_column(const char *name)
{
	for (int i = 0; i < COLUMN_NR; i++)
		if (!strcasecmp(columns[i].name, name))
			return i;
	return -ENOENT;
}

/* The columns to show, in the order that was asked for. */
static bool choose_columns(int *ids, size_t *nr)
{
	*nr = 0;
	for (int i = 0; i < COLUMN_NR && !opt.columns.nr; i++)
		if (columns[i].shown || opt.json)
			ids[(*nr)++] = i;
	for (size_t i = 0; i < opt.columns.nr; i++) {
		int id = find_column(opt.columns.items[i]);

		if (id < 0) {
			options_usage_error(&spec, "unknown column '%s'; --help lists them",
					    opt.columns.items[i]);
			return false;
		}
		if (*nr < COLUMN_NR)
			ids[(*nr)++] = id;
	}
	return true;
}

/* "512M": in the largest unit that is exact to a tenth. */
static void format_size(struct strbuf *sb, u64 bytes)
{
	static const char units[] = "BKMGTPE";
	unsigned int unit = 0;
	u64 tenths = bytes * 10;

	if (opt.bytes || opt.json) {
		strbuf_addf(sb, "%llu", bytes);
		return;
	}
	while (bytes >> (10 * (unit + 1)) && unit + 2 < sizeof(units))
		unit++;
	tenths = (bytes >> (10 * unit)) * 10;
	if (unit)
		tenths += ((bytes >> (10 * (unit - 1))) % 1024) * 10 / 1024;
	strbuf_addf(sb, "%llu", tenths / 10);
	if (tenths % 10)
		strbuf_addf(sb, ".%llu", tenths % 10);
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

static void format_cell(struct strbuf *sb, const struct vm *vm, int id)
{
	switch (id) {
	case COLUMN_NAME:
		add_escaped(sb, vm->name);
		break;
	case COLUMN_VMM:
		add_escaped(sb, vm->vmm);
		break;
	case COLUMN_PID:
		strbuf_addf(sb, "%d", vm->pid);
		break;
	case COLUMN_VCPUS:
		strbuf_addf(sb, "%zu", vm->vcpus.nr);
		break;
	case COLUMN_THREADS:
		add_threads(sb, vm);
		break;
	case COLUMN_MEMORY:
		format_size(sb, vm->memory);
		break;
	case COLUMN_SLOTS:
		strbuf_addf(sb, "%u", vm->slots.nr + vm->slots.cut);
		break;
	case COLUMN_KICK:
		add_signal(sb, vm->kick_signal);
		break;
	case COLUMN_PROTECTED:
		strbuf_adds(sb, vm->confidential ? vm->confidential_kind : "");
		break;
	}
}

static int add_line(struct libscols_table *table, const struct vm *vm, const int *ids, size_t nr)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);

	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
		int err;

		format_cell(&sb, vm, ids[i]);
		err = strbuf_error(&sb) ?: scols_line_set_data(line, i, strbuf_cstr(&sb));
		if (err)
			return err;
	}
	return 0;
}

static int add_columns(struct libscols_table *table, const int *ids, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct column *column = &columns[ids[i]];
		struct libscols_column *cl;

		cl = scols_table_new_column(table, column->name, 0, column->flags);
		if (!cl)
			return -ENOMEM;
		scols_column_set_json_type(cl, column->json);
		if (column->flags & SCOLS_FL_WRAP) {
			scols_column_set_wrapfunc(cl, scols_wrapnl_chunksize, scols_wrapnl_nextchunk,
						  NULL);
			scols_column_set_safechars(cl, "\n");
		}
	}
	return 0;
}

static int print_table(const struct vm_list *list, const int *ids, size_t nr)
{
	struct libscols_table *table = scols_new_table();
	int err;

	if (!table)
		return -ENOMEM;
	scols_table_enable_json(table, opt.json);
	scols_table_enable_noheadings(table, opt.noheadings);
	scols_table_set_name(table, "guests");
	err = add_columns(table, ids, nr);
	vec_for_each(&list->vms, vm)
		err = err ?: add_line(table, *vm, ids, nr);
	err = err ?: scols_print_table(table);
	scols_unref_table(table);
	return err;
}

static int list_vms(struct vm_host *host, const int *ids, size_t nr)
{
	struct vm_list list = { VEC_INIT };
	int err = vm_host_scan(host, opt.pid, &list);

	if (err) {
		log_error_errno(err, "cannot read KVM's state");
		return STATUS_FAILURE;
	}
	if (list.vms.nr || opt.json)
		err = print_table(&list, ids, nr);
	else if (opt.pid)
		log_notice("process %llu runs no KVM guest", opt.pid);
	else
		log_notice("no KVM guest runs on this host");
	vm_list_deinit(&list);
	if (!err)
		return STATUS_OK;
	log_error_errno(err, "cannot print the table");
	return STATUS_FAILURE;
}

int cmd_list(int argc, char **argv)
{
	_cleanup_(vm_host_close) struct vm_host *host = NULL;
	struct operands operands;
	int ids[COLUMN_NR], status;
	const char *why;
	size_t nr;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	if (!choose_columns(ids, &nr))
		return STATUS_USAGE;
	if (vm_host_open_source(opt.source, &host, &why)) {
		log_error("%s", why);
		return STATUS_FAILURE;
	}
	status = list_vms(host, ids, nr);
	option_list_deinit(&opt.columns);
	return status;
}
