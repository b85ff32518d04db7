/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's PMU, by libvpmu: its registers, RDPMC, its interrupt. */
#ifndef VMM_PMU_H
#define VMM_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "ram.h"
#include "vcpu.h"

struct vpmu_filter;
struct vpmu_vm;

enum pmu_backend {
	PMU_BACKEND_AUTO,	/* the host's PMU if it has one, else time */
	PMU_BACKEND_PERF,
	PMU_BACKEND_TIME,
	PMU_BACKEND_SIM,	/* none: the guest says by the port what it counts */
};

struct pmu_options {
	const char *model;	/* libvpmu's name for it; NULL: no PMU */
	enum pmu_backend backend;
	uint64_t hz;		/* of cycles, when time is what is counted */
	bool raw;		/* pass raw events of the host's vendor */
	const struct vpmu_filter *filter;	/* NULL: the guest may count all */
	bool freeze;		/* the guest has FREEZE_PERFMON_ON_PMI */
	bool port;		/* pmu-port.h, for tests */
};

/* Where the guest's RDPMC comes out: KVM has no exit to user space for it. */
#define PMU_PORT 0x33

/*
 * Makes machine->pmu and takes the PMU's registers away from KVM. Before the vCPUs. Does nothing
 * without a model. Negative errno; *@ret_why names what failed.
 */
int pmu_create(struct machine *machine, const struct memory *memory,
	       const struct pmu_options *options, const char **ret_why);

/* What CPUID is to be made by; NULL: there is no PMU. */
const struct vpmu_vm *pmu_vm(const struct machine *machine);

/* A vCPU's part. Nothing, and 0, without machine->pmu; so are those below. */
int pmu_create_vcpu(struct vcpu *vcpu);

/* Around KVM_RUN. False: the guest must not run. */
bool pmu_enter(struct vcpu *vcpu);
void pmu_exit(struct vcpu *vcpu);

/* Serves the exit for a register. */
void pmu_serve_msr(struct vcpu *vcpu);

/* Serves RDPMC, by the port that takes its place. Negative errno: the guest must not run on. */
int pmu_serve_port(struct vcpu *vcpu);

/* Tells on stderr what has been counted and refused. */
void pmu_tell(const struct machine *machine);

#endif
