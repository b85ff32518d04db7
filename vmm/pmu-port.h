/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A port by which a guest steers its PMU, for tests of the PMU from within: an OUT of a command
 * from EAX, its arguments in RBX, RCX and RDX; the answer, 0 or a negative errno, is in RAX
 * afterwards. With --pmu-port only, and that is for guests that one trusts: the simulated backend
 * has no locks, and its commands may not come from two vCPUs at once. A test guest includes this
 * file, too: it needs nothing.
 */
#ifndef VMM_PMU_PORT_H
#define VMM_PMU_PORT_H

#define PMU_TEST_PORT 0x34

enum pmu_command {
	/*
	 * A stay in the guest, in the mode that it is in, which counts RDX times the event whose
	 * number in enum vpmu_arch_event RBX is; RCX is the raw number of VPMU_EVENT_RAW. With
	 * the simulated backend only (-EOPNOTSUPP).
	 */
	PMU_COMMAND_RUN,
	/* That, and before the interrupt is served the state moves to a new PMU. */
	PMU_COMMAND_RUN_AND_MOVE,
	/* The state moves to a new PMU, by vpmu_save() and vpmu_restore(). */
	PMU_COMMAND_MOVE,
	/* The filter at address RBX, a struct pmu_port_filter; 0: none. */
	PMU_COMMAND_FILTER,
	/* The simulated host has RBX counters left. */
	PMU_COMMAND_COUNTERS,
	/* Not an errno but number RBX of struct vpmu_stats. MOVE begins them anew. */
	PMU_COMMAND_STATS,
};

#define PMU_PORT_FILTER_MAX 300

/* struct vpmu_filter, its events behind it. */
struct pmu_port_filter {
	unsigned int action, nr, fixed_bitmap, flags;
	unsigned long long events[PMU_PORT_FILTER_MAX];
};

struct vcpu;

/* Serves the port. vCPU's thread. */
void pmu_serve_test(struct vcpu *vcpu);

#endif
