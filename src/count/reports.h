/* SPDX-License-Identifier: GPL-2.0-only */
/* What is reported at the end of an interval or of all: a row for each VM, or each vCPU. */
#ifndef COUNT_REPORTS_H
#define COUNT_REPORTS_H

#include "count/following.h"
#include "count/sums.h"

/* A VM, or one of its vCPUs. */
struct tally_row {
	const char *name;	/* of the VM, its user's text; as long as the VM is known */
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

/*
 * Of all in @vms, what was counted since the last one with @interval, or else since the beginning.
 * One that has nothing in that time is not in it. .elapsed is the caller's to fill.
 */
int tally_report_make(const tally_vms *vms, u32 nr_events, bool interval, bool per_vcpu,
		      struct tally_report *ret);
void tally_report_deinit(struct tally_report *report);

#endif
