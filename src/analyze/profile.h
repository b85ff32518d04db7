/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording read into memory: not its samples, but what differs between them. Each distinct
 * chain is a node of one call tree, each distinct combination of chain, command name and what else
 * was asked for is a row with its weights. All reports are made from this.
 *
 *	profile_load("perf.data", &options, &profile, &why);
 *	profile_call_tree(profile, event, PROFILE_BY_COMM, &tree);
 *	for each node: profile_frame_label(profile, node->frame, &name);
 */
#ifndef ANALYZE_PROFILE_H
#define ANALYZE_PROFILE_H

#include "analyze/tree.h"
#include "base/strbuf.h"
#include "perfdata/reader.h"
#include "symbols/resolve.h"

/*
 * Frames are what the nodes of call trees stand for: below PROFILE_FRAME_COMM an index into
 * profile->frames, else a command name or thread, which only profile_call_tree() makes.
 */
#define PROFILE_FRAME_COMM (1u << 31)	/* | the resolver's comm id */
#define PROFILE_FRAME_THREAD (3u << 30)	/* | index into profile->threads */

/* Code: a function, or an address of which no function is known. */
struct profile_frame {
	u32 dso;	/* the resolver's id; RESOLVER_NONE when nothing is mapped there */
	u32 symbol;	/* the resolver's id; RESOLVER_NONE when there is none */
	u64 addr;	/* of the symbol's start in its object; the address itself without symbol */
};

struct profile_thread {
	u32 pid, tid;
	u32 comm;	/* the latest one */
};

/* What was told apart. Fields not asked for are those of the row's first sample. */
struct profile_row {
	u32 leaf;	/* node of profile->chains; CALLTREE_ROOT for a sample without chain */
	u32 self;	/* frame of the sampled address itself, most often that of the leaf */
	u32 comm;
	u32 thread;	/* index into profile->threads */
	u32 cpu;
	u16 event;	/* index of the attribute */
	u8 cpumode;	/* PERF_RECORD_MISC_* of the first sample */
	u64 period;
	u64 samples;
};

/* Filtered samples are counted too. */
struct profile_event {
	char name[64];
	u64 samples;
	u64 period;
};

/* What rows tell apart besides event, chain and command name. */
enum profile_detail {
	PROFILE_DETAIL_THREAD = 1 << 0,
	PROFILE_DETAIL_CPU = 1 << 1,
};

struct profile_options {
	struct resolver_options resolver;
	unsigned int details;		/* enum profile_detail */
	u32 max_stack;			/* frames of a chain that are kept; 0: all */
	bool keep_outermost;		/* of a longer chain, instead of the innermost */
	/* False: pass over the sample. NULL: take all. */
	bool (*filter)(const struct perfdata_record *sample, const char *comm, void *arg);
	void *filter_arg;
};

struct profile {
	struct perfdata_reader *reader;
	struct resolver *resolver;
	VEC(struct profile_event) events;
	VEC(struct profile_frame) frames;
	VEC(struct profile_thread) threads;
	VEC(struct profile_row) rows;
	struct calltree chains;		/* outermost frame at the root; no weights */
	u64 lost_events;		/* that the kernel could not record (LOST) */
	u64 lost_samples;		/* LOST_SAMPLES */
	u64 throttled;			/* times that the kernel held the event back */
	u64 filtered;			/* samples passed over by the filter */
	bool truncated;			/* the file ends early: this is what there is */
};

/*
 * Reads all of the file @path ("-": standard input). Errors and @ret_why as
 * perfdata_reader_open(); a file that ends early is no error but profile->truncated.
 */
int profile_load(const char *path, const struct profile_options *options, struct profile **ret,
		 const char **ret_why);
void profile_destroy(struct profile *profile);
DEFINE_CLEANUP(struct profile *, profile_destroy)

enum profile_by {
	PROFILE_BY_NONE,
	PROFILE_BY_COMM,	/* a command name below the root, its chains below that */
	PROFILE_BY_THREAD,	/* needs PROFILE_DETAIL_THREAD */
};

/*
 * The call tree of the attribute @event's samples, weighed by period and finished. A sample
 * without chain is its own address alone. 0 or -ENOMEM; the caller deinits.
 */
int profile_call_tree(const struct profile *profile, size_t event, enum profile_by by,
		      struct calltree *ret);

/* Appends the frame's name: function, command, "[unknown]" or "0xaddr"; may be any bytes. */
void profile_frame_label(const struct profile *profile, u32 frame, struct strbuf *out);

/* The function's name as it is; NULL when no function is known. */
const char *profile_frame_symbol(const struct profile *profile, u32 frame);

/* The short name of the frame's object; "[unknown]" when nothing is mapped there. */
const char *profile_frame_dso(const struct profile *profile, u32 frame);

/* Whether it is code of the kernel or of one of its modules. */
bool profile_frame_is_kernel(const struct profile *profile, u32 frame);

#endif
