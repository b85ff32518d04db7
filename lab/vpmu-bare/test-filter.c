/* SPDX-License-Identifier: GPL-2.0-only */
/* The VMM's event filter, whose meaning is KVM_SET_PMU_EVENT_FILTER's. */
#include "guest.h"
#include "model.h"

#define ALLOW 0
#define DENY 1
#define MASKED 1
#define EVENT 0xd0ULL
/* Entries of a masked filter. */
#define INCLUDE(mask, match) (EVENT | (match) << 8 | (uint64_t)(mask) << 56)
#define EXCLUDE(mask, match) (INCLUDE(mask, match) | BIT(55))

static struct pmu_port_filter filter;

static uint64_t set_filter(void)
{
	return ask(PMU_COMMAND_FILTER, (uintptr_t)&filter, 0, 0);
}

static void begin_filter(unsigned int action, unsigned int flags)
{
	filter = (struct pmu_port_filter){ .action = action, .flags = flags };
}

static void add(uint64_t event)
{
	filter.events[filter.nr++] = event;
}

/* Which of four counters, of instructions, branches, cycles and a raw event, count. */
static unsigned int counting(void)
{
	unsigned int counts = 0;

	for (unsigned int slot = 0; slot < 2; slot++)
		wr(counter_msr(slot), 0);
	for (unsigned int i = 0; i < 4; i += 2) {
		program(0, i ? CYCLES : INSTRUCTIONS, ON_KERNEL);
		program(1, BRANCHES, ON_KERNEL);
		if (i)
			wr(select_msr(1), 0x81d0 | SEL_ENABLE | SEL_KERNEL);
		wr(counter_msr(0), 0);
		wr(counter_msr(1), 0);
		run(i ? CYCLES : INSTRUCTIONS, 3);
		if (i)
			run_raw(0x81d0, 5);
		else
			run(BRANCHES, 5);
		counts |= (counter(0) == 3) << i | (counter(1) == 5) << (i + 1);
		EXPECT(counter(0) == 0 || counter(0) == 3, true);
		EXPECT(counter(1) == 0 || counter(1) == 5, true);
	}
	return counts;
}

static void check_lists(void)
{
	EXPECT(counting(), 15);
	begin_filter(DENY, 0);
	add(event_code(INSTRUCTIONS));
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 14);
	add(event_code(BRANCHES));
	add(0x81d0);
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 4);
	filter.action = ALLOW;
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 11);
	begin_filter(ALLOW, 0);
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 0);
	begin_filter(DENY, 0);
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 15);
	add(0x1c2);		/* no event of these */
	add(0x82d0);
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 15);
	EXPECT(ask(PMU_COMMAND_FILTER, 0, 0, 0), 0);
	EXPECT(counting(), 15);
}

/* A counter that runs is stopped, overflows no more, and goes on where it stood. */
static void check_running(void)
{
	uint64_t denied = statistic(STAT_DENIED);

	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	set_counter(0, counter_mask() - 5);
	run(INSTRUCTIONS, 2);
	begin_filter(DENY, 0);
	add(event_code(INSTRUCTIONS));
	EXPECT(set_filter(), 0);
	run(INSTRUCTIONS, 100);
	run(INSTRUCTIONS, 100);
	EXPECT(counter(0), counter_mask() - 3);
	EXPECT(statistic(STAT_DENIED) - denied, 1);
	EXPECT(pmis(), 0);
	wr(counter_msr(0), 77);
	run(INSTRUCTIONS, 1);
	EXPECT(counter(0), 77);
	EXPECT(ask(PMU_COMMAND_FILTER, 0, 0, 0), 0);
	set_counter(0, counter_mask());
	run(INSTRUCTIONS, 3);
	EXPECT(counter(0), 2);
	EXPECT(pmis(), 1);
}

/* Of the unit masks 81H, 82H and 83H, those that count. */
static unsigned int masks_counting(void)
{
	unsigned int counts = 0;

	for (uint64_t i = 0; i < 3; i++) {
		uint64_t raw = EVENT | (0x81 + i) << 8;

		wr(select_msr(0), raw | SEL_ENABLE | SEL_KERNEL);
		wr(counter_msr(0), 0);
		run_raw(raw, 4);
		counts |= (counter(0) == 4) << i;
	}
	return counts;
}

