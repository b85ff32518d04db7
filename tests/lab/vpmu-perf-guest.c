/* SPDX-License-Identifier: GPL-2.0-only */
/* What stands for the guest: its work, its vPMU, and what that told. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "vpmu-perf.h"

#if defined(__aarch64__)
__attribute__((noinline)) void loop(uint64_t rounds)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}
#else
__attribute__((noinline)) void loop(uint64_t rounds)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}
#endif

static void take_report(void *context, const struct vpmu_report *report)
{
	struct test *test = context;

	if (test->nr_reports < MAX_REPORTS)
		test->reports[test->nr_reports++] = *report;
}

static bool evict(void *context, const struct vpmu_report *report)
{
	struct test *test = context;

	(void)report;
	test->nr_asked++;
	if (!test->gives)
		return false;
	holder_hold(test->gives, test->gives->most - test->nr_asked);
	return true;
}

void start_mode(struct test *test, enum vpmu_model model, enum vpmu_policy policy,
		bool host_mode)
{
	struct vpmu_perf_options perf = {
		.size = sizeof(perf), .signal = SIGUSR1, .host_mode = host_mode };
	struct vpmu_vm_options options = {
		.size = sizeof(options), .policy = policy, .log = take_report, .evict = evict,
		.context = test };
	int err = vpmu_geometry_init(&options.geometry, model);

	*test = (struct test){ 0 };
	if (model <= VPMU_INTEL_V5)
		options.geometry.nr_gp = 10;	/* as many as can be, more than the host has */
	err = err ?: vpmu_backend_perf(&perf, &options.backend);
	err = err ?: vpmu_vm_create(&options, &test->vm);
	err = err ?: vpmu_create(test->vm, 0, &test->vpmu);
	if (err) {
		errno = -err;
		give_up("vPMU");
	}
}

void start(struct test *test, enum vpmu_model model, enum vpmu_policy policy)
{
	start_mode(test, model, policy, true);
}

void end(struct test *test)
{
	vpmu_destroy(test->vpmu);
	vpmu_vm_destroy(test->vm);
}

uint64_t rd(struct test *test, uint32_t msr)
{
	uint64_t value = 0;

	if (vpmu_rdmsr(test->vpmu, msr, &value) != VPMU_OK)
		point(false, "register %#x can be read", msr);
	return value;
}

void wr(struct test *test, uint32_t msr, uint64_t value)
{
	if (vpmu_wrmsr(test->vpmu, msr, value) != VPMU_OK)
		point(false, "register %#x takes %#llx", msr, (unsigned long long)value);
}

/* A function of its own, so that each run has the same instructions beside the loop's. */
__attribute__((noinline)) struct vpmu_exit run(struct test *test, uint64_t rounds)
{
	struct vpmu_exit left;
	int err = vpmu_enter(test->vpmu, NULL);

	if (err)
		point(false, "entry: %s", strerror(-err));
	loop(rounds);
	vpmu_exit(test->vpmu, &left);
	return left;
}

/* Counts of the register over a run of so many rounds. */
uint64_t count(struct test *test, uint32_t msr, uint64_t rounds)
{
	uint64_t before = rd(test, msr);

	run(test, rounds);
	return rd(test, msr) - before;
}

/* What the two calls take themselves, once all is warm. */
uint64_t overhead(struct test *test, uint32_t msr)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++)
		least = MIN(least, count(test, msr, 1) - LOOP_INSTRUCTIONS);
	return least;
}

struct vpmu_stats stats(const struct test *test)
{
	struct vpmu_stats stats;

	vpmu_get_stats(test->vpmu, &stats, sizeof(stats));
	return stats;
}

unsigned int nr_reports(const struct test *test, enum vpmu_report_kind kind)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < test->nr_reports; i++)
		nr += test->reports[i].kind == kind;
	return nr;
}

/* The counters that such reports were about. */
uint64_t reported(const struct test *test, enum vpmu_report_kind kind)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < test->nr_reports; i++)
		if (test->reports[i].kind == kind)
			set |= BIT(test->reports[i].slot);
	return set;
}
