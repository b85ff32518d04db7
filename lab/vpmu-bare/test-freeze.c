/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FREEZE_PERFMON_ON_PMI: versions 2 and 3 of Intel's clear the enable bits, later ones and AMD's
 * have a status bit that stops all counters.
 */
#include "guest.h"
#include "model.h"

static bool by_status(void)
{
	return !model->intel || model->version >= 4;
}

/* Two counters, the first of which overflows. */
static void overflow(unsigned int on)
{
	set_counter(0, counter_mask());
	set_counter(1, 0);
	program(0, INSTRUCTIONS, on);
	program(1, CYCLES, ON_KERNEL);
	run(INSTRUCTIONS, 1);
}

static bool counts(void)
{
	uint64_t before = counter(1);

	run(CYCLES, 5);
	return counter(1) == before + 5;
}

static void check_frozen(void)
{
	wr(DEBUGCTL, FREEZE_ON_PMI);
	overflow(ON_KERNEL | ON_PMI);
	EXPECT(pmis(), 1);
	EXPECT(read_status(), 1 | (by_status() ? FROZEN : 0));
	EXPECT(this_cpu()->pmi_status[0], read_status());
	EXPECT(rd(control_msr()), by_status() ? all_slots() : 0);
	EXPECT(counts(), false);
	run(INSTRUCTIONS, 7);
	EXPECT(counter(0), 0);
	if (by_status())
		wr(clear_msr(), FROZEN);
	else
		wr(control_msr(), all_slots());
	EXPECT(counts(), true);
	run(INSTRUCTIONS, 7);
	EXPECT(counter(0), 7);
	EXPECT(read_status(), 1);
}

/* It is the interrupt that freezes, not the overflow. */
static void check_not_frozen(void)
{
	wr(DEBUGCTL, FREEZE_ON_PMI);
	overflow(ON_KERNEL);
	EXPECT(read_status(), 1);
	EXPECT(counts(), true);
	wr(DEBUGCTL, 0);
	overflow(ON_KERNEL | ON_PMI);
	EXPECT(read_status(), 1);
	EXPECT(rd(control_msr()), all_slots());
	EXPECT(counts(), true);
}

static void check_set(void)
{
	program(1, CYCLES, ON_KERNEL);
	EXPECT(counts(), true);
	wr(model->intel ? STATUS_SET : V2_SET, FROZEN);
	EXPECT(counts(), false);
	wr(clear_msr(), FROZEN);
	EXPECT(counts(), true);
}

void test_freeze(void)
{
	if (!has_global())
		return;
	begin("the interrupt freezes all counters");
	clean();
	check_frozen();
	end();
	begin("nothing else does");
	clean();
	check_not_frozen();
	end();
	if (by_status()) {
		begin("frozen by a write of the status");
		clean();
		check_set();
		end();
	}
	wr(DEBUGCTL, 0);
	clean();
}
