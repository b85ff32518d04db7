/* SPDX-License-Identifier: GPL-2.0-only */
/* One thread a vCPU, which runs it and serves its exits. */
#include "vcpu.h"

#include <errno.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cpuid.h"
#include "pmu-port.h"
#include "pmu.h"

#define CMOS_DATA 0x71
#define KICK_AGAIN_NS 10000000
#define NR_KVMTOOL_SIGNALS 3

static __thread struct vcpu *current;

static void stop_machine(struct machine *machine, int status)
{
	pthread_mutex_lock(&machine->lock);
	if (!machine->stop) {
		machine->stop = true;
		machine->status = status;
	}
	pthread_cond_signal(&machine->stopping);
	pthread_mutex_unlock(&machine->lock);
}

static bool is_stopping(struct machine *machine)
{
	bool stop;

	pthread_mutex_lock(&machine->lock);
	stop = machine->stop;
	pthread_mutex_unlock(&machine->lock);
	return stop;
}

static void on_kick(int number)
{
	enum kick_style style;

	if (!current)
		return;
	style = current->machine->kick_style;
	if (style == KICK_EXIT_FLAG)
		current->run->immediate_exit = 1;
	else if (style == KICK_ENDS || (style == KICK_KVMTOOL && number == SIGRTMIN))
		current->ended = number;
	else if (style == KICK_KVMTOOL && number == SIGRTMIN + 1)
		abort();
}

static int catch_kicks(const struct machine *machine)
{
	struct sigaction action = { .sa_handler = on_kick };
	int nr = machine->kick_style == KICK_KVMTOOL ? NR_KVMTOOL_SIGNALS : 1;

	for (int i = 0; i < nr; i++)
		if (sigaction(machine->kick_signal + i, &action, NULL))
			return -errno;
	return 0;
}

/* What is not there reads as all ones; the clock's chip as a clock that stands still. */
static void serve_port(struct machine *machine, const struct kvm_run *run, uint8_t *data)
{
	unsigned int port = run->io.port;

	for (unsigned int i = 0; i < run->io.count; i++, data += run->io.size) {
		bool serial = port - SERIAL_PORT < SERIAL_PORTS;

		if (run->io.direction == KVM_EXIT_IO_OUT && serial)
			serial_write(&machine->serial, port - SERIAL_PORT, *data);
		else if (run->io.direction == KVM_EXIT_IO_IN && serial)
			*data = serial_read(&machine->serial, port - SERIAL_PORT);
		else if (run->io.direction == KVM_EXIT_IO_IN)
			memset(data, port == CMOS_DATA ? 0 : 0xff, run->io.size);
	}
}

/* False, for the vCPU runs no more. */
static bool fail(struct vcpu *vcpu, const char *why)
{
	fprintf(stderr, "kvmprof-vmm: vCPU %u: %s\n", vcpu->id, why);
	stop_machine(vcpu->machine, EXIT_FAILURE);
	return false;
}

/* False: the vCPU runs no more. */
static bool serve_io(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	bool out = run->io.direction == KVM_EXIT_IO_OUT;

	if (out && run->io.port == PMU_PORT)
		return !pmu_serve_port(vcpu) || fail(vcpu, "RDPMC cannot be served");
	if (out && run->io.port == PMU_TEST_PORT)
		pmu_serve_test(vcpu);
	else
		serve_port(vcpu->machine, run, (uint8_t *)run + run->io.data_offset);
	return true;
}

/* False: the vCPU runs no more. */
static bool serve_exit(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;

	switch (run->exit_reason) {
	case KVM_EXIT_X86_RDMSR:
	case KVM_EXIT_X86_WRMSR:
		pmu_serve_msr(vcpu);
		return true;
	case KVM_EXIT_IO:
		return serve_io(vcpu);
	case KVM_EXIT_MMIO:
		if (!run->mmio.is_write)
			memset(run->mmio.data, 0xff, sizeof(run->mmio.data));
		return true;
	case KVM_EXIT_INTR:
		return true;
	case KVM_EXIT_SHUTDOWN:
		stop_machine(vcpu->machine, EXIT_SUCCESS);
		return false;
	default:
		fprintf(stderr, "kvmprof-vmm: vCPU %u: exit %u\n", vcpu->id, run->exit_reason);
		stop_machine(vcpu->machine, EXIT_FAILURE);
		return false;
	}
}

