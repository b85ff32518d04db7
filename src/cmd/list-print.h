/* SPDX-License-Identifier: GPL-2.0-only */
/* How `kvmprof list` shows guests: a table, or JSON. */
#ifndef CMD_LIST_PRINT_H
#define CMD_LIST_PRINT_H

#include <stdio.h>

#include "capture/capture.h"
#include "guest/guest.h"
#include "vm/vm.h"

enum list_column {
	LIST_NAME,
	LIST_VMM,
	LIST_PID,
	LIST_VCPUS,
	LIST_THREADS,
	LIST_MEMORY,
	LIST_SLOTS,
	LIST_KICK,
	LIST_CAPTURE,
	LIST_OS,
	LIST_KERNEL,
	LIST_PROTECTED,
	LIST_VPMU,
	LIST_WHY_NOT,
	LIST_NR,
};

/* A guest and what was found out about it. */
struct list_row {
	const struct vm *vm;
	const char *why_not[CAPTURE_NR];	/* by capture mode; NULL: it works */
	enum guest_os os;
	char release[GUEST_RELEASE_LEN];
	struct vm_vcpu_counters counters;	/* of the guest's own, all vCPUs' together */
	const char *os_why;	/* why .os is not known; NULL when it is, or was not asked */
};

struct list_style {
	const enum list_column *columns;
	size_t nr_columns;
	bool noheadings;
	bool bytes;		/* sizes in bytes */
};

/* The column called @name in any case; -ENOENT. */
int list_find_column(const char *name, enum list_column *ret);

/* Whether it is shown when no columns are asked for. */
bool list_is_default(enum list_column column);

/* What there is, for the help. */
void list_print_columns(void);

/* All to @out. 0 or negative errno. */
int list_print_table(FILE *out, const struct list_style *style, const struct list_row *rows,
		     size_t nr);
int list_print_json(FILE *out, const struct list_style *style, const struct list_row *rows,
		    size_t nr);

/* What does not work, and why: a line for each, below the table. */
int list_print_notes(FILE *out, const struct list_row *rows, size_t nr);

#endif
