/* SPDX-License-Identifier: GPL-2.0-only */
/* What KVM counts of a vCPU, and the perf events behind a guest's own counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-kvm.h"

#define STATE_ERROR 0xfffffffe
#define STATE_OFF 0xffffffff
#define STATE_ACTIVE 1

static struct build_kvm host;
static u64 vcpu;

static void start(enum build_kvm_form form)
{
	assert_int_equal(build_kvm_init(&host, form), 0);
	vcpu = build_kvm_vcpu(&host, 0, 4711);
}

static void stop(void)
{
	build_kvm_deinit(&host);
}

static void put(const char *path, u64 value)
{
	build_kvm_put(&host, build_kvm_member(&host, vcpu, "kvm_vcpu", path), value, 8);
}

static void test_halt(void **state)
{
	struct vm_vcpu_halt halt = { 0 };

	(void)state;
	start(BUILD_KVM_TREES);
	put("stat.generic.halt_wait_ns", 5000000000);
	put("stat.generic.halt_poll_success_ns", 300);
	put("stat.generic.halt_poll_fail_ns", 44);
	assert_int_equal(kvm_read_halt(&host.reader, vcpu, &halt), 0);
	assert_int_equal(halt.wait, 5000000000);
	assert_int_equal(halt.poll, 344);
	assert_false(halt.blocking);
	put("stat.generic.blocking", 1);
	assert_int_equal(kvm_read_halt(&host.reader, vcpu, &halt), 0);
	assert_true(halt.blocking);
	/* A kernel that does not say whether it is halted now. */
	host.layout.vcpu_blocking = LAYOUT_ABSENT;
	assert_int_equal(kvm_read_halt(&host.reader, vcpu, &halt), 0);
	assert_false(halt.blocking);
	assert_int_equal(kvm_read_halt(&host.reader, 0x1000, &halt), -EFAULT);
	stop();
}

static void test_halt_unknown(void **state)
{
	struct vm_vcpu_halt halt = { .wait = 7 };

	(void)state;
	start(BUILD_KVM_ARRAYS);
	assert_int_equal(kvm_read_halt(&host.reader, vcpu, &halt), -EOPNOTSUPP);
	assert_int_equal(halt.wait, 7);
	stop();
}

/* Puts an event in that state behind counter @index of the array @path. */
static u64 put_event(const char *path, u32 index, u32 event_state, u64 enabled, u64 running)
{
	u64 event = build_kvm_alloc(&host, 0x200);
	u64 pmc = build_kvm_member(&host, vcpu, "kvm_vcpu", path) + index * 0x20;

	build_kvm_put(&host, build_kvm_member(&host, event, "perf_event", "state"), event_state, 4);
	build_kvm_put(&host, build_kvm_member(&host, event, "perf_event", "total_time_enabled"),
		      enabled, 8);
	build_kvm_put(&host, build_kvm_member(&host, event, "perf_event", "total_time_running"),
		      running, 8);
	build_kvm_put(&host, build_kvm_member(&host, pmc, "kvm_pmc", "perf_event"), event, 8);
	return pmc;
}

static void expect(u32 nr, u32 failed, u64 enabled, u64 running)
{
	struct vm_vcpu_counters got = { 0 };

	assert_int_equal(kvm_read_counters(&host.reader, vcpu, &got), 0);
	assert_int_equal(got.nr, nr);
	assert_int_equal(got.failed, failed);
	assert_int_equal(got.enabled, enabled);
	assert_int_equal(got.running, running);
}

static void test_counters_x86(void **state)
{
	(void)state;
	start(BUILD_KVM_TREES);
	expect(0, 0, 0, 0);
	put_event("arch.pmu.gp_counters", 0, STATE_ACTIVE, 1000, 1000);
	put_event("arch.pmu.gp_counters", 7, STATE_ERROR, 500, 20);
	put_event("arch.pmu.fixed_counters", 2, 0, 30, 30);
	expect(3, 1, 1530, 1050);
	/* Read while it changes: never more than all of it. */
	put_event("arch.pmu.fixed_counters", 0, 0, 10, 11);
	expect(4, 1, 1540, 1060);
	/* Switched off. */
	put_event("arch.pmu.fixed_counters", 0, STATE_OFF, 50, 50);
	expect(3, 1, 1530, 1050);
	stop();
}

static void test_counters_arm64(void **state)
{
	(void)state;
	start(BUILD_KVM_ARRAYS);
	put_event("arch.pmu.pmc", 3, STATE_ERROR, 0, 0);
	put_event("arch.pmu.pmc", 0, STATE_ERROR, 90, 0);
	expect(2, 2, 90, 0);
	stop();
}

static void test_counters_gone(void **state)
{
	struct vm_vcpu_counters got = { .nr = 7 };
	u64 pmc;

	(void)state;
	start(BUILD_KVM_TREES);
	pmc = put_event("arch.pmu.gp_counters", 1, STATE_ACTIVE, 1, 1);
	build_kvm_put(&host, build_kvm_member(&host, pmc, "kvm_pmc", "perf_event"),
		      0xffff888ffffff000, 8);
	assert_int_equal(kvm_read_counters(&host.reader, vcpu, &got), -EAGAIN);
	assert_int_equal(kvm_read_counters(&host.reader, 0x1000, &got), -EFAULT);
	assert_int_equal(got.nr, 7);
	stop();
}

/* Kernels whose types say less, or what cannot be. */
static void test_counters_unknown(void **state)
{
	struct vm_vcpu_counters got = { .nr = 7 };
	struct vm_layout whole;
	u32 *const needed[] = {
		&host.layout.event_state, &host.layout.event_enabled, &host.layout.event_running,
		&host.layout.pmc_size, &host.layout.pmc_perf_event,
	};

	(void)state;
	start(BUILD_KVM_TREES);
	whole = host.layout;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		*needed[i] = LAYOUT_ABSENT;
		assert_int_equal(kvm_read_counters(&host.reader, vcpu, &got), -EOPNOTSUPP);
		host.layout = whole;
	}
	host.layout.pmc_size = 0;
	assert_int_equal(kvm_read_counters(&host.reader, vcpu, &got), -EOPNOTSUPP);
	host.layout = whole;
	host.layout.vcpu_pmcs_size[LAYOUT_PMC_GENERAL] = 0x20 * 129;
	assert_int_equal(kvm_read_counters(&host.reader, vcpu, &got), -EOPNOTSUPP);
	for (int i = 0; i < LAYOUT_NR_PMCS; i++)
		host.layout.vcpu_pmcs[i] = LAYOUT_ABSENT;
	assert_int_equal(kvm_read_counters(&host.reader, vcpu, &got), -EOPNOTSUPP);
	assert_int_equal(got.nr, 7);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halt),
		cmocka_unit_test(test_halt_unknown),
		cmocka_unit_test(test_counters_x86),
		cmocka_unit_test(test_counters_arm64),
		cmocka_unit_test(test_counters_gone),
		cmocka_unit_test(test_counters_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
