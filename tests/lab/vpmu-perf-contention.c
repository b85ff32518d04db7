/* SPDX-License-Identifier: GPL-2.0-only */
/* Others want counters, too: each policy's part. */
#include <errno.h>
#include <stdio.h>

#include "vpmu-perf.h"

/* All general counters from 0 to @nr - 1 count instructions. */
static void program(struct test *test, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		wr(test, INTEL_SELECT + i, INSTRUCTIONS);
	wr(test, INTEL_CONTROL, BIT(nr) - 1);
}

void test_fail(struct holder *holder)
{
	struct vpmu_entry entry;
	struct test test;
	uint64_t fixed;
	int err;

	puts("# contention: fail");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	program(&test, 2);
	fixed = overhead(&test, INTEL_PMC);
	same("the host takes all but one", holder->most - 1, holder_hold(holder, holder->most - 1));
	err = vpmu_enter(test.vpmu, &entry);
	same("the guest must not run", EBUSY, (uint64_t)-err);
	printf("# counting %#llx, missing %#llx\n", (unsigned long long)entry.counting,
	       (unsigned long long)entry.missing);
	same("one of the two is missing", 1, (uint64_t)__builtin_popcountll(entry.missing));
	same("each that is missing is reported", entry.missing,
	     reported(&test, VPMU_REPORT_BUSY));
	holder_look_for(holder, holder->most - 1);
	err = vpmu_enter(test.vpmu, &entry);
	same("nor the next time", EBUSY, (uint64_t)-err);
	same("which is told once", 1, nr_reports(&test, VPMU_REPORT_BUSY));
	same("the host takes the last one", holder->most, holder_hold(holder, MAX_HELD));
	err = vpmu_enter(test.vpmu, &entry);
	same("both are missing", 3, entry.missing);
	holder_look_for(holder, holder->most);
	holder_hold(holder, 0);
	run(&test, 1);
	same("when the host has given them back, it counts to the instruction",
	     1000 * LOOP_INSTRUCTIONS + fixed, count(&test, INTEL_PMC, 1000));
	end(&test);
}

void test_lost(struct holder *holder)
{
	struct vpmu_entry entry;
	struct vpmu_exit left;
	struct test test;
	int err;

	puts("# contention: while the guest runs");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	program(&test, 1);
	wr(&test, INTEL_PMC, 5);
	err = vpmu_enter(test.vpmu, &entry);
	same("entered", 0, (uint64_t)err);
	holder_hold(holder, MAX_HELD);
	loop(1000);
	vpmu_exit(test.vpmu, &left);
	same("the counter is told to be lost", 1, left.lost);
	same("and reported", 1, reported(&test, VPMU_REPORT_LOST));
	same("its value is the one before", 5, rd(&test, INTEL_PMC));
	same("the guest sees that it was", CHANGED, rd(&test, INTEL_STATUS));
	err = vpmu_enter(test.vpmu, &entry);
	same("the next entry fails", EBUSY, (uint64_t)-err);
	holder_hold(holder, 0);
	between("and the one after the host has given it back does not", 2000, 4000,
		count(&test, INTEL_PMC, 1000));
	end(&test);
}

void test_evict(struct holder *holder)
{
	struct vpmu_entry entry;
	struct test test;

	puts("# contention: evict");
	holder_hold(holder, MAX_HELD);
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_EVICT);
	program(&test, 2);
	same("nobody gives way: the guest runs", 0, (uint64_t)vpmu_enter(test.vpmu, &entry));
	same("without counters", 3, entry.missing);
	loop(1000);
	vpmu_exit(test.vpmu, NULL);
	same("they stand still", 0, rd(&test, INTEL_PMC) | rd(&test, INTEL_PMC + 1));
	same("which the guest sees", CHANGED, rd(&test, INTEL_STATUS));
	same("the host was asked for each", 2, test.nr_asked);
	same("each is reported", 3, reported(&test, VPMU_REPORT_EVICTED));
	holder_look_for(holder, holder->most);
	/* It gives one for each that is asked for. */
	test.nr_asked = 0;
	test.gives = holder;
	vpmu_retry(test.vpmu);
	same("the host gives way", 0, (uint64_t)vpmu_enter(test.vpmu, &entry));
	same("and both have counters", 3, entry.counting);
	loop(1000);
	vpmu_exit(test.vpmu, NULL);
	between("that count", 2000, 10000, rd(&test, INTEL_PMC));
	same("asked twice", 2, test.nr_asked);
	end(&test);
	holder_hold(holder, 0);
}

/* So long that all have had turns: a turn is 4 ms, which are 250,000 instructions. */
static void test_turns_of(struct test *test, unsigned int nr, const char *what)
{
	static const uint64_t rounds = 30000000, done = 30000000 * LOOP_INSTRUCTIONS;
	uint64_t least = UINT64_MAX, most = 0;
	char name[96];

	for (unsigned int i = 0; i < nr; i++)
		wr(test, INTEL_PMC + i, 0);
	run(test, rounds);
	for (unsigned int i = 0; i < nr; i++) {
		least = MIN(least, rd(test, INTEL_PMC + i));
		most = MAX(most, rd(test, INTEL_PMC + i));
	}
	snprintf(name, sizeof(name), "%s: the least is 95 %% of what was done", what);
	between(name, done * 95 / 100, done * 105 / 100, least);
	snprintf(name, sizeof(name), "%s: the most is 105 %%", what);
	between(name, done * 95 / 100, done * 105 / 100, most);
}

void test_multiplex(struct holder *holder)
{
	unsigned int nr = holder->most + 2;
	struct vpmu_entry entry;
	struct test test;

	puts("# contention: multiplex");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_MULTIPLEX);
	program(&test, nr);
	same("more counters than the host has: the guest runs", 0,
	     (uint64_t)vpmu_enter(test.vpmu, &entry));
	vpmu_exit(test.vpmu, NULL);
	same("all count", BIT(nr) - 1, entry.counting);
	between("some are told to take turns", 1, nr,
		(uint64_t)__builtin_popcountll(reported(&test, VPMU_REPORT_MULTIPLEXED)));
	test_turns_of(&test, nr, "two counters too few");
	end(&test);

	start(&test, VPMU_INTEL_V2, VPMU_POLICY_MULTIPLEX);
	holder_hold(holder, holder->most - 2);
	program(&test, 4);
	same("the host has left two for four: the guest runs", 0,
	     (uint64_t)vpmu_enter(test.vpmu, &entry));
	vpmu_exit(test.vpmu, NULL);
	holder_look_for(holder, holder->most - 2);
	test_turns_of(&test, 4, "two for four");
	holder_hold(holder, 0);
	vpmu_retry(test.vpmu);
	run(&test, 1);
	same("tried again, all have counters of their own", 4, stats(&test).open_now);
	same("and are exact", 1000 * LOOP_INSTRUCTIONS + overhead(&test, INTEL_PMC),
	     count(&test, INTEL_PMC, 1000));
	end(&test);

	/* Where the host has all there is no turn to take. */
	holder_hold(holder, MAX_HELD);
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_MULTIPLEX);
	program(&test, 1);
	run(&test, 1000000);
	same("the host has all: nothing was counted", 0, rd(&test, INTEL_PMC));
	holder_hold(holder, 0);
	run(&test, 10000000);
	between("it was given them back: the time without is scaled, too", 20000000, 25000000,
		rd(&test, INTEL_PMC));
	end(&test);
}
