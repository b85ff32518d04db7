/* SPDX-License-Identifier: GPL-2.0-only */
/* Entry and exit: what is on the host's counters, what happens when there are too few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "vpmu-access.h"

/* Of VPMU_INTEL_V2, in full. */
#define PMC 0xc1
#define SELECT 0x186
#define FIXED 0x309
#define FIXED_CONTROL 0x38d
#define STATUS 0x38e
#define CONTROL 0x38f
#define RESET 0x390
#define A_PMC 0x4c1

#define USER (1U << 16)
#define KERNEL (1U << 17)
#define ENABLE (1U << 22)
#define CYCLES (ENABLE | KERNEL | 0x3c)
#define INSTRUCTIONS (ENABLE | KERNEL | 0xc0)
#define BRANCHES (ENABLE | KERNEL | 0xc4)
#define CHANGED (1ULL << 63)

static void start(struct build_vpmu *b, unsigned int counters, enum vpmu_policy policy,
		  unsigned int max_events)
{
	struct vpmu_vm_options options;

	build_vpmu_options(b, VPMU_INTEL_V2, counters, &options);
	options.policy = policy;
	options.max_events = max_events;
	build_vpmu_start(b, &options);
}

static struct vpmu_entry enter(struct build_vpmu *b, int err)
{
	struct vpmu_entry entry;

	assert_int_equal(vpmu_enter(b->vpmu, &entry), err);
	return entry;
}

static void test_sets(void **state)
{
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT + 1, CYCLES);
	wr(&b, SELECT + 3, ENABLE | KERNEL | 0x12d0);
	wr(&b, FIXED_CONTROL, 0x30);
	wr(&b, CONTROL, 0xf | BIT(33));
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, BIT(1) | BIT(3) | BIT(33));
	assert_int_equal(entry.missing | entry.denied | entry.refused, 0);
	assert_int_equal(vpmu_enter(b.vpmu, NULL), -EINVAL);
	vpmu_exit(b.vpmu, NULL);
	/* Nothing has changed: the same, without new events. */
	assert_int_equal(enter(&b, 0).counting, BIT(1) | BIT(3) | BIT(33));
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(stats(&b).opened, 3);
	assert_int_equal(stats(&b).open_now, 3);
	assert_int_equal(stats(&b).entries, 2);
	build_vpmu_deinit(&b);
}

/* Off and on by the global register, as Linux does at each interrupt: the events stay open. */
static void test_pause(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	for (unsigned int i = 0; i < 10; i++) {
		wr(&b, CONTROL, 0);
		build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
		wr(&b, CONTROL, 0xf);
		build_vpmu_run(&b, VPMU_EVENT_CYCLES, 3);
	}
	assert_int_equal(rd(&b, PMC), 30);
	assert_int_equal(stats(&b).opened, 1);
	/* Another event is another one. */
	wr(&b, SELECT, INSTRUCTIONS);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 5);
	assert_int_equal(rd(&b, PMC), 35);
	assert_int_equal(stats(&b).opened, 2);
	assert_int_equal(stats(&b).open_now, 1);
	/* Only what the counter does at overflow has changed. */
	wr(&b, SELECT, INSTRUCTIONS | 1U << 20);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 5);
	assert_int_equal(stats(&b).opened, 2);
	build_vpmu_deinit(&b);
}

/* The host's event overflows where the guest's counter does, again and again. */
static void test_rearm(void **state)
{
	struct build_vpmu b;
	uint64_t value = BIT(48) - 1000;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, A_PMC, value);
	for (unsigned int i = 0; i < 200; i++) {
		unsigned int step = 1 + i * 37 % 400;
		unsigned int crossed;
		struct vpmu_exit left;

		enter(&b, 0);
		crossed = vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, step);
		vpmu_exit(b.vpmu, &left);
		value += step;
		assert_int_equal(crossed, value >> 48);
		assert_int_equal(left.overflowed, value >> 48);
		value &= BIT(48) - 1;
		assert_int_equal(rd(&b, PMC), value);
		if (left.overflowed || i % 7 == 0) {
			value = BIT(48) - 1 - i * 11;
			wr(&b, A_PMC, value);
		}
	}
	assert_int_equal(stats(&b).opened, 1);
	assert_true(stats(&b).overflows > 20);
	build_vpmu_deinit(&b);
}

