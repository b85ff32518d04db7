/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof list: the KVM guests of this host. */
#include <stdio.h>

#include "base/errors.h"
#include "base/log.h"
#include "capture/capture.h"
#include "cmd/commands.h"
#include "cmd/list-print.h"
#include "cmd/options.h"
#include "engine/privileges.h"
#include "guest/guest.h"
#include "vm/vm.h"

/* A vCPU may be in its firmware, or change its page tables, just as we look. */
#define IDENTIFY_ROUNDS 3

static const char *const source_names[] = { "auto", "bpf", "kcore", NULL };

static struct {
	u64 pid;
	struct option_list columns;
	bool json;
	bool noheadings;
	bool bytes;
	int source;
} opt;

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
	.print_more = list_print_columns,
};

/* The columns to show, in the order that was asked for. */
static bool choose_columns(enum list_column *ids, size_t *nr)
{
	*nr = 0;
	for (int i = 0; i < LIST_NR && !opt.columns.nr; i++)
		if (list_is_default(i) || opt.json)
			ids[(*nr)++] = i;
	for (size_t i = 0; i < opt.columns.nr; i++) {
		enum list_column id;

		if (list_find_column(opt.columns.items[i], &id)) {
			options_usage_error(&spec, "unknown column '%s'; --help lists them",
					    opt.columns.items[i]);
			return false;
		}
		if (*nr < LIST_NR)
			ids[(*nr)++] = id;
	}
	return true;
}

/* Tries each vCPU's registers until one leads to a kernel. */
static int identify(struct vm_host *host, const struct vm *vm, struct guest *guest,
		    const char **ret_why)
{
	int err = -ENOENT;

	*ret_why = "no vCPU has run yet";
	for (int round = 0; round < IDENTIFY_ROUNDS; round++)
		for (size_t i = 0; i < vm->vcpus.nr; i++) {
			struct vcpu_regs regs;

			if (!vm->vcpus.data[i].tid)
				continue;
			*ret_why = "a vCPU's registers could not be read";
			err = vm_host_peek_regs(host, &vm->vcpus.data[i], &regs);
			err = err ?: guest_identify(guest, &regs, ret_why);
			if (!err)
				return 0;
		}
	return err;
}

static void find_os(struct vm_host *host, struct guest_cache *cache, struct list_row *row)
{
	_cleanup_(mem_process_close) struct mem_process *memory = NULL;
	_cleanup_(guest_destroy) struct guest *guest = NULL;

	row->os_why = row->vm->confidential ? "its memory is protected" : vm_host_peek_why(host);
	if (row->os_why)
		return;
	row->os_why = "its memory could not be opened";
	if (vm_open_memory(row->vm, &memory))
		return;
	row->os_why = "out of memory";
	if (guest_create(mem_process_reader(memory), cache, &guest))
		return;
	if (identify(host, row->vm, guest, &row->os_why))
		return;
	row->os = guest_kernel(guest)->os;
	snprintf(row->release, sizeof(row->release), "%s", guest_kernel(guest)->release);
	row->os_why = NULL;
}

/* Reading a guest's memory takes longer than all the rest. */
static bool wants_os(const struct list_style *style)
{
	for (size_t i = 0; i < style->nr_columns; i++)
		if (style->columns[i] == LIST_OS || style->columns[i] == LIST_KERNEL ||
		    style->columns[i] == LIST_WHY_NOT)
			return true;
	return false;
}

static void find_counters(struct vm_host *host, struct list_row *row)
{
	vec_for_each(&row->vm->vcpus, vcpu) {
		struct vm_vcpu_counters counters;

		if (vm_host_vcpu_counters(host, vcpu, &counters))
			continue;
		row->counters.nr += counters.nr;
		row->counters.failed += counters.failed;
	}
}

static void fill_row(struct vm_host *host, struct guest_cache *cache, const struct vm *vm,
		     bool want_os, struct list_row *row)
{
	row->vm = vm;
	for (int mode = CAPTURE_AUTO + 1; mode < CAPTURE_NR; mode++)
		if (!capture_probe(host, vm, mode, &row->why_not[mode]))
			row->why_not[mode] = NULL;
	find_counters(host, row);
	if (want_os)
		find_os(host, cache, row);
}

static int print_rows(const struct list_style *style, const struct list_row *rows, size_t nr)
{
	int err;

	if (opt.json)
		return list_print_json(stdout, style, rows, nr);
	err = list_print_table(stdout, style, rows, nr);
	if (!err && !opt.noheadings && !opt.columns.nr)
		err = list_print_notes(stdout, rows, nr);
	return err;
}

static int show(struct vm_host *host, const struct vm_list *list, const struct list_style *style)
{
	_cleanup_(guest_cache_destroy) struct guest_cache *cache = NULL;
	_cleanup_free_ struct list_row *rows = calloc(list->vms.nr + 1, sizeof(*rows));
	int err;

	if (!rows)
		return -ENOMEM;
	err = guest_cache_create(NULL, &cache);
	if (err)
		return err;
	for (size_t i = 0; i < list->vms.nr; i++)
		fill_row(host, cache, list->vms.data[i], wants_os(style), &rows[i]);
	return print_rows(style, rows, list->vms.nr);
}

static int list_vms(struct vm_host *host, const struct list_style *style)
{
	struct vm_list list = { VEC_INIT };
	int err = vm_host_scan(host, opt.pid, &list);

	if (err) {
		log_error_errno(err, "cannot read KVM's state");
		return STATUS_FAILURE;
	}
	vec_for_each(&list.unread, unread)
		log_warning("a guest of process %d cannot be shown: %s", unread->pid,
			    error_text(unread->error));
	if (list.vms.nr || opt.json)
		err = show(host, &list, style);
	else if (opt.pid)
		log_notice("process %llu runs no KVM guest", opt.pid);
	else
		log_notice("no KVM guest runs on this host");
	vm_list_deinit(&list);
	if (!err)
		return STATUS_OK;
	log_error_errno(err, "cannot show the guests");
	return STATUS_FAILURE;
}

static int run(const struct list_style *style)
{
	_cleanup_(vm_host_close) struct vm_host *host = NULL;
	const char *why;
	int err;

	if (vm_host_open_source(opt.source, &host, &why)) {
		log_error("%s", why);
		return STATUS_FAILURE;
	}
	/* From here on guests' memory is parsed. */
	err = privileges_drop();
	if (err)
		log_debug("privileges are kept: %s", error_text(err));
	return list_vms(host, style);
}

int cmd_list(int argc, char **argv)
{
	enum list_column columns[LIST_NR];
	struct list_style style = { .columns = columns };
	struct operands operands;
	int status;

	if (!options_parse(&spec, argc, argv, &operands, &status))
		return status;
	style.noheadings = opt.noheadings;
	style.bytes = opt.bytes;
	status = choose_columns(columns, &style.nr_columns) ? run(&style) : STATUS_USAGE;
	option_list_deinit(&opt.columns);
	return status;
}
