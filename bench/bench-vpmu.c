/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-vpmu: what libvpmu costs by itself, on this machine: a guest's accesses, and entry and exit
 * with 0, 4 and 8 active counters. The simulated host shows the library alone; with perf events
 * the peer is the least that a program could do itself with the very same events: the bare system
 * calls on them.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "software-pmu.h"
#include "vpmu/backend-sim.h"
#include "vpmu/vpmu.h"

/* Rounds are short, and the least of many counts: other work comes in between. */
#define ROUNDS 150U
#define TARGET_NS 500000ULL	/* a round takes about that long */
#define MAX_COUNTERS 8U
#define PMC 0xc1U
#define SELECT 0x186U
#define CONTROL 0x38fU
#define A_PMC 0x4c1U
#define MODES (3U << 16)
#define ENABLE (1U << 22)
#define CYCLES (ENABLE | MODES | 0x3c)
#define INSTRUCTIONS (ENABLE | MODES | 0xc0)

struct bench {
	struct vpmu_vm *vm;
	struct vpmu *vpmu;
	unsigned int nr;		/* active counters */
	int fds[MAX_COUNTERS];		/* the peer's events */
	uint64_t value;
	bool flip;
};

typedef void (*step_fn)(struct bench *bench);

static double round_ns(step_fn step, struct bench *bench, uint64_t nr)
{
	uint64_t start = clock_now_ns();

	for (uint64_t i = 0; i < nr; i++)
		step(bench);
	return (double)(clock_now_ns() - start) / (double)nr;
}

/* The least of many rounds, in ns. */
static double measure(step_fn step, struct bench *bench)
{
	double least = round_ns(step, bench, 10);
	uint64_t nr = (uint64_t)((double)TARGET_NS / least) + 1;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		double ns = round_ns(step, bench, nr);

		least = ns < least ? ns : least;
	}
	return least;
}

static void start(struct bench *bench, bool perf, unsigned int nr)
{
	struct vpmu_perf_options options = { .size = sizeof(options), .signal = SIGUSR1 };
	struct vpmu_vm_options vm = { .size = sizeof(vm) };
	struct vpmu_sim *sim;
	int err = vpmu_geometry_init(&vm.geometry, VPMU_INTEL_V5);

	err = err ?: perf ? vpmu_backend_perf(&options, &vm.backend) :
			    vpmu_backend_sim(MAX_COUNTERS, &sim, &vm.backend);
	err = err ?: vpmu_vm_create(&vm, &bench->vm);
	err = err ?: vpmu_create(bench->vm, 0, &bench->vpmu);
	if (err) {
		fprintf(stderr, "bench-vpmu: %s\n", strerror(-err));
		exit(1);
	}
	bench->nr = nr;
	for (unsigned int i = 0; i < nr; i++)
		vpmu_wrmsr(bench->vpmu, SELECT + i, CYCLES);
	vpmu_wrmsr(bench->vpmu, CONTROL, (1ULL << MAX_COUNTERS) - 1);
}

static void stop(struct bench *bench)
{
	vpmu_destroy(bench->vpmu);
	vpmu_vm_destroy(bench->vm);
}

static void peer_start(struct bench *bench, unsigned int nr)
{
	bench->nr = nr;
	for (unsigned int i = 0; i < nr; i++)
		bench->fds[i] = software_pmu_open();
}

static void peer_stop(struct bench *bench)
{
	for (unsigned int i = 0; i < bench->nr; i++)
		close(bench->fds[i]);
}

static void enter(struct bench *bench)
{
	if (vpmu_enter(bench->vpmu, NULL)) {
		fputs("bench-vpmu: no counter\n", stderr);
		exit(1);
	}
}

/* ------------------------------------------------------------------- accesses */

static void step_rdmsr(struct bench *bench)
{
	vpmu_rdmsr(bench->vpmu, PMC, &bench->value);
}

static void step_wrmsr(struct bench *bench)
{
	vpmu_wrmsr(bench->vpmu, A_PMC, bench->value++);
}

static void step_rdpmc(struct bench *bench)
{
	vpmu_rdpmc(bench->vpmu, 0, true, &bench->value);
}

static void step_system_call(struct bench *bench)
{
	bench->value += (uint64_t)getppid();
}

/* ------------------------------------------------------------- entry and exit */

static void step_enter(struct bench *bench)
{
	enter(bench);
	vpmu_exit(bench->vpmu, NULL);
}