/* Every counter, overflowing in one stay in the guest, more than once. */
static void test_all_overflow(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	for (unsigned int i = 0; i < 4; i++) {
		wr(&b, SELECT + i, CYCLES);
		wr(&b, A_PMC + i, BIT(48) - 1 - i);
	}
	assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_CYCLES, BIT(48) + 2), 0xf);
	assert_int_equal(stats(&b).overflows, 2 + 2 + 1 + 1);
	assert_int_equal(rd(&b, STATUS), 0xf);
	build_vpmu_deinit(&b);
}

static void test_fail(void **state)
{
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 2, VPMU_POLICY_FAIL, 0);
	for (unsigned int i = 0; i < 3; i++)
		wr(&b, SELECT + i, CYCLES);
	entry = enter(&b, -EBUSY);
	assert_int_equal(entry.counting, 3);
	assert_int_equal(entry.missing, 4);
	/* Told once, however often it is tried. */
	enter(&b, -EBUSY);
	assert_int_equal(b.nr_reports, 1);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_BUSY);
	assert_int_equal(b.reports[0].slot, 2);
	assert_int_equal(b.reports[0].error, -EBUSY);
	assert_int_equal(b.reports[0].event.arch, VPMU_EVENT_CYCLES);
	assert_int_equal(stats(&b).entries_refused, 2);
	assert_int_equal(stats(&b).busy, 1);
	/* Not entered: exit changes nothing. */
	vpmu_exit(b.vpmu, NULL);
	vpmu_sim_set_counters(b.sim, 3);
	assert_int_equal(enter(&b, 0).counting, 7);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

/* What is switched off makes room for what is switched on in the same go. */
static void test_room(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 1, VPMU_POLICY_FAIL, 1);
	for (unsigned int i = 0; i < 8; i++) {
		wr(&b, SELECT + (i & 3), 0);
		wr(&b, SELECT + (~i & 3), i & 4 ? CYCLES : BRANCHES);
		wr(&b, SELECT + (i & 3), 0);
		for (unsigned int j = 0; j < 4; j++)
			if (j != (~i & 3))
				wr(&b, SELECT + j, 0);
		vpmu_release_events(b.vpmu);
		assert_int_equal(enter(&b, 0).counting, BIT(~i & 3));
		vpmu_exit(b.vpmu, NULL);
	}
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, 0);
	wr(&b, SELECT + 2, 0);
	wr(&b, SELECT + 3, 0);
	vpmu_release_events(b.vpmu);
	enter(&b, 0);
	vpmu_exit(b.vpmu, NULL);
	/* Another event on counter 1 needs what counter 0 holds, which gives it up. */
	wr(&b, SELECT, 0x3c);
	wr(&b, SELECT + 1, BRANCHES);
	enter(&b, -EBUSY);	/* the paused event is open, and one is the limit */
	assert_int_equal(b.reports[b.nr_reports - 1].kind, VPMU_REPORT_LIMIT);
	assert_int_equal(b.reports[b.nr_reports - 1].error, -EMFILE);
	build_vpmu_deinit(&b);
}

/* Pinned events would leave nothing to those that take turns: all of them do. */
static void test_multiplex(void **state)
{
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 2, VPMU_POLICY_MULTIPLEX, 0);
	for (unsigned int i = 0; i < 3; i++)
		wr(&b, SELECT + i, CYCLES);
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, 7);
	assert_int_equal(entry.missing, 0);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, 1000);
	vpmu_exit(b.vpmu, NULL);
	/* Two thirds of the time on a counter, scaled. */
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rd(&b, PMC + i), 1000);
	assert_int_equal(b.nr_reports, 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(b.reports[i].kind, VPMU_REPORT_MULTIPLEXED);
	assert_int_equal(b.reports[0].slot, 2);
	wr(&b, A_PMC + 2, BIT(48) - 600);
	assert_int_equal(build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000), 4);
	assert_int_equal(rd(&b, PMC + 2), 400);
	/* When the host has room again they are pinned. */
	vpmu_sim_set_counters(b.sim, 3);
	vpmu_retry(b.vpmu);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 7);
	assert_int_equal(rd(&b, PMC + 2), 407);
	assert_int_equal(stats(&b).multiplexed, 3);
	build_vpmu_deinit(&b);
}

