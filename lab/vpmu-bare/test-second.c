/* SPDX-License-Identifier: GPL-2.0-only */
/* A second processor has a PMU of its own. */
#include "guest.h"
#include "model.h"

static uint64_t second_counter, second_reset, second_id;
static unsigned int second_pmis;

static void read_second(void)
{
	second_id = this_cpu()->id;
	second_reset = rd(select_msr(0)) | counter(0) | read_status();
}

static void count_second(void)
{
	clean();
	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	set_counter(0, counter_mask() - 9);
	for (unsigned int i = 0; i < 20; i++)
		run(INSTRUCTIONS, 1);
	second_counter = counter(0);
	second_pmis = pmis();
}

static void vector_second(void)
{
	clean();
	set_lvtpc(PMI_VECTOR);
	set_interrupts(true);
	set_counter(0, counter_mask());
	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	run(INSTRUCTIONS, 1);
	set_interrupts(false);
	second_pmis = this_cpu()->vectors;
	clean();
}

static void reread_second(void)
{
	second_counter = counter(0);
	second_pmis = pmis();
}

static void check(void)
{
	set_counter(0, 0x77);
	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	on_second(read_second);
	EXPECT(second_id, 1);
	EXPECT(second_reset, 0);
	on_second(count_second);
	EXPECT(second_counter, 10);
	EXPECT(second_pmis, 1);
	EXPECT(counter(0), 0x77);
	EXPECT(pmis(), 0);
	set_counter(0, counter_mask());
	run(INSTRUCTIONS, 5);
	EXPECT(counter(0), 4);
	EXPECT(pmis(), 1);
	on_second(reread_second);
	EXPECT(second_counter, 10);
	EXPECT(second_pmis, 1);
	on_second(vector_second);
	EXPECT(second_pmis, 1);
	EXPECT(pmis(), 1);
}

static void nothing(void)
{
}

static void fill_second(void)
{
	set_counter(0, counter_mask() - 0x55);
	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	second_reset = rd(select_msr(0));
}

static void read_again(void)
{
	second_counter = counter(0);
	EXPECT(rd(select_msr(0)), second_reset);
	if (has_global())
		EXPECT(rd(control_msr()), all_slots());
	set_lvtpc(LVT_NMI);
	run(INSTRUCTIONS, 0x56);
	second_pmis = pmis();
	clean();
}

/* SDM vol. 3, "Processor State After Reset": INIT leaves performance counters as they are. */
static void check_init(void)
{
	on_second(clean);
	on_second(fill_second);
	restart_second();
	on_second(read_again);
	EXPECT(second_counter, counter_mask() - 0x55);
	EXPECT(second_pmis, 1);
}

void test_second(void)
{
	if (!on_second(nothing)) {
		skip_point("a second processor counts for itself", "there is none");
		return;
	}
	begin("a second processor counts for itself");
	clean();
	check();
	end();
	clean();
	begin("INIT leaves the PMU as it is");
	check_init();
	end();
}
