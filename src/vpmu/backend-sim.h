/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A host's PMU that is not there, for tests of VMMs: it has so many counters, counts what it is
 * told, and loses counters when it is told so. Not for concurrent use.
 */
#ifndef VPMU_BACKEND_SIM_H
#define VPMU_BACKEND_SIM_H

#include "vpmu/vpmu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct vpmu_sim;

/*
 * A PMU with @nr_counters for each vCPU, any of which can count any event. Freed with the VM that
 * it is given to. -ENOMEM.
 */
VPMU_API int vpmu_backend_sim(unsigned int nr_counters, struct vpmu_sim **ret_sim,
			      struct vpmu_backend *ret);

/* The host's own use of the PMU changes: @nr counters are left. Pinned events without one fail. */
VPMU_API void vpmu_sim_set_counters(struct vpmu_sim *sim, unsigned int nr);

/* Opening fails with @err (negative) from now on; 0: no more. */
VPMU_API void vpmu_sim_set_error(struct vpmu_sim *sim, int err);

/*
 * vCPU @vcpu runs in the guest's user or kernel mode for @n of @event; with VPMU_EVENT_RAW the
 * raw number @raw says which. Returns how many of the host's events crossed their overflow, as the
 * signal would tell that a real one sends. Events that take turns share the counters that
 * pinned ones leave.
 */
VPMU_API unsigned int vpmu_sim_run(struct vpmu_sim *sim, unsigned int vcpu,
				   enum vpmu_arch_event event, uint64_t raw, bool user, uint64_t n);

#ifdef __cplusplus
}
#endif

#endif