/* Counters that come while others take turns do so, too, and each is told of once. */
static void test_multiplex_more(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 1, VPMU_POLICY_MULTIPLEX, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, CYCLES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
	assert_int_equal(b.nr_reports, 2);
	wr(&b, SELECT + 2, CYCLES);
	assert_int_equal(enter(&b, 0).counting, 7);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, 3000);
	vpmu_exit(b.vpmu, NULL);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rd(&b, PMC + i), i < 2 ? 4000 : 3000);
	assert_int_equal(b.nr_reports, 3);
	/* Off and on: it goes on as it was. */
	wr(&b, SELECT + 1, 0);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 10);
	wr(&b, SELECT + 1, CYCLES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 30);
	assert_int_equal(rd(&b, PMC + 1), 4030);
	assert_int_equal(b.nr_reports, 3);
	assert_int_equal(stats(&b).opened, 5);
	/* Under another policy all are to be pinned. */
	vpmu_vm_set_policy(b.vm, VPMU_POLICY_FAIL);
	assert_int_equal(enter(&b, -EBUSY).missing, 6);
	build_vpmu_deinit(&b);
}

/* What cannot even take turns stands still; the others do not give up their counters for it. */
static void test_multiplex_limit(void **state)
{
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 8, VPMU_POLICY_MULTIPLEX, 2);
	for (unsigned int i = 0; i < 3; i++)
		wr(&b, SELECT + i, CYCLES);
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, 3);
	assert_int_equal(entry.missing, 4);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(b.nr_reports, 1);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_LIMIT);
	assert_int_equal(stats(&b).multiplexed, 0);
	build_vpmu_deinit(&b);
}

static void test_evict(void **state)
{
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 1, VPMU_POLICY_EVICT, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, CYCLES);
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, 1);
	assert_int_equal(entry.missing, 2);
	assert_int_equal(b.nr_asked, 1);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, 10);
	vpmu_exit(b.vpmu, NULL);
	/* It stands still, which the guest can see. */
	assert_int_equal(rd(&b, PMC), 10);
	assert_int_equal(rd(&b, PMC + 1), 0);
	assert_int_equal(rd(&b, STATUS), CHANGED);
	wr(&b, RESET, CHANGED);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 10);
	assert_int_equal(rd(&b, STATUS), 0);
	assert_int_equal(b.nr_asked, 1);
	assert_int_equal(b.nr_reports, 1);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_EVICTED);
	assert_int_equal(stats(&b).evicted, 1);
	/* Programmed anew: tried anew, and the host gives way. */
	b.gives = 1;
	wr(&b, SELECT + 1, 0);
	wr(&b, SELECT + 1, CYCLES);
	assert_int_equal(enter(&b, 0).counting, 3);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(b.nr_asked, 2);
	build_vpmu_deinit(&b);
}

static void test_evict_retry(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 0, VPMU_POLICY_EVICT, 0);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(enter(&b, 0).missing, 1);
	vpmu_exit(b.vpmu, NULL);
	vpmu_sim_set_counters(b.sim, 1);
	assert_int_equal(enter(&b, 0).missing, 1);
	vpmu_exit(b.vpmu, NULL);
	vpmu_retry(b.vpmu);
	assert_int_equal(enter(&b, 0).counting, 1);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

/* What stands still is missing for a policy that is stricter, also if it was off meanwhile. */
static void test_evict_then_fail(void **state)
{
	struct build_vpmu b;

	(void)state;
	for (unsigned int off = 0; off < 2; off++) {
		start(&b, 0, VPMU_POLICY_EVICT, 0);
		wr(&b, SELECT, CYCLES);
		assert_int_equal(enter(&b, 0).missing, 1);
		vpmu_exit(b.vpmu, NULL);
		if (off) {
			wr(&b, CONTROL, 0);
			assert_int_equal(enter(&b, 0).missing, 0);
			vpmu_exit(b.vpmu, NULL);
			wr(&b, CONTROL, 1);
		}
		vpmu_vm_set_policy(b.vm, VPMU_POLICY_FAIL);
		assert_int_equal(enter(&b, -EBUSY).missing, 1);
		assert_int_equal(b.reports[1].kind, VPMU_REPORT_BUSY);
		vpmu_sim_set_counters(b.sim, 1);
		assert_int_equal(enter(&b, 0).counting, 1);
		vpmu_exit(b.vpmu, NULL);
		build_vpmu_deinit(&b);
	}
}

