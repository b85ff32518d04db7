/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bench-vpmu-kvm: what libvpmu costs around KVM. A guest of a few instructions reads and writes a
 * register of the PMU, exits, halts, and gets an interrupt; each is timed with the library and
 * without. What counts is a simulated host (the library alone), time, or perf's software events.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "vpmu-guest.h"
#include "vpmu/backend-sim.h"
#include "vpmu/vpmu.h"

#define MEMORY 0x10000U
#define STACK 0x8000U
#define NMI_VECTOR 8U		/* 4 bytes each, the third one */
/* Rounds are short and alternate, and the least of many counts: other work comes in between. */
#define ROUNDS 60U
#define EXITS 100U		/* a round */
#define INTERRUPTS 101U
#define DUE_NS 300000U
#define NR_BACKENDS 4U
#define MAX_COUNTERS 8U
#define HZ 1000000000U		/* of the time backend: a cycle is a nanosecond, as task-clock's */

/* AMD's registers: APM vol. 2, "Core Performance Counters". */
#define OLD_COUNTER 0xc0010004U	/* KVM without a PMU answers this one itself */
#define SELECT 0xc0010200U
#define COUNTER 0xc0010201U
#define CYCLES (1U << 22 | 3U << 16 | 0x76)
#define INTERRUPT (1U << 20)
#define LVTPC_NMI 0x400U

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum backend {
	NONE,
	SIM,
	TIME,
	PERF,
};

static const char *const backend_names[] = {
	"no library", "simulated host", "time", "perf software events" };

struct bench {
	int kvm, vm, vcpu;
	struct kvm_run *run;
	unsigned char *memory;
	struct vpmu_vm *vpmu_vm;
	struct vpmu *vpmu;		/* NULL: without the library */
	timer_t timer;			/* without it, for the interrupt */
	uint64_t nmi_at;		/* when the guest's handler had begun */
};

static struct kvm_run *kicked;

static void die(const char *what, int err)
{
	fprintf(stderr, "bench-vpmu-kvm: %s: %s\n", what, strerror(err));
	exit(1);
}

static int checked(int result, const char *what)
{
	if (result < 0)
		die(what, errno);
	return result;
}

static void on_signal(int number)
{
	(void)number;
	kicked->immediate_exit = 1;
}

/* ---------------------------------------------------------------------- the VM */

static void create_memory(struct bench *bench)
{
	struct kvm_userspace_memory_region region = { .memory_size = MEMORY };
	uint16_t nmi = (uint16_t)(GUEST_BASE + (vpmu_guest_nmi - vpmu_guest));

	bench->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bench->memory == MAP_FAILED)
		die("memory", errno);
	memcpy(bench->memory + GUEST_BASE, vpmu_guest, (size_t)(vpmu_guest_end - vpmu_guest));
	memcpy(bench->memory + NMI_VECTOR, &nmi, sizeof(nmi));
	region.userspace_addr = (uintptr_t)bench->memory;
	checked(ioctl(bench->vm, KVM_SET_USER_MEMORY_REGION, &region), "memory");
}

