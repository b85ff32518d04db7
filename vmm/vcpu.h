/* SPDX-License-Identifier: GPL-2.0-only */
/* The vCPUs' threads, and how they are made to leave the guest. */
#ifndef VMM_VCPU_H
#define VMM_VCPU_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "serial.h"

/* What the signal's handler does in the thread of a vCPU, as other VMMs' handlers do. */
enum kick_style {
	KICK_EXIT_FLAG,		/* sets kvm_run.immediate_exit: QEMU, crosvm, older Firecracker */
	KICK_NOTHING,		/* the signal was enough: Cloud Hypervisor, Firecracker */
	KICK_ENDS,		/* ends the vCPU, and with it the VM: kvmtool's SIGRTMIN+0 */
	KICK_KVMTOOL,		/* that; one that must not come twice; the third does nothing */
};

struct machine;
struct pmu;
struct vpmu;

struct vcpu {
	struct machine *machine;
	unsigned int id;
	int fd;
	struct kvm_run *run;
	struct vpmu *pmu;		/* NULL: the guest has none */
	pthread_t thread;
	volatile sig_atomic_t ended;	/* by a signal */
};

struct machine {
	int kvm_fd, vm_fd;
	struct serial serial;
	struct pmu *pmu;		/* NULL: none */
	struct vcpu *vcpus;
	unsigned int nr_vcpus;
	const char *thread_name;	/* each thread is called this and its number */
	enum kick_style kick_style;
	int kick_signal;
	pthread_mutex_t lock;		/* of what is below */
	pthread_cond_t stopping;
	bool stop;
	int status;			/* the exit status, once stopping */
};

/* Installs the handlers, then makes machine->nr_vcpus vCPUs, their CPUID set. Negative errno. */
int vcpus_create(struct machine *machine);

/* Starts their threads. */
int vcpus_start(struct machine *machine);

/* Waits until one says that the machine stops, ends them all, returns the exit status. */
int vcpus_wait(struct machine *machine);

#endif