/* One that took turns, and was off while others came under another policy, does not starve. */
static void test_multiplex_again(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 1, VPMU_POLICY_MULTIPLEX, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, CYCLES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
	wr(&b, CONTROL, 0);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
	vpmu_vm_set_policy(b.vm, VPMU_POLICY_FAIL);
	wr(&b, CONTROL, 2);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
	vpmu_vm_set_policy(b.vm, VPMU_POLICY_MULTIPLEX);
	wr(&b, CONTROL, 3);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1000);
	assert_int_equal(rd(&b, PMC), 2000);
	assert_int_equal(rd(&b, PMC + 1), 3000);
	build_vpmu_deinit(&b);
}

/* The host takes a counter while the guest runs: seen at exit, then the policy's. */
static void test_lost(void **state)
{
	struct build_vpmu b;
	struct vpmu_exit left;

	(void)state;
	start(&b, 2, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, CYCLES);
	enter(&b, 0);
	vpmu_sim_set_counters(b.sim, 1);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, 10);
	vpmu_exit(b.vpmu, &left);
	assert_int_equal(left.lost, 2);
	assert_int_equal(rd(&b, PMC), 10);
	assert_int_equal(rd(&b, PMC + 1), 0);
	assert_int_equal(rd(&b, STATUS), CHANGED);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_LOST);
	assert_int_equal(stats(&b).lost, 1);
	assert_int_equal(enter(&b, -EBUSY).missing, 2);
	assert_int_equal(vpmu_vm_set_policy(b.vm, VPMU_POLICY_EVICT), 0);
	assert_int_equal(vpmu_vm_set_policy(b.vm, 3), -EINVAL);
	assert_int_equal(enter(&b, 0).missing, 2);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

/* Between two entries it was taken: seen before the guest runs. */
static void test_taken_outside(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 1, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 5);
	vpmu_sim_set_counters(b.sim, 0);
	assert_int_equal(enter(&b, -EBUSY).missing, 1);
	vpmu_sim_set_counters(b.sim, 1);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 5);
	assert_int_equal(rd(&b, PMC), 10);
	build_vpmu_deinit(&b);
}

static void test_refused(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 4, VPMU_POLICY_FAIL, 0);
	vpmu_sim_set_error(b.sim, -EOPNOTSUPP);
	wr(&b, SELECT + 2, CYCLES);
	assert_int_equal(enter(&b, 0).refused, 4);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(enter(&b, 0).refused, 4);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(b.nr_reports, 1);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_REFUSED);
	assert_int_equal(stats(&b).refused, 1);
	vpmu_trigger(b.vpmu, VPMU_EVENT_CYCLES, false, 5);
	assert_int_equal(rd(&b, PMC + 2), 0);
	/* Another event is another question. */
	vpmu_sim_set_error(b.sim, 0);
	wr(&b, SELECT + 2, BRANCHES);
	assert_int_equal(enter(&b, 0).counting, 4);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

static void test_other_error(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 4, VPMU_POLICY_FAIL, 0);
	vpmu_sim_set_error(b.sim, -EACCES);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(enter(&b, -EBUSY).missing, 1);
	assert_int_equal(b.reports[0].error, -EACCES);
	assert_int_equal(stats(&b).open_now, 0);
	build_vpmu_deinit(&b);
	/* The host's limit of files is not the VM's of events. */
	start(&b, 4, VPMU_POLICY_EVICT, 0);
	vpmu_sim_set_error(b.sim, -EMFILE);
	wr(&b, SELECT, CYCLES);
	assert_int_equal(enter(&b, 0).missing, 1);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_EVICTED);
	assert_int_equal(b.reports[0].error, -EMFILE);
	assert_int_equal(stats(&b).limit, 0);
	build_vpmu_deinit(&b);
}

