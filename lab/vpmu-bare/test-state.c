/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMU's state is saved, and a new PMU goes on with it, while counters run; the host takes its
 * counters away.
 */
#include "guest.h"
#include "model.h"

#define MAX_REGISTERS 64

static unsigned int add(uint32_t *msrs, unsigned int nr, uint32_t msr)
{
	msrs[nr] = msr;
	return nr + 1;
}

/* All that can be read and does not depend on others. */
static unsigned int registers(uint32_t *msrs)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < model->nr; i++)
		nr = add(msrs, nr, select_msr(i));
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			nr = add(msrs, nr, counter_msr(slot));
	if (model->fixed)
		nr = add(msrs, nr, FIXED_CTRL);
	if (has_global()) {
		nr = add(msrs, nr, status_msr());
		nr = add(msrs, nr, control_msr());
		nr = add(msrs, nr, DEBUGCTL);
	}
	return nr;
}

/* Every register has something to lose. */
static void fill(void)
{
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot)) {
			set_counter(slot, counter_mask() - 1000 * (slot + 1));
			program(slot, usual_event(slot), ON_KERNEL | (slot & 1 ? ON_PMI : ON_USER));
		}
	if (has_global()) {
		wr(control_msr(), all_slots() & ~2ULL);
		wr(DEBUGCTL, FREEZE_ON_PMI);
	}
	set_counter(0, counter_mask() - 1);
	run(INSTRUCTIONS, 2);	/* sets its status bit, makes no interrupt */
}

static void check_registers(void)
{
	uint32_t msrs[MAX_REGISTERS];
	uint64_t before[MAX_REGISTERS];
	unsigned int nr = registers(msrs);

	fill();
	for (unsigned int i = 0; i < nr; i++)
		before[i] = rd(msrs[i]);
	EXPECT(ask(PMU_COMMAND_MOVE, 0, 0, 0), 0);
	for (unsigned int i = 0; i < nr; i++)
		EXPECT(rd(msrs[i]), before[i]);
	EXPECT(pmis(), 0);
	if (has_global())
		wr(DEBUGCTL, 0);
}

static void check_goes_on(unsigned int slot)
{
	enum event event = usual_event(slot);

	set_counter(slot, counter_mask() + 1 - 10);
	program(slot, event, ON_KERNEL | ON_PMI);
	for (unsigned int i = 1; i <= 20; i++) {
		run(event, 1);
		EXPECT(ask(PMU_COMMAND_MOVE, 0, 0, 0), 0);
		EXPECT(counter(slot), i < 10 ? counter_mask() + 1 - 10 + i : i - 10);
		EXPECT(pmis(), i >= 10);
	}
	clean();
}

/* Saved between the overflow and its interrupt: the new PMU delivers it, once. */
static void check_pending(void)
{
	for (unsigned int i = 1; i <= 3; i++) {
		set_counter(0, counter_mask());
		program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
		EXPECT(ask(PMU_COMMAND_RUN_AND_MOVE, INSTRUCTIONS, 0, 1), 0);
		EXPECT(pmis(), i);
		EXPECT(counter(0), 0);
		EXPECT(ask(PMU_COMMAND_RUN_AND_MOVE, INSTRUCTIONS, 0, 1), 0);
		EXPECT(pmis(), i);
	}
}

/* Evicted: it stands still and says so, until it is programmed anew and there are counters. */
static void check_taken(unsigned int slot)
{
	enum event event = usual_event(slot);
	bool tells = model->intel && has_global();

	program(slot, event, ON_KERNEL);
	run(event, 10);
	EXPECT(read_status(), 0);
	ask(PMU_COMMAND_COUNTERS, 0, 0, 0);
	run(event, 10);
	EXPECT(counter(slot), 10);
	EXPECT(read_status(), tells ? CHANGED : 0);
	ask(PMU_COMMAND_COUNTERS, NR_SLOTS, 0, 0);
	run(event, 10);
	EXPECT(counter(slot), 10);
	program(slot, event, 0);
	program(slot, event, ON_KERNEL);
	run(event, 10);
	EXPECT(counter(slot), 20);
	if (tells)
		wr(clear_msr(), CHANGED);
	EXPECT(read_status(), 0);
	program(slot, event, 0);
}

void test_state(void)
{
	begin("saved and restored: each register");
	clean();
	check_registers();
	end();
	begin("saved and restored in mid-count, on each counter");
	clean();
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			check_goes_on(slot);
	end();
	begin("saved and restored with an interrupt pending");
	clean();
	check_pending();
	end();
	begin("the host takes its counters away");
	clean();
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			check_taken(slot);
	end();
	clean();
}