static void create_vm(struct bench *bench)
{
	struct kvm_sregs sregs;
	int size;

	bench->kvm = checked(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	bench->vm = checked(ioctl(bench->kvm, KVM_CREATE_VM, 0), "VM");
	create_memory(bench);
	bench->vcpu = checked(ioctl(bench->vm, KVM_CREATE_VCPU, 0), "vCPU");
	size = checked(ioctl(bench->kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "vCPU");
	bench->run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, bench->vcpu, 0);
	if (bench->run == MAP_FAILED)
		die("vCPU", errno);
	kicked = bench->run;
	checked(ioctl(bench->vcpu, KVM_GET_SREGS, &sregs), "registers");
	sregs.cs.base = sregs.cs.selector = 0;
	checked(ioctl(bench->vcpu, KVM_SET_SREGS, &sregs), "registers");
}

static void take_registers(const struct bench *bench)
{
	static uint8_t none[8];
	struct kvm_enable_cap exits = { .cap = KVM_CAP_X86_USER_SPACE_MSR,
					.args = { KVM_MSR_EXIT_REASON_FILTER } };
	struct kvm_msr_filter filter = {
		.flags = KVM_MSR_FILTER_DEFAULT_ALLOW,
		.ranges[0] = { .flags = KVM_MSR_FILTER_READ | KVM_MSR_FILTER_WRITE,
			       .base = OLD_COUNTER, .nmsrs = 1, .bitmap = none },
	};

	checked(ioctl(bench->vm, KVM_ENABLE_CAP, &exits), "exits for registers");
	checked(ioctl(bench->vm, KVM_X86_SET_MSR_FILTER, &filter), "filter of registers");
}

/* ------------------------------------------------------------------- the vPMU */

static int choose(enum backend backend, struct vpmu_backend *ret)
{
	struct vpmu_perf_options perf = { .size = sizeof(perf), .signal = SIGUSR1 };
	struct vpmu_time_options time = {
		.size = sizeof(time), .signal = SIGUSR1, .cycles_hz = HZ };
	struct vpmu_sim *sim;

	if (backend == SIM)
		return vpmu_backend_sim(MAX_COUNTERS, &sim, ret);
	return backend == TIME ? vpmu_backend_time(&time, ret) : vpmu_backend_perf(&perf, ret);
}

static void start(struct bench *bench, enum backend backend, unsigned int nr)
{
	struct vpmu_vm_options options = { .size = sizeof(options) };
	int err;

	if (backend == NONE)
		return;
	vpmu_geometry_init(&options.geometry, VPMU_AMD_V2);
	options.geometry.nr_gp = MAX_COUNTERS;
	err = choose(backend, &options.backend);
	err = err ?: vpmu_vm_create(&options, &bench->vpmu_vm);
	err = err ?: vpmu_create(bench->vpmu_vm, 0, &bench->vpmu);
	if (err)
		die("vPMU", -err);
	for (unsigned int i = 0; i < nr; i++)
		vpmu_wrmsr(bench->vpmu, SELECT + 2 * i, CYCLES | INTERRUPT);
}

static void stop(struct bench *bench)
{
	vpmu_destroy(bench->vpmu);
	vpmu_vm_destroy(bench->vpmu_vm);
	bench->vpmu = NULL;
	bench->vpmu_vm = NULL;
}

/* ------------------------------------------------------------------ the guest */

static void serve_register(struct bench *bench)
{
	struct kvm_run *run = bench->run;
	uint64_t value = 0;

	run->msr.error = 0;
	if (!bench->vpmu)
		run->msr.data = 0;
	else if (run->exit_reason == KVM_EXIT_X86_WRMSR)
		run->msr.error = vpmu_wrmsr(bench->vpmu, run->msr.index, run->msr.data) != VPMU_OK;
	else
		run->msr.error = vpmu_rdmsr(bench->vpmu, run->msr.index, &value) != VPMU_OK;
	if (bench->vpmu && run->exit_reason == KVM_EXIT_X86_RDMSR)
		run->msr.data = value;
}

/* False: the guest has come to its end. */
static bool serve(struct bench *bench)
{
	struct kvm_run *run = bench->run;

	switch (run->exit_reason) {
	case KVM_EXIT_X86_RDMSR:
	case KVM_EXIT_X86_WRMSR:
		serve_register(bench);
		return true;
	case KVM_EXIT_HLT:
		return true;
	case KVM_EXIT_IO:
		if (run->io.port == GUEST_NMI)
			bench->nmi_at = clock_now_ns();
		return run->io.port != GUEST_DONE;
	default:
		fprintf(stderr, "bench-vpmu-kvm: exit %u\n", run->exit_reason);
		exit(1);
	}
}

static void interrupt(struct bench *bench)
{
	struct vpmu_pmi pmi;

	vpmu_pmi(bench->vpmu, LVTPC_NMI, &pmi);
	if (pmi.kind == VPMU_PMI_NMI)
		checked(ioctl(bench->vcpu, KVM_NMI), "NMI");
}

/* Without the library a signal is the interrupt; with it the count at exit says. */
static bool run_once(struct bench *bench)
{
	struct vpmu_exit left = { 0 };
	int err;

	if (bench->vpmu && vpmu_enter(bench->vpmu, NULL))
		die("entry", EBUSY);
	err = ioctl(bench->vcpu, KVM_RUN, 0) ? errno : 0;
	if (bench->vpmu) {
		vpmu_exit(bench->vpmu, &left);
		if (left.pmi)
			interrupt(bench);
	}
	if (!err)
		return serve(bench);
	if (err != EINTR)
		die("KVM_RUN", err);
	bench->run->immediate_exit = 0;
	if (!bench->vpmu)
		checked(ioctl(bench->vcpu, KVM_NMI), "NMI");
	return true;
}

static void run(struct bench *bench, const unsigned char *routine, uint32_t rounds)
{
	struct kvm_regs regs = {
		.rip = GUEST_BASE + (uint64_t)(routine - vpmu_guest), .rflags = 2, .rsp = STACK,
		.rcx = OLD_COUNTER, .rsi = rounds };

	checked(ioctl(bench->vcpu, KVM_SET_REGS, &regs), "registers");
	while (run_once(bench))
		;
}

/* Of one exit, in ns. */
static double round_ns(struct bench *bench, const unsigned char *routine)
{
	uint64_t began;

	run(bench, routine, 1);
	began = clock_now_ns();
	run(bench, routine, EXITS);
	return (double)(clock_now_ns() - began) / EXITS;
}

/* The least of each variant in @ret: all numbers of counters for each backend. */
static void cost(struct bench *bench, const unsigned char *routine, unsigned int most,
		 double ret[NR_BACKENDS][MAX_COUNTERS / 4 + 1])
{
	for (unsigned int i = 0; i < ROUNDS * NR_BACKENDS; i++) {
		enum backend backend = i % NR_BACKENDS;

		for (unsigned int nr = 0; nr <= (backend == NONE ? 0 : most); nr += 4) {
			double ns, *least = &ret[backend][nr / 4];

			start(bench, backend, nr);
			ns = round_ns(bench, routine);
			stop(bench);
			*least = i < NR_BACKENDS || ns < *least ? ns : *least;
		}
	}
}

static void compare(struct bench *bench, const char *what, const unsigned char *routine,
		    unsigned int most)
{
	double ns[NR_BACKENDS][MAX_COUNTERS / 4 + 1];

	cost(bench, routine, most, ns);
	printf("%-12s %-20s            %8.0f ns\n", what, backend_names[NONE], ns[NONE][0]);
	for (enum backend backend = SIM; backend < NR_BACKENDS; backend++)
		for (unsigned int nr = 0; nr <= most; nr += 4)
			printf("%-12s %-20s %u counters %8.0f ns  ratio %.2f\n", what,
			       backend_names[backend], nr, ns[backend][nr / 4],
			       ns[backend][nr / 4] / ns[NONE][0]);
}

/* ---------------------------------------------------------------- the interrupt */

static void create_timer(struct bench *bench)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };

	event.sigev_notify_thread_id = (pid_t)gettid();
	checked(timer_create(CLOCK_MONOTONIC, &event, &bench->timer), "timer");
}

