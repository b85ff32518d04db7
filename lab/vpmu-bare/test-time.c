/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of real time: the time backend, under which cycles go on by themselves. What is checked
 * does not depend on how fast they go.
 */
#include "guest.h"
#include "model.h"

#define PERIOD 20000000ULL	/* cycles between interrupts */
#define INSTRUCTIONS_CODE 0xc0	/* of either vendor */
#define NR_PMIS 10
#define WAIT_TURNS 4000000000ULL

/* A counter that counts cycles in all modes. */
static unsigned int cycle_slot(bool fixed)
{
	return fixed ? FIXED + 1 : 0;
}

/* False: it did not come to that. */
static bool wait_for_pmis(unsigned int nr)
{
	for (uint64_t i = 0; i < WAIT_TURNS && pmis() < nr; i++)
		__asm__ volatile("");
	return pmis() >= nr;
}

static void spin(void)
{
	for (unsigned int i = 0; i < 2000000; i++)
		__asm__ volatile("");
}

static void check_counts(unsigned int slot)
{
	uint64_t first, second;

	program(slot, CYCLES, ON_KERNEL | ON_USER);
	spin();
	first = counter(slot);
	EXPECT(first > 0, true);
	spin();
	second = counter(slot);
	EXPECT(second > first, true);
	program(slot, CYCLES, 0);
	first = counter(slot);
	EXPECT(first >= second, true);
	spin();
	EXPECT(counter(slot), first);
	if (has_global()) {
		program(slot, CYCLES, ON_KERNEL | ON_USER);
		wr(control_msr(), all_slots() & ~BIT(slot));
		first = counter(slot);
		spin();
		EXPECT(counter(slot), first);
		wr(control_msr(), all_slots());
		spin();
		EXPECT(counter(slot) > first, true);
		program(slot, CYCLES, 0);
	}
	EXPECT(read_status(), 0);
	EXPECT(pmis(), 0);
}

/* Time cannot tell in which mode it went by, nor instructions. */
static void check_refused(unsigned int slot)
{
	program(slot, CYCLES, ON_KERNEL);
	spin();
	EXPECT(counter(slot), 0);
	program(slot, CYCLES, ON_USER);
	spin();
	EXPECT(counter(slot), 0);
	if (slot < FIXED)
		wr(select_msr(slot), INSTRUCTIONS_CODE | SEL_ENABLE | SEL_USER | SEL_KERNEL);
	spin();
	EXPECT(counter(slot), 0);
	program(slot, CYCLES, 0);
}

/*
 * One interrupt for each overflow, behind it. Moved after it has begun to count, which is before
 * the overflow, but for a machine that is very slow: what comes is the same.
 */
static void check_periods(unsigned int slot, bool moves)
{
	const uint64_t start = counter_mask() + 1 - PERIOD;

	program(slot, CYCLES, ON_KERNEL | ON_USER | ON_PMI);
	for (unsigned int i = 1; i <= NR_PMIS; i++) {
		uint64_t before = statistic(STAT_OVERFLOWS);

		wr(counter_msr(slot), start);
		if (moves) {
			while (counter(slot) == start)
				;
			EXPECT(ask(PMU_COMMAND_MOVE, 0, 0, 0), 0);
		}
		EXPECT(wait_for_pmis(i), true);
		EXPECT(pmis(), i);
		EXPECT(counter(slot) < start, true);
		if (!moves)
			EXPECT(statistic(STAT_OVERFLOWS) - before, 1);
		if (has_global()) {
			EXPECT(read_status(), BIT(slot));
			wr(clear_msr(), BIT(slot));
		}
	}
	program(slot, CYCLES, 0);
	spin();
	EXPECT(pmis(), NR_PMIS);
}

static void check_denied(void)
{
	static struct pmu_port_filter filter = { .action = 1, .nr = 1 };
	uint64_t value;

	filter.events[0] = event_code(CYCLES);
	program(0, CYCLES, ON_KERNEL | ON_USER);
	spin();
	EXPECT(ask(PMU_COMMAND_FILTER, (uintptr_t)&filter, 0, 0), 0);
	value = counter(0);
	EXPECT(value > 0, true);
	spin();
	EXPECT(counter(0), value);
	EXPECT(ask(PMU_COMMAND_FILTER, 0, 0, 0), 0);
	spin();
	EXPECT(counter(0) > value, true);
}

static void check_rdpmc(void)
{
	uint64_t last = 0, value;

	program(0, CYCLES, ON_KERNEL | ON_USER);
	for (unsigned int i = 0; i < 100; i++) {
		EXPECT(try_rdpmc(0, &value), 0);
		EXPECT(value > last, true);
		last = value;
	}
	EXPECT(counter(0) > last, true);
}

static uint64_t second_count;

static void count_second(void)
{
	clean();
	program(0, CYCLES, ON_KERNEL | ON_USER);
	spin();
	second_count = counter(0);
	program(0, CYCLES, 0);
}

static void nothing(void)
{
}

void test_time(void)
{
	for (unsigned int i = 0; i < (model->fixed ? 2 : 1); i++) {
		begin(i ? "cycles go on and stop: fixed" : "cycles go on and stop");
		clean();
		check_counts(cycle_slot(i));
		end();
		begin(i ? "what time cannot tell stands still: fixed" :
			  "what time cannot tell stands still");
		clean();
		check_refused(cycle_slot(i));
		end();
		begin(i ? "one interrupt each period: fixed" : "one interrupt each period");
		clean();
		check_periods(cycle_slot(i), false);
		end();
		begin(i ? "moved in each period: fixed" : "moved in each period");
		clean();
		check_periods(cycle_slot(i), true);
		end();
	}
	begin("cycles are denied");
	clean();
	check_denied();
	end();
	begin("RDPMC goes forward");
	clean();
	check_rdpmc();
	end();
	clean();
	if (!on_second(nothing)) {
		skip_point("a second processor's cycles", "there is none");
		return;
	}
	begin("a second processor's cycles");
	on_second(count_second);
	EXPECT(second_count > 0, true);
	EXPECT(counter(0), 0);
	end();
}
