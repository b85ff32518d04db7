/* SPDX-License-Identifier: GPL-2.0-only */
/* Overflow at each boundary: the count, the status, one interrupt. */
#include "guest.h"
#include "model.h"

static uint64_t bit_of(unsigned int slot)
{
	return has_global() ? BIT(slot) : 0;
}

/* @n more from @start. */
static void check_step(unsigned int slot, uint64_t start, uint64_t n)
{
	enum event event = usual_event(slot);
	uint64_t sum = start + n, overflows = statistic(STAT_OVERFLOWS);
	unsigned int before = pmis();
	bool over = sum >> model->width;

	set_counter(slot, start);
	EXPECT(counter(slot), start);
	program(slot, event, ON_KERNEL | ON_PMI);
	run(event, n);
	EXPECT(counter(slot), sum & counter_mask());
	EXPECT(read_status(), over ? bit_of(slot) : 0);
	EXPECT(statistic(STAT_OVERFLOWS) - overflows, sum >> model->width);
	EXPECT(pmis() - before, over);
	program(slot, event, 0);
	if (has_global())
		wr(clear_msr(), BIT(slot));
	EXPECT(read_status(), 0);
}

static void check_boundaries(unsigned int slot)
{
	const uint64_t end = counter_mask() + 1;
	const uint64_t starts[] = {
		0, 1, BIT(31) - 1, BIT(31), BIT(32) - 1, BIT(32), end - BIT(32), end - BIT(31),
		end - 1000, end - 2, end - 1 };
	static const uint64_t steps[] = {
		1, 2, 999, 1000, 1001, BIT(31), BIT(32) - 1, BIT(32), BIT(32) + 1 };

	for (unsigned int i = 0; i < ARRAY_SIZE(starts); i++)
		for (unsigned int j = 0; j < ARRAY_SIZE(steps); j++)
			check_step(slot, starts[i], steps[j]);
	check_step(slot, end - 1, end + 1);	/* twice in one stay */
}

/* In steps: none is early, none late. */
static void check_exact(unsigned int slot)
{
	enum event event = usual_event(slot);

	set_counter(slot, counter_mask() + 1 - 10);
	program(slot, event, ON_KERNEL | ON_PMI);
	for (unsigned int i = 1; i <= 20; i++) {
		run(event, 1);
		EXPECT(counter(slot), i < 10 ? counter_mask() + 1 - 10 + i : i - 10);
		EXPECT(pmis(), i >= 10);
		EXPECT(read_status(), i >= 10 ? bit_of(slot) : 0);
	}
	clean();
}

static unsigned int last_slot(void)
{
	return model->fixed ? FIXED - 1 + count_bits(model->fixed) : model->nr - 1;
}

/* A write is no overflow, wherever it goes. */
static void check_written(void)
{
	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	set_counter(0, counter_mask());
	set_counter(0, 0);
	run(INSTRUCTIONS, 1);
	EXPECT(counter(0), 1);
	EXPECT(read_status(), 0);
	EXPECT(pmis(), 0);
	set_counter(0, counter_mask());
	run(CYCLES, 5);
	EXPECT(read_status(), 0);
	EXPECT(pmis(), 0);
}

/* The counter's own bit stays, whatever it does, until it is cleared, and no other with it. */
static void check_sticky(void)
{
	program(0, INSTRUCTIONS, ON_KERNEL);
	program(1, INSTRUCTIONS, ON_KERNEL);
	set_counter(0, counter_mask());
	set_counter(1, counter_mask() - 1);
	run(INSTRUCTIONS, 1);
	EXPECT(read_status(), 1);
	set_counter(0, 0);
	program(0, INSTRUCTIONS, 0);
	wr(control_msr(), 0);
	EXPECT(read_status(), 1);
	wr(control_msr(), all_slots());
	run(INSTRUCTIONS, 1);
	EXPECT(read_status(), 3);
	wr(clear_msr(), 0);
	EXPECT(read_status(), 3);
	wr(clear_msr(), 1);
	EXPECT(read_status(), 2);
	wr(clear_msr(), 2);
	EXPECT(read_status(), 0);
	EXPECT(pmis(), 0);
}

void test_overflow(void)
{
	begin("overflow at each boundary: the first general counter");
	clean();
	check_boundaries(0);
	end();
	begin("overflow at each boundary: the last counter");
	clean();
	check_boundaries(last_slot());
	end();
	begin("overflow neither early nor late, on each counter");
	clean();
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			check_exact(slot);
	end();
	begin("a write is no overflow");
	clean();
	check_written();
	end();
	if (has_global()) {
		begin("the status stays until it is cleared");
		clean();
		check_sticky();
		end();
	}
	clean();
}