/* From when it is due until the guest's handler has told that it runs. */
static double latency(struct bench *bench)
{
	struct itimerspec when = { .it_value.tv_nsec = DUE_NS };
	uint64_t due = clock_now_ns() + DUE_NS;

	if (bench->vpmu)
		vpmu_wrmsr(bench->vpmu, COUNTER, (1ULL << 48) - DUE_NS);
	else
		checked(timer_settime(bench->timer, 0, &when, NULL), "timer");
	run(bench, vpmu_guest_waits, 0);
	return (double)bench->nmi_at - (double)due;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void interrupts(struct bench *bench)
{
	static const enum backend backends[] = { NONE, TIME, PERF };
	double all[3][INTERRUPTS];

	for (unsigned int i = 0; i < 3 * INTERRUPTS; i++) {
		start(bench, backends[i % 3], 1);
		all[i % 3][i / 3] = latency(bench);
		stop(bench);
	}
	for (unsigned int i = 0; i < 3; i++) {
		double *mine = all[i];

		qsort(mine, INTERRUPTS, sizeof(*mine), compare_doubles);
		printf("%-12s %-20s least %8.0f ns, of a quarter less than %8.0f, of half %8.0f\n",
		       "interrupt", backend_names[backends[i]], mine[0], mine[INTERRUPTS / 4],
		       mine[INTERRUPTS / 2]);
	}
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct bench bench = { 0 };
	double kvm = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	create_vm(&bench);
	create_timer(&bench);
	checked(sigaction(SIGUSR1, &action, NULL), "signal");
	for (unsigned int i = 0; i < ROUNDS; i++) {
		double ns = round_ns(&bench, vpmu_guest_rdmsr);

		kvm = !i || ns < kvm ? ns : kvm;
	}
	printf("%-12s %-20s            %8.0f ns\n", "rdmsr", "KVM itself", kvm);
	take_registers(&bench);
	compare(&bench, "rdmsr", vpmu_guest_rdmsr, 4);
	compare(&bench, "wrmsr", vpmu_guest_wrmsr, 4);
	compare(&bench, "exit by out", vpmu_guest_exits, MAX_COUNTERS);
	compare(&bench, "exit by hlt", vpmu_guest_halts, MAX_COUNTERS);
	interrupts(&bench);
	return 0;
}