/* As KVM's pmu_event_filter_test: the same guest, the filter changes under it. */
static void test_filter(void **state)
{
	static const uint64_t cycles[] = { 0x3c };
	struct vpmu_filter filter = { .action = VPMU_FILTER_DENY, .nr = 1, .events = cycles };
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, BRANCHES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 5);
	assert_int_equal(vpmu_vm_set_filter(b.vm, &filter), 0);
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, 2);
	assert_int_equal(entry.denied, 1);
	vpmu_sim_run(b.sim, 0, VPMU_EVENT_CYCLES, 0, false, 10);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(rd(&b, PMC), 5);
	assert_int_equal(stats(&b).open_now, 1);
	assert_int_equal(stats(&b).denied, 1);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_DENIED);
	vpmu_trigger(b.vpmu, VPMU_EVENT_CYCLES, false, 5);
	assert_int_equal(rd(&b, PMC), 5);
	filter.action = VPMU_FILTER_ALLOW;
	assert_int_equal(vpmu_vm_set_filter(b.vm, &filter), 0);
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, 1);
	assert_int_equal(entry.denied, 2);
	vpmu_exit(b.vpmu, NULL);
	/* A wrong filter changes nothing. */
	filter.action = 7;
	assert_int_equal(vpmu_vm_set_filter(b.vm, &filter), -EINVAL);
	assert_int_equal(enter(&b, 0).denied, 2);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(vpmu_vm_set_filter(b.vm, NULL), 0);
	assert_int_equal(enter(&b, 0).counting, 3);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

static void test_filter_fixed(void **state)
{
	struct vpmu_filter filter = { .action = VPMU_FILTER_ALLOW, .fixed_bitmap = 5 };
	struct build_vpmu b;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, FIXED_CONTROL, 0x333);
	wr(&b, CONTROL, 7ULL << 32);
	assert_int_equal(vpmu_vm_set_filter(b.vm, &filter), 0);
	entry = enter(&b, 0);
	assert_int_equal(entry.counting, 5ULL << 32);
	assert_int_equal(entry.denied, 2ULL << 32);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

/* pmu.c's check_emulated_instr(): what the VMM executes itself counts, and overflows. */
static void test_trigger(void **state)
{
	struct build_vpmu b;
	struct vpmu_exit left;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, BRANCHES);
	wr(&b, SELECT + 1, INSTRUCTIONS | 1U << 20);
	wr(&b, A_PMC, BIT(48) - 5);
	wr(&b, A_PMC + 1, BIT(48) - 17);
	vpmu_trigger(b.vpmu, VPMU_EVENT_BRANCHES, false, 5);
	vpmu_trigger(b.vpmu, VPMU_EVENT_BRANCHES, true, 5);
	build_vpmu_run(&b, VPMU_EVENT_INSTRUCTIONS, 12);
	vpmu_trigger(b.vpmu, VPMU_EVENT_INSTRUCTIONS, false, 4);
	assert_int_equal(rd(&b, PMC), 0);
	assert_int_equal(rd(&b, STATUS), 1);
	enter(&b, 0);
	/* The host's event knows how little is left. */
	assert_int_equal(vpmu_sim_run(b.sim, 0, VPMU_EVENT_INSTRUCTIONS, 0, false, 1), 1);
	vpmu_exit(b.vpmu, &left);
	assert_true(left.pmi);
	assert_int_equal(rd(&b, STATUS), 3);
	assert_int_equal(rd(&b, PMC + 1), 0);
	vpmu_trigger(b.vpmu, VPMU_EVENT_RAW, false, 1);
	assert_int_equal(rd(&b, PMC + 1), 0);
	build_vpmu_deinit(&b);
}

static void test_limit(void **state)
{
	struct build_vpmu b;
	struct vpmu *second;

	(void)state;
	start(&b, 8, VPMU_POLICY_EVICT, 3);
	assert_int_equal(vpmu_create(b.vm, 1, &second), 0);
	for (unsigned int i = 0; i < 2; i++) {
		wr(&b, SELECT + i, CYCLES);
		assert_int_equal(vpmu_wrmsr(second, SELECT + i, CYCLES), VPMU_OK);
	}
	assert_int_equal(enter(&b, 0).counting, 3);
	vpmu_exit(b.vpmu, NULL);
	assert_int_equal(vpmu_enter(second, NULL), 0);
	vpmu_exit(second, NULL);
	assert_int_equal(b.nr_reports, 1);
	assert_int_equal(b.reports[0].kind, VPMU_REPORT_LIMIT);
	assert_int_equal(b.reports[0].vcpu, 1);
	assert_int_equal(b.reports[0].slot, 1);
	vpmu_destroy(second);
	build_vpmu_deinit(&b);
}

