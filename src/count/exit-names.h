/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the numbers of an exit mean, as the host's kernel has it: the tables of __print_symbolic()
 * in the print format of the tracepoint kvm:kvm_exit. There is no table of ours.
 *
 * An exit has two numbers. On x86 they are exit_reason and isa, which says whose reasons those are
 * (1: VMX, 2: SVM); on arm64 ret and esr_ec.
 */
#ifndef COUNT_EXIT_NAMES_H
#define COUNT_EXIT_NAMES_H

#include "base/types.h"
#include "base/vec.h"
#include "bpf/stat.h"

#define EXIT_NAME_LEN 64

struct exit_name {
	u32 table;	/* index */
	u32 value;
	char name[48];
};

struct exit_table {
	bool of_detail;	/* it names the second number */
	u32 mask;	/* of the number, before it is looked up */
	/* It holds where the second number is, or is not, .other: as in "isa == 1 ? … : …". */
	bool conditional, negated;
	u32 other;
};

struct exit_names {
	VEC(struct exit_table) tables;
	VEC(struct exit_name) names;
};

/* Where the two numbers are in the record that @format, a tracepoint's, describes. -EOPNOTSUPP. */
int exit_fields_find(const char *format, struct stat_fields *ret);

/* -EBADMSG: no such text; -E2BIG. A text without tables is one without names. */
int exit_names_parse(const char *format, struct exit_names *ret);
void exit_names_deinit(struct exit_names *names);

/* The name, in @out of EXIT_NAME_LEN bytes; where there is none the number: "0x40f". */
void exit_names_find(const struct exit_names *names, u32 reason, u32 detail, char *out);

#endif
