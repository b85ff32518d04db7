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
};

/* Pasted into a command's table, as the above. */
#define INPUT_SYMBOL_OPTIONS(symbols)                                                         \
	OPT_STRING(0, "buildid-dir", &(symbols).cache_dir, "DIR",                             \
		   "symbols are there (default ~/.debug)", .complete = "dir"),                \
	OPT_STRING(0, "symfs", &(symbols).symfs, "DIR",                                       \
		   "look for the recorded files below DIR", .complete = "dir")

/* What the options say, as the resolver takes it. Borrows from @symbols. */
struct resolver_options input_resolver_options(const struct input_symbols *symbols);

/* Whether the filter has something to do. */
bool input_filter_active(const struct input_filter *filter);

/* The filter as profile_options and script_options take it; @arg is a struct input_filter. */
bool input_filter_sample(const struct perfdata_record *sample, const char *comm, void *arg);

void input_filter_deinit(struct input_filter *filter);

/* Says why the recording @path could not be read. Returns STATUS_FAILURE. */
int input_error(const char *path, int err, const char *why);

/* Says that @path is not whole; the report is of what there is. */
void input_warn_truncated(const char *path);

#endif
