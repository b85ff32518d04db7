/* SPDX-License-Identifier: GPL-2.0-only */
/* What the commands that read a recording have in common. */
#ifndef CMD_INPUT_H
#define CMD_INPUT_H

#include "cmd/options.h"
#include "perfdata/reader.h"
#include "symbols/resolve.h"

#define DEFAULT_INPUT "perf.data"
#define DEFAULT_MAX_STACK 127	/* as perf: the kernel's own limit */

/* Which samples to look at; empty lists let all pass. */
struct input_filter {
	struct option_list comms;
	struct option_list pids;
	struct option_list tids;
};

/* --comms and --comm are the same: perf has the one, kvmprof's other commands the other. */
#define INPUT_FILTER_OPTIONS(filter)                                                          \
	OPT_LIST(0, "comm", &(filter).comms, "COMM", "only samples of these commands"),       \
	OPT_LIST(0, "comms", &(filter).comms, "COMM", "the same", .hidden = true),            \
	OPT_LIST(0, "pid", &(filter).pids, "PID", "only samples of these processes"),         \
	OPT_LIST(0, "tid", &(filter).tids, "TID", "only samples of these threads")

/* Where the names come from. */
struct input_symbols {
	const char *cache_dir;
	const char *symfs;
	struct symbol_source_list sources;
	const char *guestmount, *vmlinux, *kallsyms, *modules;
	bool demangle;
	bool inlines;
};

#define INPUT_SYMBOLS_DEFAULT { .demangle = true }

/* For the option --symbol-sources; @arg is a struct symbol_source_list. */
int input_parse_sources(const char *text, void *arg, const char **ret_why);

/* Pasted into a command's table, as the above. */
#define INPUT_SYMBOL_OPTIONS(symbols)                                                         \
	OPT_STRING(0, "buildid-dir", &(symbols).cache_dir, "DIR",                             \
		   "symbols are there (default ~/.debug or perf's buildid.dir)",              \
		   .complete = "dir"),                                                        \
	OPT_STRING(0, "symfs", &(symbols).symfs, "DIR",                                       \
		   "look for the recorded files below DIR", .complete = "dir"),               \
	OPT_CALLBACK(0, "symbol-sources", input_parse_sources, &(symbols).sources, "LIST",    \
		     "where symbols come from, in order (default " SYMBOL_SOURCE_NAMES ")"),  \
	OPT_STRING(0, "guestmount", &(symbols).guestmount, "DIR",                             \
		   "a guest's root folder is mounted at DIR or DIR/PID", .complete = "dir"),  \
	OPT_FILE(0, "guestvmlinux", &(symbols).vmlinux, "the guest's vmlinux"),               \
	OPT_FILE(0, "guestkallsyms", &(symbols).kallsyms, "a copy of its /proc/kallsyms"),    \
	OPT_FILE(0, "guestmodules", &(symbols).modules,                                       \
		 "a copy of its /proc/modules, of the same boot"),                            \
	OPT_FLAG(0, "demangle", &(symbols).demangle,                                          \
		 "C++ and Rust names as people write them (the default)"),                    \
	OPT_FLAG(0, "inline", &(symbols).inlines, "inlined functions in chains, by DWARF")

/* What the options say, as the resolver takes it. Borrows from @symbols. */
struct resolver_options input_resolver_options(const struct input_symbols *symbols);

/* Whether the filter has something to do. */
bool input_filter_active(const struct input_filter *filter);

/* The filter as profile_options and script_options take it; @arg is a struct input_filter. */
bool input_filter_sample(const struct perfdata_record *sample, const char *comm, void *arg);

void input_filter_deinit(struct input_filter *filter);

/*
 * Before anything is read: says which of the places that @symbols names are not there, as a slip in
 * one of them would cost no more than the names. STATUS_OK or STATUS_FAILURE.
 */
int input_check_symbols(const struct input_symbols *symbols);

/*
 * Says what there is to say of where names came from: what could not be asked, what was refused,
 * what was not found.
 */
void input_tell_sources(const struct resolver *resolver);

/* Says why the recording @path could not be read. Returns STATUS_FAILURE. */
int input_error(const char *path, int err, const char *why);

/* Says, after the last record, which parts of the samples were passed over. */
void input_warn_user_stacks(const struct perfdata_reader *reader);

/* Says that @path is not whole; the report is of what there is. */
void input_warn_truncated(const char *path);

#endif