/* Others in front of those that matter, as many as there is room for. */
static void add_others(bool dense)
{
	for (unsigned int i = 0; dense && i < PMU_PORT_FILTER_MAX - 4; i++)
		add((i % 0xcf) | (i % 4 ? 0 : BIT(55)));
}

static void check_masked(bool dense)
{
	static const struct {
		uint64_t entries[2];
		unsigned int counts;
	} cases[] = {
		{ { INCLUDE(0xff, 0x81ULL) }, 1 },
		{ { INCLUDE(0xff, 0x82ULL) }, 2 },
		{ { INCLUDE(0xff, 0x83ULL) }, 4 },
		{ { INCLUDE(0x7c, 0ULL), EXCLUDE(0xff, 0x83ULL) }, 3 },
		{ { INCLUDE(0x7c, 0ULL), EXCLUDE(0xff, 0x82ULL) }, 5 },
		{ { INCLUDE(0xfe, 0x82ULL) }, 6 },
		{ { INCLUDE(0x7c, 0ULL) }, 7 },
		{ { INCLUDE(0x81, 0ULL) }, 0 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		begin_filter(ALLOW, MASKED);
		add_others(dense);
		add(cases[i].entries[0]);
		if (cases[i].entries[1])
			add(cases[i].entries[1]);
		EXPECT(set_filter(), 0);
		EXPECT(masks_counting(), cases[i].counts);
		filter.action = DENY;
		EXPECT(set_filter(), 0);
		EXPECT(masks_counting(), 7 & ~cases[i].counts);
	}
}

static bool fixed_counts(unsigned int slot)
{
	program(slot, 0, ON_KERNEL);
	wr(counter_msr(slot), 0);
	run(fixed_event(slot), 6);
	program(slot, 0, 0);
	return counter(slot) == 6;
}

/* The bitmap says it of fixed counters, whatever events are named. */
static void check_fixed(unsigned int slot)
{
	for (unsigned int bitmap = 0; bitmap < 8; bitmap++) {
		bool named = bitmap >> (slot - FIXED) & 1;

		for (unsigned int events = 0; events < 2; events++) {
			begin_filter(ALLOW, 0);
			filter.fixed_bitmap = bitmap;
			for (enum event event = 0; events && event < NR_CODES; event++)
				if (event_code(event) >= 0)
					add(event_code(event));
			EXPECT(set_filter(), 0);
			EXPECT(fixed_counts(slot), named);
			filter.action = DENY;
			EXPECT(set_filter(), 0);
			EXPECT(fixed_counts(slot), !named);
		}
	}
}

/* What is refused changes nothing. */
static void check_refused(void)
{
	begin_filter(DENY, 0);
	add(event_code(INSTRUCTIONS));
	EXPECT(set_filter(), 0);
	filter.action = 2;
	EXPECT(set_filter(), -22ULL);
	begin_filter(ALLOW, 2);
	EXPECT(set_filter(), -22ULL);
	begin_filter(ALLOW, 0);
	filter.nr = PMU_PORT_FILTER_MAX + 1;
	EXPECT(set_filter(), -7ULL);
	begin_filter(ALLOW, MASKED);
	add(~0ULL);
	EXPECT(set_filter(), -22ULL);
	EXPECT(counting(), 14);
	begin_filter(ALLOW, 0);
	add(~0ULL);			/* without masks taken, and matches nothing */
	add(event_code(INSTRUCTIONS) | BIT(40));
	filter.fixed_bitmap = ~0U;
	EXPECT(set_filter(), 0);
	EXPECT(counting(), 0);
}

void test_filter(void)
{
	begin("filter: allow and deny lists");
	clean();
	check_lists();
	end();
	begin("filter: denied while it counts");
	clean();
	check_running();
	end();
	begin("filter: masked entries");
	clean();
	check_masked(false);
	end();
	begin("filter: masked entries among many");
	clean();
	check_masked(true);
	end();
	if (model->fixed) {
		begin("filter: the bitmap of fixed counters");
		clean();
		for (unsigned int slot = FIXED; slot < NR_SLOTS; slot++)
			if (has_slot(slot))
				check_fixed(slot);
		end();
	}
	begin("filter: what is none");
	clean();
	check_refused();
	end();
	clean();
}
