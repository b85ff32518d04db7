/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts to the instruction: Intel's counters and AMD's, modes, several at once. */
#include <stdio.h>

#include "vpmu-perf.h"

#define AMD_SELECT 0xc0010200
#define AMD_COUNTER 0xc0010201
#define INTEL_CYCLES (ENABLE | USER | 0x3c)
#define AMD_CYCLES (ENABLE | USER | 0x76)

void test_exact(void)
{
	struct test test;
	uint64_t fixed, cycles, each;

	puts("# exact counts: Intel, user mode");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS);
	fixed = overhead(&test, INTEL_PMC);
	between("entry and exit have few instructions of their own", 1, 2000, fixed);
	for (uint64_t rounds = 10; rounds <= 1000000; rounds *= 10) {
		char name[64];

		snprintf(name, sizeof(name), "%llu rounds are as many instructions",
			 (unsigned long long)rounds);
		same(name, rounds * LOOP_INSTRUCTIONS + fixed, count(&test, INTEL_PMC, rounds));
	}
	wr(&test, INTEL_SELECT, INTEL_CYCLES);
	cycles = count(&test, INTEL_PMC, 1);
	cycles = count(&test, INTEL_PMC, 1);
	each = (count(&test, INTEL_PMC, 1000001) - cycles) / LOOP_INSTRUCTIONS;
	same("an instruction is so many cycles", each,
	     (count(&test, INTEL_PMC, 2000001) - cycles) / LOOP_INSTRUCTIONS / 2);
	printf("# %.6f cycles each\n", (double)each / 1000000);
	end(&test);

	puts("# exact counts: AMD");
	start(&test, VPMU_AMD_CORE, VPMU_POLICY_FAIL);
	wr(&test, AMD_SELECT + 10, INSTRUCTIONS);
	fixed = overhead(&test, AMD_COUNTER + 10);
	same("AMD's sixth counter", 500000 * LOOP_INSTRUCTIONS + fixed,
	     count(&test, AMD_COUNTER + 10, 500000));
	wr(&test, AMD_SELECT, AMD_CYCLES);
	count(&test, AMD_COUNTER, 1);
	cycles = count(&test, AMD_COUNTER, 1);
	same("AMD's cycles are Intel's", each,
	     (count(&test, AMD_COUNTER, 1000001) - cycles) / LOOP_INSTRUCTIONS);
	end(&test);
}

/* Interrupts of the host's kernel are in these counts. */
void test_kernel_mode(void)
{
	struct test test;
	uint64_t user, both;

	puts("# modes");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	wr(&test, INTEL_CONTROL, 7);
	wr(&test, INTEL_SELECT, INSTRUCTIONS);
	wr(&test, INTEL_SELECT + 1, INSTRUCTIONS | KERNEL);
	wr(&test, INTEL_SELECT + 2, (INSTRUCTIONS | KERNEL) & ~USER);
	run(&test, 1000000);
	user = rd(&test, INTEL_PMC);
	both = rd(&test, INTEL_PMC + 1);
	between("user and kernel mode: at least the loop, and the calls' work", user, 2 * user,
		both);
	between("user and kernel mode are both together", both * 99 / 100, both * 101 / 100,
		user + rd(&test, INTEL_PMC + 2));
	end(&test);

	start_mode(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL, false);
	wr(&test, INTEL_CONTROL, 1);
	wr(&test, INTEL_SELECT, INSTRUCTIONS | KERNEL);
	run(&test, 1000000);
	same("guests alone: a thread that runs none has counted nothing", 0, rd(&test, INTEL_PMC));
	same("and has had a counter", 1, stats(&test).entries);
	end(&test);
}

void test_several(void)
{
	static const uint64_t rounds = 300000;
	struct test test;
	uint64_t first[5], got[5];
	char name[64];

	puts("# several counters at once");
	start(&test, VPMU_INTEL_V2, VPMU_POLICY_FAIL);
	for (unsigned int i = 0; i < 4; i++)
		wr(&test, INTEL_SELECT + i, INSTRUCTIONS);
	wr(&test, INTEL_FIXED_CONTROL, 2);	/* instructions in user mode */
	wr(&test, INTEL_CONTROL, 0xf | BIT(32));
	run(&test, 1);
	for (unsigned int i = 0; i < 5; i++)
		first[i] = rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED);
	run(&test, 1);
	for (unsigned int i = 0; i < 5; i++)
		first[i] = rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED) - first[i];
	for (unsigned int i = 0; i < 5; i++)
		got[i] = rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED);
	run(&test, 1 + rounds);
	for (unsigned int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "%s counter %u", i < 4 ? "general" : "fixed", i & 3);
		same(name, rounds * LOOP_INSTRUCTIONS + first[i],
		     rd(&test, i < 4 ? INTEL_PMC + i : INTEL_FIXED) - got[i]);
	}
	/* One stops, the others go on. */
	wr(&test, INTEL_CONTROL, 0xd | BIT(32));
	got[1] = rd(&test, INTEL_PMC + 1);
	run(&test, rounds);
	same("one that is switched off stands still", got[1], rd(&test, INTEL_PMC + 1));
	end(&test);
}
