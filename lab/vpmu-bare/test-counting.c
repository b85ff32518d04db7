/* SPDX-License-Identifier: GPL-2.0-only */
/* What counts, in which mode, and what stops it. */
#include "guest.h"
#include "model.h"

static void check_events(unsigned int slot)
{
	for (enum event event = 0; event < NR_CODES; event++) {
		if (event_code(event) < 0)
			continue;
		program(slot, event, ON_KERNEL);
		wr(counter_msr(slot), 0);
		for (enum event other = 0; other < RAW; other++)
			run(other, 1ULL << (4 * other));
		EXPECT(counter(slot), 1ULL << (4 * event));
	}
	program(slot, 0, 0);
}

static void check_fixed(unsigned int slot)
{
	program(slot, 0, ON_KERNEL);
	for (enum event other = 0; other < RAW; other++)
		run(other, 1ULL << (4 * other));
	EXPECT(counter(slot), 1ULL << (4 * fixed_event(slot)));
	program(slot, 0, 0);
}

/* Which of the two modes count; the other one's counts are seen as such. */
static unsigned int user_event;

static void run_user(void)
{
	run(user_event, 0x1000);
}

static void check_modes(unsigned int slot)
{
	user_event = usual_event(slot);
	for (unsigned int on = 0; on <= (ON_USER | ON_KERNEL); on++) {
		program(slot, user_event, on);
		if (slot < FIXED && !on)	/* enabled, in no mode */
			wr(select_msr(slot), event_code(user_event) | SEL_ENABLE);
		wr(counter_msr(slot), 0);
		run(user_event, 1);
		in_ring3(run_user);
		EXPECT(counter(slot), (on & ON_USER ? 0x1000 : 0) + (on & ON_KERNEL ? 1 : 0));
	}
	program(slot, user_event, 0);
}

static void check_many(void)
{
	clean();
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			program(slot, slot & 1 ? CYCLES : INSTRUCTIONS, ON_KERNEL);
	for (unsigned int i = 1; i <= 10; i++)
		for (enum event event = 0; event < RAW; event++)
			run(event, i << event);
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			EXPECT(counter(slot), 55ULL << (slot >= FIXED ? fixed_event(slot) :
							slot & 1 ? CYCLES : INSTRUCTIONS));
	clean();
}

static void check_enables(unsigned int slot)
{
	enum event event = usual_event(slot);

	program(slot, event, ON_KERNEL);
	run(event, 1);
	if (slot < FIXED) {
		wr(select_msr(slot), rd(select_msr(slot)) & ~SEL_ENABLE);
		run(event, 10);
		wr(select_msr(slot), rd(select_msr(slot)) | SEL_ENABLE);
	}
	run(event, 100);
	EXPECT(counter(slot), slot < FIXED ? 101 : 101);
	if (has_global()) {
		wr(control_msr(), all_slots() & ~BIT(slot));
		run(event, 1000);
		EXPECT(counter(slot), 101);
		wr(control_msr(), BIT(slot));
		run(event, 10000);
		EXPECT(counter(slot), 10101);
		wr(control_msr(), all_slots());
	}
	program(slot, event, 0);
	run(event, 100000);
	EXPECT(counter(slot), has_global() ? 10101 : 101);
}

/* Neither is a write lost nor what comes behind it. */
static void check_writes(unsigned int slot)
{
	enum event event = usual_event(slot);

	program(slot, event, ON_KERNEL);
	run(event, 5);
	wr(counter_msr(slot), 1000);
	EXPECT(counter(slot), 1000);
	run(event, 3);
	EXPECT(counter(slot), 1003);
	program(slot, event, ON_KERNEL | ON_USER);
	run(event, 4);
	EXPECT(counter(slot), 1007);
	wr(counter_msr(slot), 0xdead);
	EXPECT(counter(slot), 0xdead);
	program(slot, event, 0);
	wr(counter_msr(slot), 7);
	run(event, 4);
	EXPECT(counter(slot), 7);
	wr(counter_msr(slot), 0);
}

static void check_reprogrammed(void)
{
	program(0, INSTRUCTIONS, ON_KERNEL);
	run(INSTRUCTIONS, 100);
	program(0, BRANCHES, ON_KERNEL);
	EXPECT(counter(0), 100);
	run(INSTRUCTIONS, 7);
	run(BRANCHES, 20);
	EXPECT(counter(0), 120);
}

/* With a counter mask, an edge, an inversion, another unit mask or number it is another event. */
static void check_raw(void)
{
	uint64_t instructions = event_code(INSTRUCTIONS);
	const uint64_t raws[] = {
		instructions | SEL_CMASK(2), instructions | SEL_EDGE,
		instructions | SEL_INVERT | SEL_CMASK(1), instructions | 0x100, 0x81d0,
		model->intel ? 0xffff : 0xf000000ffULL,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(raws); i++) {
		wr(select_msr(1), raws[i] | SEL_ENABLE | SEL_KERNEL);
		wr(counter_msr(1), 0);
		run(INSTRUCTIONS, 10);
		run_raw(instructions, 100);
		run_raw(raws[i], 1000);
		EXPECT(counter(1), 1000);
	}
}

/* What the core's other thread does is not the guest's: no event that has a meaning. */
static void check_any_thread(void)
{
	wr(select_msr(0), event_code(INSTRUCTIONS) | SEL_ENABLE | SEL_KERNEL | SEL_ANY);
	wr(FIXED_CTRL, 5);
	run(INSTRUCTIONS, 10);
	EXPECT(counter(0), 0);
	EXPECT(counter(FIXED), 0);
}

static void for_each_slot(void (*check)(unsigned int slot))
{
	clean();
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			check(slot);
}

void test_counting(void)
{
	begin("each event on each counter, and no other");
	clean();
	for (unsigned int slot = 0; slot < model->nr; slot++)
		check_events(slot);
	end();
	if (model->fixed) {
		begin("each fixed counter its own event");
		clean();
		for (unsigned int slot = FIXED; slot < NR_SLOTS; slot++)
			if (has_slot(slot))
				check_fixed(slot);
		end();
	}
	begin("all counters at once");
	check_many();
	end();
	begin("user and kernel mode apart");
	for_each_slot(check_modes);
	end();
	begin("every bit that enables");
	for_each_slot(check_enables);
	end();
	begin("a running counter is written");
	for_each_slot(check_writes);
	end();
	begin("another event goes on from the count");
	clean();
	check_reprogrammed();
	end();
	begin("events known by their number only");
	clean();
	check_raw();
	end();
	if (has_any_thread()) {
		begin("AnyThread counts nothing");
		clean();
		check_any_thread();
		end();
	}
	clean();
}
