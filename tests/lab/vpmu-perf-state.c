/* SPDX-License-Identifier: GPL-2.0-only */
/* A vPMU that is saved and restored in mid-count, and one that goes to another thread. */
#include <pthread.h>
#include <stdio.h>

#include "vpmu-perf.h"

void test_state(void)
{
	static const uint64_t rounds = 50000;
	uint8_t state[VPMU_STATE_MAX];
	struct test one, two;
	uint64_t value, fixed;
	int size;

	puts("# saved and restored in mid-count");
	start(&one, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&one, INTEL_CONTROL, 1);
	wr(&one, INTEL_SELECT, INSTRUCTIONS | INTERRUPT);
	fixed = overhead(&one, INTEL_PMC);
	wr(&one, INTEL_A_PMC, FULL - 3 * (rounds * LOOP_INSTRUCTIONS + fixed));
	run(&one, rounds);
	value = rd(&one, INTEL_PMC);
	size = vpmu_save(one.vpmu, state, sizeof(state));
	end(&one);
	start(&two, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	same("restored", 0, (uint64_t)vpmu_restore(two.vpmu, state, (size_t)size));
	same("with its count", value, rd(&two, INTEL_PMC));
	same("no interrupt too early", 0, run(&two, rounds).pmi);
	same("it goes on from there", value + rounds * LOOP_INSTRUCTIONS + fixed,
	     rd(&two, INTEL_PMC));
	same("the interrupt at its place", 1, run(&two, rounds).pmi);
	same("to the instruction", 0, rd(&two, INTEL_PMC));
	/* A pending interrupt moves along. */
	size = vpmu_save(two.vpmu, state, sizeof(state));
	end(&two);
	start(&one, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	vpmu_restore(one.vpmu, state, (size_t)size);
	same("an interrupt that is pending moves along", 1, run(&one, 1).pmi);
	end(&one);
}

struct elsewhere {
	struct test *test;
	uint64_t fixed, counted;
};

/* libc's part of the calls is another one where there are threads. */
static void *run_elsewhere(void *arg)
{
	struct elsewhere *elsewhere = arg;

	elsewhere->fixed = overhead(elsewhere->test, INTEL_PMC);
	elsewhere->counted = count(elsewhere->test, INTEL_PMC, 70000);
	vpmu_release_events(elsewhere->test->vpmu);
	return NULL;
}

void test_thread(void)
{
	struct elsewhere elsewhere;
	struct test test;
	pthread_t thread;

	puts("# on another thread");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS);
	run(&test, 1000);
	vpmu_release_events(test.vpmu);
	elsewhere = (struct elsewhere){ .test = &test };
	if (pthread_create(&thread, NULL, run_elsewhere, &elsewhere))
		give_up("thread");
	pthread_join(thread, NULL);
	same("it counts that thread", 70000 * LOOP_INSTRUCTIONS + elsewhere.fixed,
	     elsewhere.counted);
	same("and this one again", 70000 * LOOP_INSTRUCTIONS + overhead(&test, INTEL_PMC),
	     count(&test, INTEL_PMC, 70000));
	end(&test);
}