/* Each counter of the guest's on the host's of the same number, if that is free. */
static void test_place(void **state)
{
	struct build_vpmu b;

	(void)state;
	start(&b, 4, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT + 3, CYCLES);
	wr(&b, SELECT + 1, CYCLES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1);
	assert_int_equal(stats(&b).elsewhere, 0);
	vpmu_sim_set_counters(b.sim, 3);
	vpmu_release_events(b.vpmu);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 1);
	assert_int_equal(stats(&b).elsewhere, 1);
	build_vpmu_deinit(&b);
}

static void test_rdpmc_mapped(void **state)
{
	struct build_vpmu b;
	uint64_t value;

	(void)state;
	start(&b, 4, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 9);
	assert_int_equal(vpmu_rdpmc(b.vpmu, 0, true, &value), VPMU_OK);
	assert_int_equal(value, 9);
	assert_int_equal(vpmu_rdpmc(b.vpmu, 1, true, &value), VPMU_OK);
	assert_int_equal(value, 0);
	assert_int_equal(stats(&b).rdpmc_mapped, 1);
	assert_int_equal(stats(&b).rdpmc_model, 1);
	build_vpmu_deinit(&b);
}

static void test_stats_size(void **state)
{
	struct build_vpmu b;
	uint64_t words[64];

	(void)state;
	start(&b, 4, VPMU_POLICY_FAIL, 0);
	build_vpmu_run(&b, VPMU_EVENT_CYCLES, 9);
	memset(words, 0xff, sizeof(words));
	/* Of a program that knows less, and of one that knows more. */
	vpmu_get_stats(b.vpmu, (struct vpmu_stats *)words, sizeof(uint64_t));
	assert_int_equal(words[0], 1);
	assert_int_equal(words[1], UINT64_MAX);
	vpmu_get_stats(b.vpmu, (struct vpmu_stats *)words, sizeof(words));
	assert_int_equal(words[63], 0);
	build_vpmu_deinit(&b);
}

static void *change_filter(void *arg)
{
	static const uint64_t events[] = { 0x3c, 0xc4 };
	struct vpmu_filter filter = { .nr = 2, .events = events };
	struct build_vpmu *b = arg;

	for (unsigned int i = 0; i < 20000; i++) {
		filter.action = i & 1;
		filter.nr = i % 3;
		if (vpmu_vm_set_filter(b->vm, i % 5 ? &filter : NULL))
			return b;
	}
	return NULL;
}

/* Another thread changes the filter all the time: each entry has one or the other. */
static void test_filter_thread(void **state)
{
	struct build_vpmu b;
	pthread_t thread;
	void *failed;
	struct vpmu_entry entry;

	(void)state;
	start(&b, 8, VPMU_POLICY_FAIL, 0);
	wr(&b, SELECT, CYCLES);
	wr(&b, SELECT + 1, BRANCHES);
	assert_int_equal(pthread_create(&thread, NULL, change_filter, &b), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		entry = enter(&b, 0);
		assert_int_equal(entry.counting | entry.denied, 3);
		assert_int_equal(entry.counting & entry.denied, 0);
		vpmu_exit(b.vpmu, NULL);
	}
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(vpmu_vm_set_filter(b.vm, NULL), 0);
	assert_int_equal(enter(&b, 0).counting, 3);
	vpmu_exit(b.vpmu, NULL);
	build_vpmu_deinit(&b);
}

static void test_names(void **state)
{
	enum vpmu_model model;

	(void)state;
	for (int i = 0; i < 32; i++) {
		const char *name = vpmu_model_name(i);

		if (!name)
			continue;
		assert_int_equal(vpmu_model_by_name(name, &model), 0);
		assert_int_equal(model, i);
	}
	assert_int_equal(vpmu_model_by_name("intel-v6", &model), -ENOENT);
	assert_string_equal(vpmu_report_name(VPMU_REPORT_LIMIT), "limit");
	assert_string_equal(vpmu_report_name(99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_rearm),
		cmocka_unit_test(test_all_overflow),
		cmocka_unit_test(test_fail),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_multiplex),
		cmocka_unit_test(test_multiplex_more),
		cmocka_unit_test(test_multiplex_limit),
		cmocka_unit_test(test_evict),
		cmocka_unit_test(test_evict_retry),
		cmocka_unit_test(test_evict_then_fail),
		cmocka_unit_test(test_multiplex_again),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_taken_outside),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_error),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_filter_fixed),
		cmocka_unit_test(test_trigger),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_rdpmc_mapped),
		cmocka_unit_test(test_stats_size),
		cmocka_unit_test(test_filter_thread),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
