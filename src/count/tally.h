/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counting a set of VMs: every vCPU thread's events in guest mode and in host mode, its times and
 * its exits. VMs and vCPUs may come and go; what was counted of one that is gone stays in the sums.
 */
#ifndef COUNT_TALLY_H
#define COUNT_TALLY_H

#include "count/following.h"
#include "count/reader.h"
#include "count/reports.h"

struct tally;

/*
 * Finds the VMs and begins. The tally owns @reader from now on, also when this fails. *@ret_why, a
 * constant, says on failure what stood in the way. -ENOENT: there is none that was chosen; -EEXIST:
 * several, and none was named. @events must outlive it, and the name in @choice.
 */
int tally_create(struct reader *reader, const struct following_choice *choice,
		 const struct capture_event *events, u32 nr_events, struct tally **ret,
		 const char **ret_why);
void tally_destroy(struct tally *tally);
DEFINE_CLEANUP(struct tally *, tally_destroy)

/* Looks for VMs and vCPUs that came or went. -ESRCH: every VM is gone and none is waited for. */
int tally_follow(struct tally *tally);

/* Begins anew: what was counted up to now is in no report. */
int tally_restart(struct tally *tally);

/* Reads all counts, for the reports that follow: they all are of this moment. */
int tally_read(struct tally *tally);

/* What was counted since the last report with @interval, or else since the beginning. */
int tally_report(struct tally *tally, bool interval, bool per_vcpu, struct tally_report *ret);

/* What keeps figures from being there or from being whole, a line for each. */
void tally_notes(const struct tally *tally, void (*fn)(const char *text, void *arg), void *arg);

#endif
