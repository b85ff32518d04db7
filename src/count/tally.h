/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting a set of VMs: every vCPU thread's events in guest mode and in host mode, its times and
 * its exits. VMs and vCPUs may come and go; what was counted of one that is gone stays in the sums.
 */
#ifndef COUNT_TALLY_H
#define COUNT_TALLY_H

#include "capture/capture.h"
#include "count/counter.h"
#include "count/exits.h"
#include "vm/vm.h"

struct tally_options {
	/* Which VMs: exactly one of these, or none for the only one there is. */
	pid_t pid;
	const char *name;
	bool all;		/* those that start later, too */

	/* They must outlive it. */
	const struct capture_event *events;
	u32 nr_events;
	bool without_bpf;	/* as if there were none */
};

/* Which of the sums are known. */
enum tally_known {
	TALLY_KNOWS_SCHED = 1 << 0,	/* run, steal */
	TALLY_KNOWS_GUEST = 1 << 1,
	TALLY_KNOWS_HALT = 1 << 2,	/* halt, poll */
	TALLY_KNOWS_EXITS = 1 << 3,
	TALLY_KNOWS_REASONS = 1 << 4,
};

/* Of a vCPU or of several added up. Times are in ns. */
struct tally_sums {
	struct count *counts;	/* nr_events * COUNT_NR_MODES; those by time have none */
	u64 followed;		/* how long */
	u64 run, steal, guest, halt, poll;
	u64 exits;
	u32 known;		/* of all that are in it */
	exit_reasons reasons;
};

struct count *tally_count(const struct tally_sums *sums, u32 event, enum count_mode mode);

/*
 * The value of an event in a mode, also of one that is counted by time, which is in ns. Invalid
 * where it is not known, or @event does not happen there.
 */
struct count tally_value(const struct tally_sums *sums, const struct capture_event *events,
			 u32 event, enum count_mode mode);

/* A VM, or one of its vCPUs. */
struct tally_row {
	const char *name;	/* of the VM, its user's text; as long as the stat lives */
	const char *vmm;
	pid_t pid;
	u32 nr_vcpus;		/* that were followed */
	s64 vcpu;		/* its id; -1: the VM */
	struct tally_sums sums;
};

struct tally_report {
	VEC(struct tally_row) rows;
	u64 elapsed;		/* ns that it is about */
};
void tally_report_deinit(struct tally_report *report);

struct tally;

/*
 * Finds the VMs. *@ret_why, a constant, says on failure what stood in the way. -ENOENT: there is
 * none that was asked for; -EEXIST: several, and none was named.
 */
int tally_create(struct vm_host *host, const struct tally_options *options, struct tally **ret,
		const char **ret_why);
void tally_destroy(struct tally *tally);
DEFINE_CLEANUP(struct tally *, tally_destroy)

/* Looks for VMs and vCPUs that came or went. -ESRCH: every VM is gone and none is waited for. */
int tally_follow(struct tally *tally);
size_t tally_nr_vms(const struct tally *tally);	/* that are there */

/* Reads all counts, for the reports that follow: they all are of this moment. */
int tally_read(struct tally *tally);

/* What was counted since the last report with @interval, or else since the beginning. */
int tally_report(struct tally *tally, bool interval, bool per_vcpu, struct tally_report *ret);

/* What keeps figures from being there or from being whole, a line for each. */
void tally_notes(const struct tally *tally, void (*fn)(const char *text, void *arg), void *arg);

/* The parts that compute, for tests. */
int tally_sums_init(struct tally_sums *sums, u32 nr_events);
void tally_sums_deinit(struct tally_sums *sums);
/* Adds all of @other; what is not known of one is not of both. */
int tally_sums_add(struct tally_sums *sums, const struct tally_sums *other, u32 nr_events);
/* @now less @before, into @ret, which is empty. */
int tally_sums_since(const struct tally_sums *now, const struct tally_sums *before, u32 nr_events,
		    struct tally_sums *ret);

#endif
