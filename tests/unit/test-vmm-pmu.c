/* SPDX-License-Identifier: GPL-2.0-only */
/* kvmprof-vmm serves RDPMC. KVM is here: this program's ioctl() takes the place of the system's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#include "build-vpmu.h"
#include "vmm/pmu.h"

#define OUT_AT 0x1000
#define OUT_SIZE 2
#define PMC 0xc1
#define VALUE 0x12345
#define NO_COUNTER 99
#define PROTECTED 1	/* CR0.PE */
#define PCE (1U << 8)	/* of CR4 */

struct kvm {
	struct kvm_regs regs;
	struct kvm_sregs sregs;
	struct kvm_vcpu_events events;
	unsigned long fails;	/* this request does, with EIO */
	bool exits;		/* KVM_RUN ends well */
	bool kick;		/* a kick comes while it runs */
	unsigned int nr_runs;
};

static struct kvm kvm;
static struct kvm_run page;
static struct build_vpmu build;
static struct vcpu vcpu;
static unsigned int nr_kicks;

/* What a VMM's handler does. */
static void on_kick(int number)
{
	(void)number;
	page.immediate_exit = 1;
	nr_kicks++;
}

/* It skips the OUT and leaves, before the guest has run. */
static int run(void)
{
	unsigned int before = nr_kicks;

	assert_int_equal(page.immediate_exit, 1);
	kvm.nr_runs++;
	if (kvm.kick)
		raise(SIGUSR1);
	assert_int_equal(nr_kicks, before);
	kvm.regs.rip += OUT_SIZE;
	errno = EINTR;
	return kvm.exits ? 0 : -1;
}

static int serve(unsigned long request, void *arg)
{
	if (request == kvm.fails) {
		errno = EIO;
		return -1;
	}
	switch (request) {
	case KVM_RUN:
		return run();
	case KVM_GET_REGS:
		memcpy(arg, &kvm.regs, sizeof(kvm.regs));
		return 0;
	case KVM_SET_REGS:
		memcpy(&kvm.regs, arg, sizeof(kvm.regs));
		return 0;
	case KVM_GET_SREGS:
		memcpy(arg, &kvm.sregs, sizeof(kvm.sregs));
		return 0;
	case KVM_GET_VCPU_EVENTS:
		memcpy(arg, &kvm.events, sizeof(kvm.events));
		return 0;
	case KVM_SET_VCPU_EVENTS:
		memcpy(&kvm.events, arg, sizeof(kvm.events));
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)fd;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return serve(request, arg);
}

/* A vCPU before an OUT at privilege level 0, whose counter 0 has VALUE. */
static int setup(void **state)
{
	struct sigaction action = { .sa_handler = on_kick };

	(void)state;
	kvm = (struct kvm){ .regs = { .rip = OUT_AT, .rax = ~0ULL, .rdx = ~0ULL },
			    .sregs.cr0 = PROTECTED };
	page = (struct kvm_run){ 0 };
	nr_kicks = 0;
	build_vpmu(&build, VPMU_INTEL_V2);
	vcpu = (struct vcpu){ .fd = -1, .run = &page, .pmu = build.vpmu };
	if (vpmu_wrmsr(build.vpmu, PMC, VALUE) != VPMU_OK)
		return -1;
	return sigaction(SIGUSR1, &action, NULL);
}

static int teardown(void **state)
{
	(void)state;
	build_vpmu_deinit(&build);
	return 0;
}

static void check_value(void)
{
	assert_int_equal(pmu_serve_port(&vcpu), 0);
	assert_int_equal(kvm.regs.rax, VALUE);
	assert_int_equal(kvm.regs.rdx, 0);
	/* The OUT is still to be skipped. */
	assert_int_equal(kvm.regs.rip, OUT_AT);
	assert_int_equal(kvm.nr_runs, 0);
	assert_int_equal(kvm.events.exception.injected, 0);
}

static void check_fault(void)
{
	assert_int_equal(pmu_serve_port(&vcpu), 0);
	assert_int_equal(kvm.regs.rax, ~0ULL);
	/* At the instruction, which is not skipped any more. */
	assert_int_equal(kvm.regs.rip, OUT_AT);
	assert_int_equal(kvm.nr_runs, 1);
	assert_int_equal(kvm.events.exception.injected, 1);
	assert_int_equal(kvm.events.exception.nr, 13);
	assert_int_equal(kvm.events.exception.has_error_code, 1);
	assert_int_equal(kvm.events.exception.error_code, 0);
}

static void check_mask(void)
{
	sigset_t now;

	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	assert_int_equal(sigismember(&now, SIGUSR1), 0);
}

static void test_value(void **state)
{
	(void)state;
	check_value();
}

static void test_no_pmu(void **state)
{
	(void)state;
	vcpu.pmu = NULL;
	assert_int_equal(pmu_serve_port(&vcpu), 0);
	assert_int_equal(kvm.regs.rax, ~0ULL);
}

static void test_no_counter(void **state)
{
	(void)state;
	kvm.regs.rcx = NO_COUNTER;
	check_fault();
	assert_int_equal(page.immediate_exit, 0);
	check_mask();
}

static void test_program(void **state)
{
	(void)state;
	kvm.sregs.ss.dpl = 3;
	check_fault();
}

static void test_program_that_may(void **state)
{
	(void)state;
	kvm.sregs.ss.dpl = 3;
	kvm.sregs.cr4 = PCE;
	check_value();
}

static void test_real_mode(void **state)
{
	(void)state;
	kvm.sregs.ss.dpl = 3;
	kvm.sregs.cr0 = 0;
	check_value();
}

/* A kick that comes while the OUT is skipped, or has come before, ends the next KVM_RUN. */
static void test_kick_within(void **state)
{
	(void)state;
	kvm.regs.rcx = NO_COUNTER;
	kvm.kick = true;
	check_fault();
	assert_int_equal(nr_kicks, 1);
	assert_int_equal(page.immediate_exit, 1);
	check_mask();
}

static void test_kick_before(void **state)
{
	(void)state;
	kvm.regs.rcx = NO_COUNTER;
	raise(SIGUSR1);
	check_fault();
	assert_int_equal(page.immediate_exit, 1);
}

/* What fails is told, and a kick is kept all the same. */
static void test_failures(void **state)
{
	static const unsigned long requests[] = {
		KVM_GET_REGS, KVM_GET_SREGS, KVM_RUN, KVM_GET_VCPU_EVENTS, KVM_SET_REGS,
		KVM_SET_VCPU_EVENTS,
	};

	(void)state;
	kvm.regs.rcx = NO_COUNTER;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		page.immediate_exit = i & 1;
		kvm.fails = requests[i];
		assert_int_equal(pmu_serve_port(&vcpu), -EIO);
		assert_int_equal(page.immediate_exit, i & 1);
		assert_int_equal(kvm.events.exception.injected, 0);
		check_mask();
	}
	kvm.fails = KVM_SET_REGS;
	kvm.regs.rcx = 0;
	assert_int_equal(pmu_serve_port(&vcpu), -EIO);
	/* An exit that nobody would serve. */
	kvm.fails = 0;
	kvm.regs.rcx = NO_COUNTER;
	kvm.exits = true;
	assert_int_equal(pmu_serve_port(&vcpu), -EIO);
	assert_int_equal(kvm.events.exception.injected, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_value), TEST(test_no_pmu), TEST(test_no_counter), TEST(test_program),
		TEST(test_program_that_may), TEST(test_real_mode), TEST(test_kick_within),
		TEST(test_kick_before), TEST(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
