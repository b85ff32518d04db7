/* SPDX-License-Identifier: GPL-2.0-only */
/* What the guest's PMU and the port for tests of it share. */
#ifndef VMM_PMU_PRIVATE_H
#define VMM_PMU_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "pmu.h"

struct vpmu_sim;

struct pmu {
	struct vpmu_vm *vm;
	struct vpmu_sim *sim;	/* NULL: another backend */
	const struct memory *memory;
	const char *backend;
	bool port;		/* the guest may use it */
	pthread_mutex_t lock;	/* of what is below */
	bool patched;
	unsigned int nr_patched, nr_told;
};

#endif
