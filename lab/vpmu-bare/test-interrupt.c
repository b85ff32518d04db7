/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMI: one for what overflows in a stay, by the way that LVTPC says (SDM vol. 3, "Local Vector
 * Table"; APM vol. 2, "Performance Monitor Counter Interrupts").
 */
#include "guest.h"
#include "model.h"

/* The counter is one event before its overflow. */
static void arm(unsigned int slot, unsigned int on)
{
	set_counter(slot, counter_mask());
	program(slot, usual_event(slot), on);
}

static void overflow(unsigned int slot)
{
	arm(slot, ON_KERNEL | ON_PMI);
	run(usual_event(slot), 1);
}

static void check_each(void)
{
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++) {
		if (!has_slot(slot))
			continue;
		overflow(slot);
		EXPECT(this_cpu()->nmis, 1);
		EXPECT(this_cpu()->pmi_status[0], has_global() ? BIT(slot) : 0);
		EXPECT(this_cpu()->pmi_ring, 0);
		clean();
		arm(slot, ON_KERNEL);
		run(usual_event(slot), 1);
		EXPECT(counter(slot), 0);
		EXPECT(read_status(), has_global() ? BIT(slot) : 0);
		EXPECT(this_cpu()->nmis, 0);
		clean();
	}
	EXPECT(this_cpu()->vectors + this_cpu()->others, 0);
}

static void check_vector(void)
{
	set_lvtpc(PMI_VECTOR);
	set_interrupts(true);
	for (unsigned int i = 1; i <= 5; i++) {
		overflow(0);
		EXPECT(this_cpu()->vectors, i);
	}
	set_interrupts(false);
	EXPECT(this_cpu()->nmis + this_cpu()->others, 0);
}

/* As any interrupt that cannot be taken yet: it waits, and is one. */
static void check_waiting(void)
{
	set_lvtpc(PMI_VECTOR);
	overflow(0);
	overflow(1);
	EXPECT(pmis(), 0);
	set_interrupts(true);
	set_interrupts(false);
	EXPECT(this_cpu()->vectors, 1);
	overflow(0);
	set_interrupts(true);
	set_interrupts(false);
	EXPECT(this_cpu()->vectors, 2);
	EXPECT(this_cpu()->nmis + this_cpu()->others, 0);
}

static void check_masked(void)
{
	uint64_t masked = statistic(STAT_MASKED);

	set_lvtpc(LVT_MASKED | LVT_NMI);
	overflow(0);
	set_lvtpc(LVT_MASKED | PMI_VECTOR);
	overflow(1);
	EXPECT(statistic(STAT_MASKED) - masked, 2);
	EXPECT(read_status(), has_global() ? 3 : 0);
	set_lvtpc(LVT_NMI);
	run(INSTRUCTIONS, 1);
	set_interrupts(true);
	set_interrupts(false);
	EXPECT(pmis(), 0);
	overflow(0);
	EXPECT(this_cpu()->nmis, 1);
}

/* Vectors below 16 are none; a PMI cannot be INIT. */
static void check_invalid(void)
{
	uint64_t invalid = statistic(STAT_INVALID);

	set_lvtpc(0xf);
	overflow(0);
	set_lvtpc(0x500);
	overflow(0);
	EXPECT(statistic(STAT_INVALID) - invalid, 2);
	EXPECT(pmis(), 0);
	set_lvtpc(LVT_NMI);
	run(INSTRUCTIONS, 1);
	EXPECT(pmis(), 0);
}

static void check_together(void)
{
	unsigned int nr = 0;

	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot) && usual_event(slot) == INSTRUCTIONS) {
			arm(slot, ON_KERNEL | ON_PMI);
			nr++;
		}
	EXPECT(nr >= 2, true);
	run(INSTRUCTIONS, 1);
	EXPECT(this_cpu()->nmis, 1);
	if (has_global())
		EXPECT(count_bits(this_cpu()->pmi_status[0]), nr);
	run(INSTRUCTIONS, 1);
	EXPECT(this_cpu()->nmis, 1);
}

static void check_order(void)
{
	unsigned int last = model->nr - 1;

	set_counter(0, counter_mask() - 1);
	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	set_counter(1, counter_mask() - 2);
	program(1, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	set_counter(last, counter_mask());
	program(last, last == 1 ? INSTRUCTIONS : CYCLES, ON_KERNEL | ON_PMI);
	if (last != 1)
		run(CYCLES, 1);
	for (unsigned int i = 0; i < 3; i++)
		run(INSTRUCTIONS, 1);
	EXPECT(this_cpu()->nmis, last == 1 ? 2 : 3);
	if (!has_global())
		return;
	EXPECT(this_cpu()->pmi_status[0], BIT(last));
	EXPECT(this_cpu()->pmi_status[1], BIT(last) | 1);
	EXPECT(this_cpu()->pmi_status[2], BIT(last) | 3);
}

/* Some stays overflow, most do not, one in seven twice; the counter goes on by itself. */
static void check_hundreds(void)
{
	uint64_t value = counter_mask() - 50, want = 0, delivered = statistic(STAT_DELIVERED);

	program(0, INSTRUCTIONS, ON_KERNEL | ON_PMI);
	set_counter(0, value);
	for (unsigned int i = 0; i < 400; i++) {
		uint64_t n = 1 + i * 7919 % 97;

		if (value < BIT(32)) {
			value = counter_mask() - i % 150;
			set_counter(0, value);
		}
		run(INSTRUCTIONS, n);
		value += n;
		want += value >> model->width;
		value &= counter_mask();
		EXPECT(this_cpu()->nmis, want);
	}
	EXPECT(counter(0), value);
	EXPECT(want > 100, true);
	EXPECT(statistic(STAT_DELIVERED) - delivered, want);
}

/* Intel's local APIC masks the PMI as it delivers one. */
static void check_masks_itself(void)
{
	set_lvtpc(LVT_NMI);
	this_cpu()->lvtpc = 0;		/* the handler lets it be */
	overflow(0);
	EXPECT(this_cpu()->nmis, 1);
	EXPECT(get_lvtpc(), model->intel ? LVT_NMI | LVT_MASKED : LVT_NMI);
	overflow(0);
	EXPECT(this_cpu()->nmis, model->intel ? 1 : 2);
	set_lvtpc(LVT_NMI);
	EXPECT(this_cpu()->nmis, model->intel ? 1 : 2);
	overflow(0);
	EXPECT(this_cpu()->nmis, model->intel ? 2 : 3);
}

static void run_user(void)
{
	run(INSTRUCTIONS, 1);
}

static void check_ring3(void)
{
	arm(0, ON_USER | ON_PMI);
	run(INSTRUCTIONS, 1);
	EXPECT(pmis(), 0);
	in_ring3(run_user);
	EXPECT(this_cpu()->nmis, 1);
	EXPECT(this_cpu()->pmi_ring, 3);
}

static void point(const char *name, void (*check)(void))
{
	begin(name);
	clean();
	check();
	end();
}

void test_interrupt(void)
{
	point("an NMI by each counter's overflow, none without its bit", check_each);
	point("a vector", check_vector);
	point("a vector waits until interrupts are on", check_waiting);
	point("none while LVTPC is masked, nor behind it", check_masked);
	point("none by what LVTPC cannot mean", check_invalid);
	point("one when several overflow together", check_together);
	point("in the order of the overflows", check_order);
	point("one for each of many overflows", check_hundreds);
	if (has_x2apic())
		point("LVTPC's mask after delivery", check_masks_itself);
	else
		skip_point("LVTPC's mask after delivery", "no x2APIC");
	point("in ring 3", check_ring3);
	clean();
}