/* False: the vCPU runs no more. */
static bool run_once(struct vcpu *vcpu)
{
	int err;

	if (!pmu_enter(vcpu))
		return fail(vcpu, "no counter of the host");
	err = ioctl(vcpu->fd, KVM_RUN, 0) ? errno : 0;
	pmu_exit(vcpu);
	switch (err) {
	case 0:
		return serve_exit(vcpu);
	case EINTR:
		vcpu->run->immediate_exit = 0;
		return true;
	case EAGAIN:
		return true;
	default:
		return fail(vcpu, strerror(err));
	}
}

static void *vcpu_thread(void *arg)
{
	struct vcpu *vcpu = arg;
	char name[16];

	snprintf(name, sizeof(name), "%.11s%u", vcpu->machine->thread_name, vcpu->id);
	pthread_setname_np(pthread_self(), name);
	current = vcpu;
	while (!vcpu->ended && run_once(vcpu) && !is_stopping(vcpu->machine))
		;
	if (vcpu->ended) {
		fprintf(stderr, "kvmprof-vmm: vCPU %u ended by signal %d\n", vcpu->id, vcpu->ended);
		stop_machine(vcpu->machine, EXIT_FAILURE);
	}
	current = NULL;
	return NULL;
}

static int create_vcpu(struct machine *machine, struct vcpu *vcpu, unsigned int id)
{
	int size = ioctl(machine->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);

	*vcpu = (struct vcpu){ .machine = machine, .id = id };
	vcpu->fd = ioctl(machine->vm_fd, KVM_CREATE_VCPU, id);
	if (size < 0 || vcpu->fd < 0)
		return -errno;
	vcpu->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED)
		return -errno;
	return cpuid_set(machine->kvm_fd, vcpu->fd, id, pmu_vm(machine)) ?: pmu_create_vcpu(vcpu);
}

int vcpus_create(struct machine *machine)
{
	int err = catch_kicks(machine);

	pthread_mutex_init(&machine->lock, NULL);
	pthread_cond_init(&machine->stopping, NULL);
	machine->vcpus = calloc(machine->nr_vcpus, sizeof(*machine->vcpus));
	if (!machine->vcpus)
		return -ENOMEM;
	for (unsigned int i = 0; !err && i < machine->nr_vcpus; i++)
		err = create_vcpu(machine, &machine->vcpus[i], i);
	return err;
}

int vcpus_start(struct machine *machine)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < machine->nr_vcpus; i++)
		err = -pthread_create(&machine->vcpus[i].thread, NULL, vcpu_thread,
				      &machine->vcpus[i]);
	return err;
}

/* A kick that comes between the look at the flag and KVM_RUN may be lost: hence more than one. */
static void end_thread(const struct machine *machine, struct vcpu *vcpu)
{
	struct timespec until;

	do {
		pthread_kill(vcpu->thread, machine->kick_signal);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += KICK_AGAIN_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
	} while (pthread_timedjoin_np(vcpu->thread, NULL, &until) == ETIMEDOUT);
}

int vcpus_wait(struct machine *machine)
{
	int status;

	pthread_mutex_lock(&machine->lock);
	while (!machine->stop)
		pthread_cond_wait(&machine->stopping, &machine->lock);
	status = machine->status;
	pthread_mutex_unlock(&machine->lock);
	for (unsigned int i = 0; i < machine->nr_vcpus; i++)
		end_thread(machine, &machine->vcpus[i]);
	fflush(stdout);
	pmu_tell(machine);
	return status;
}
