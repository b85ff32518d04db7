/* SPDX-License-Identifier: GPL-2.0-only */
/* A vPMU on a simulated host, and what it has told the host. */
#ifndef BUILD_VPMU_H
#define BUILD_VPMU_H

#include "base/types.h"
#include "vpmu/backend-sim.h"
#include "vpmu/vpmu.h"

#define BUILD_VPMU_REPORTS 64

struct build_vpmu {
	struct vpmu_sim *sim;
	struct vpmu_vm *vm;
	struct vpmu *vpmu;
	struct vpmu_report reports[BUILD_VPMU_REPORTS];
	unsigned int nr_reports;	/* may be more than are kept */
	unsigned int nr_asked;		/* calls of the evict callback */
	unsigned int gives;		/* counters that it gives to the guest each time */
	unsigned int counters;		/* of the host, for the guest */
};

/* The options for a VM of @model's usual geometry on @nr_counters, its callbacks @build's. */
void build_vpmu_options(struct build_vpmu *build, enum vpmu_model model, unsigned int nr_counters,
			struct vpmu_vm_options *ret);

/* A VM by @options with one vCPU, number 0; aborts when that fails. */
void build_vpmu_start(struct build_vpmu *build, const struct vpmu_vm_options *options);

/* Both together, with as many counters as any model has. */
void build_vpmu(struct build_vpmu *build, enum vpmu_model model);
void build_vpmu_deinit(struct build_vpmu *build);

/*
 * Enters, runs @n of @event in kernel mode, exits. Returns the counters that overflowed; aborts
 * when the entry fails.
 */
uint64_t build_vpmu_run(struct build_vpmu *build, enum vpmu_arch_event event, uint64_t n);

#endif
