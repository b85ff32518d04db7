/* SPDX-License-Identifier: GPL-2.0-only */
/* Overflow: at which instruction, and the signal for it. */
#include <signal.h>
#include <stdio.h>

#include "vpmu-perf.h"

static volatile sig_atomic_t nr_signals;

static void on_signal(int number)
{
	(void)number;
	nr_signals++;
}

void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	if (sigaction(SIGUSR1, &action, NULL))
		give_up("sigaction");
}

void test_boundary(void)
{
	static const uint64_t rounds = 100000;
	struct test test;
	struct vpmu_exit left;
	uint64_t total;

	puts("# overflow: to the instruction");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS | INTERRUPT);
	total = overhead(&test, INTEL_PMC) + rounds * LOOP_INSTRUCTIONS;
	wr(&test, INTEL_A_PMC, FULL - total - 1);
	left = run(&test, rounds);
	same("one less than it takes: no interrupt", 0, left.pmi);
	same("one less: the counter is at its end", FULL - 1, rd(&test, INTEL_PMC));
	same("one less: no status", 0, rd(&test, INTEL_STATUS));
	wr(&test, INTEL_A_PMC, FULL - total);
	left = run(&test, rounds);
	same("exactly so many: the counter is 0", 0, rd(&test, INTEL_PMC));
	same("exactly so many: an interrupt", 1, left.pmi);
	same("exactly so many: status", 1, rd(&test, INTEL_STATUS));
	/* As a guest's handler does, ten times in a row. */
	for (int i = 0; i < 10; i++) {
		struct vpmu_pmi pmi;

		vpmu_pmi(test.vpmu, 0x400, &pmi);
		wr(&test, INTEL_RESET, 1);
		wr(&test, INTEL_A_PMC, FULL - total);
		left = run(&test, rounds);
		if (!left.pmi || rd(&test, INTEL_PMC))
			break;
	}
	same("set anew ten times, it overflows to the instruction each time", 11,
	     stats(&test).overflows);
	end(&test);
}

/* Runs until the signal says that the counter has overflowed, or for so many rounds. */
static void run_to_signal(struct test *test, uint64_t most, struct vpmu_exit *left)
{
	sig_atomic_t before = nr_signals;

	if (vpmu_enter(test->vpmu, NULL))
		point(false, "entry");
	for (uint64_t i = 0; i < most / 100 && nr_signals == before; i++)
		loop(100);
	vpmu_exit(test->vpmu, left);
}

void test_signal(void)
{
	static const uint64_t period = 200000;
	uint64_t sum = 0, most = 0;
	struct test test;
	sig_atomic_t before = nr_signals;
	int nr = 0;

	puts("# overflow: the signal");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS | INTERRUPT);
	for (int i = 0; i < 20; i++) {
		struct vpmu_exit left;
		struct vpmu_pmi pmi;

		wr(&test, INTEL_A_PMC, FULL - period);
		run_to_signal(&test, 5 * period, &left);
		nr += left.pmi;
		vpmu_pmi(test.vpmu, 0x400, &pmi);
		sum += rd(&test, INTEL_PMC);
		most = MAX(most, rd(&test, INTEL_PMC));
	}
	same("20 periods: an interrupt each", 20, (uint64_t)nr);
	same("20 periods: a signal each", 20, (uint64_t)(nr_signals - before));
	/* The emulator sees to overflows at the kernel's ticks: a bare perf event is as late. */
	between("it comes within two ticks of 250,000 instructions", 1, 500000, most);
	printf("# %.0f on average\n", (double)sum / 20);
	/* Four fifths of the period of one, inside; outside more than both have. */
	wr(&test, INTEL_CONTROL, 3);
	wr(&test, INTEL_SELECT + 1, INSTRUCTIONS | INTERRUPT);
	wr(&test, INTEL_A_PMC, FULL - period);
	wr(&test, INTEL_A_PMC + 1, FULL - 3 * period);
	before = nr_signals;
	for (int i = 0; i < 4; i++) {
		run(&test, period / 10);
		loop(period);
	}
	same("what is outside makes no signal", 0, (uint64_t)(nr_signals - before));
	same("nor does it count", 0, stats(&test).overflows - 20);
	end(&test);
}
