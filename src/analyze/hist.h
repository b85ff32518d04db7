/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One event's samples added up by command, thread, CPU, object and function: the entries of a
 * report, with the periods of stock perf's `perf report` and in its order.
 *
 * With children, each sample counts for every entry that its chain passes through, once: in
 * `total`; and for the entry of its own address in `self`.
 */
#ifndef ANALYZE_HIST_H
#define ANALYZE_HIST_H

#include "analyze/profile.h"

enum hist_key {
	HIST_KEY_COMM,
	HIST_KEY_PID,		/* a thread, as in perf */
	HIST_KEY_CPU,		/* the vCPU, in a guest's recording */
	HIST_KEY_DSO,
	HIST_KEY_SYMBOL,
};
#define HIST_MAX_KEYS 5

struct hist_options {
	size_t event;			/* index of the attribute */
	enum hist_key keys[HIST_MAX_KEYS];
	unsigned int nr_keys;
	bool children;
	bool chains;			/* will be asked for: callers go above equal callees */
	bool caller;			/* chains begin at the outermost frame, not the innermost */
};

/* What the keys that were not asked for would be is what they were in the first sample. */
struct hist_entry {
	u64 self;
	u64 total;			/* equals self without children */
	u32 comm;
	u32 thread;			/* index into profile->threads */
	u32 cpu;
	u32 frame;			/* whose object and function it is */
	char level;			/* 'k' kernel, '.' user, 'H' neither */

	u32 group;			/* private: the rest */
	u32 key;
	u32 first_row;
	u32 longest;			/* frames of its longest chain */
	u32 first_node;
	u32 first_odd;
};

struct hist;

/* The rows of @profile must tell apart what @options asks for. 0 or -ENOMEM. */
int hist_create(const struct profile *profile, const struct hist_options *options,
		struct hist **ret);
void hist_destroy(struct hist *hist);
DEFINE_CLEANUP(struct hist *, hist_destroy)

/* Entries in the order of the report: biggest first. */
size_t hist_nr(const struct hist *hist);
const struct hist_entry *hist_entry(const struct hist *hist, size_t i);

/* The period of all samples, filtered ones too: what percentages refer to. */
u64 hist_period(const struct hist *hist);

/*
 * The chains of @entry as a tree of profile frames, weights summed up, children in no order, to
 * @tree, which has been initialised and is cleared first. 0 or -ENOMEM.
 */
int hist_chains(struct hist *hist, const struct hist_entry *entry, struct calltree *tree);

/*
 * The order of chains with the same weight, perf's as far as it is one: an object seen later
 * before one seen earlier, then the higher address. Like strcmp().
 */
int hist_compare_frames(const struct hist *hist, u32 a, u32 b);

#endif