/* Is it on a counter before, what has it counted behind. */
static void peer_enter(struct bench *bench)
{
	uint64_t values[3];

	for (unsigned int i = 0; i < 2 * bench->nr; i++)
		if (read(bench->fds[i % bench->nr], values, sizeof(values)) != sizeof(values))
			exit(1);
}

/* The guest has written its counters: each overflow is elsewhere now. */
static void step_arm(struct bench *bench)
{
	for (unsigned int i = 0; i < bench->nr; i++)
		vpmu_wrmsr(bench->vpmu, A_PMC + i, bench->value++ & 0xffff);
	step_enter(bench);
}

static void peer_arm(struct bench *bench)
{
	uint64_t period = 1ULL << 47;

	for (unsigned int i = 0; i < bench->nr; i++)
		if (ioctl(bench->fds[i], PERF_EVENT_IOC_PERIOD, &period))
			exit(1);
	peer_enter(bench);
}

/* It has switched all off, then on. */
static void step_switch(struct bench *bench)
{
	vpmu_wrmsr(bench->vpmu, CONTROL, 0);
	step_enter(bench);
	vpmu_wrmsr(bench->vpmu, CONTROL, (1ULL << MAX_COUNTERS) - 1);
	step_enter(bench);
}

static void peer_switch(struct bench *bench)
{
	for (unsigned int i = 0; i < bench->nr; i++)
		ioctl(bench->fds[i], PERF_EVENT_IOC_DISABLE, 0);
	for (unsigned int i = 0; i < bench->nr; i++)
		ioctl(bench->fds[i], PERF_EVENT_IOC_ENABLE, 0);
	peer_enter(bench);
}

/* It counts something else with each. */
static void step_change(struct bench *bench)
{
	bench->flip = !bench->flip;
	for (unsigned int i = 0; i < bench->nr; i++)
		vpmu_wrmsr(bench->vpmu, SELECT + i, bench->flip ? INSTRUCTIONS : CYCLES);
	step_enter(bench);
}

/* With the signal and the page that an event has. */
static void peer_change(struct bench *bench)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = (pid_t)gettid() };

	peer_stop(bench);
	for (unsigned int i = 0; i < bench->nr; i++) {
		int fd = bench->fds[i] = software_pmu_open();
		void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

		if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, SIGUSR1) ||
		    fcntl(fd, F_SETFL, O_ASYNC) || page == MAP_FAILED)
			exit(1);
		munmap(page, 4096);
	}
	peer_enter(bench);
}

static void compare(const char *what, step_fn step, step_fn peer)
{
	for (unsigned int nr = 4; nr <= MAX_COUNTERS; nr += 4) {
		struct bench bench = { 0 };
		double ours, theirs;

		start(&bench, true, nr);
		ours = measure(step, &bench);
		stop(&bench);
		peer_start(&bench, nr);
		theirs = measure(peer, &bench);
		peer_stop(&bench);
		printf("%-44s %u  %9.0f ns  bare calls %9.0f ns  ratio %.2f\n", what, nr, ours,
		       theirs, ours / theirs);
	}
}

static void access_cost(const char *what, bool perf, step_fn step, double call)
{
	struct bench bench = { 0 };
	double ns;

	start(&bench, perf, 1);
	step_enter(&bench);
	ns = measure(step, &bench);
	stop(&bench);
	printf("%-44s    %9.1f ns  a system call %6.0f ns  ratio %.3f\n", what, ns, call,
	       ns / call);
}

int main(void)
{
	struct bench bench = { 0 };
	double call = measure(step_system_call, &bench);

	signal(SIGUSR1, SIG_IGN);
	access_cost("rdmsr of a counter", false, step_rdmsr, call);
	access_cost("wrmsr of a counter", false, step_wrmsr, call);
	access_cost("rdpmc, simulated host", false, step_rdpmc, call);
	access_cost("rdpmc, perf event, by read()", true, step_rdpmc, call);
	for (unsigned int nr = 0; nr <= MAX_COUNTERS; nr += 4) {
		double ns;

		start(&bench, false, nr);
		ns = measure(step_enter, &bench);
		stop(&bench);
		printf("%-44s %u  %9.1f ns  a system call %6.0f ns  ratio %.3f\n",
		       "entry and exit, simulated host", nr, ns, call, ns / call);
	}
	compare("entry and exit, perf events", step_enter, peer_enter);
	compare("the same, counters written before", step_arm, peer_arm);
	compare("switched off and on, two entries", step_switch, peer_switch);
	compare("another event in each", step_change, peer_change);
	return 0;
}
