/* SPDX-License-Identifier: GPL-2.0-only */
/* RDPMC: its numbers, and who may. */
#include "guest.h"
#include "model.h"

#define INTEL_FIXED (1U << 30)

static uint32_t index_of(unsigned int slot)
{
	return slot >= FIXED ? INTEL_FIXED | (slot - FIXED) : slot;
}

static void check_values(void)
{
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++) {
		uint64_t value = 0, start = counter_mask() - 0x1234567 - slot;

		if (!has_slot(slot))
			continue;
		set_counter(slot, start);
		EXPECT(try_rdpmc(index_of(slot), &value), 0);
		EXPECT(value, start);
		program(slot, usual_event(slot), ON_KERNEL);
		run(usual_event(slot), 0x1111);
		EXPECT(try_rdpmc(index_of(slot), &value), 0);
		EXPECT(value, start + 0x1111);
		EXPECT(value, counter(slot));
		program(slot, 0, 0);
	}
}

static void check_invalid(void)
{
	const uint32_t intel[] = {
		model->nr, model->nr + 1, 16, 64, INTEL_FIXED | count_bits(model->fixed),
		INTEL_FIXED | 16, 1U << 31, 1U << 31 | 1, 1U << 31 | INTEL_FIXED, 1U << 29, ~0U };
	const uint32_t amd[] = { model->nr, 10, 16, 27, 64, INTEL_FIXED, 1U << 31, ~0U };
	const uint32_t *list = model->intel ? intel : amd;
	unsigned int nr = model->intel ? ARRAY_SIZE(intel) : ARRAY_SIZE(amd);

	for (unsigned int i = 0; i < nr; i++) {
		uint64_t value = 0;

		EXPECT(try_rdpmc(list[i], &value), GP);
		EXPECT(value, 0);
	}
	for (unsigned int slot = 0; slot < model->nr; slot++) {
		uint64_t value = 0;

		EXPECT(try_rdpmc(slot | 1U << 31, &value), GP);	/* "fast" was Pentium 4's */
	}
}

static unsigned int user_fault, user_fault_invalid;
static uint64_t user_value;

static void read_in_ring3(void)
{
	uint64_t value;

	user_fault = try_rdpmc(0, &user_value);
	user_fault_invalid = try_rdpmc(model->nr, &value);
}

static void check_ring3(void)
{
	set_counter(0, 0x1234);
	set_pce(false);
	in_ring3(read_in_ring3);
	EXPECT(user_fault, GP);
	EXPECT(user_fault_invalid, GP);
	set_pce(true);
	in_ring3(read_in_ring3);
	EXPECT(user_fault, 0);
	EXPECT(user_value, 0x1234);
	EXPECT(user_fault_invalid, GP);
	set_pce(false);
	in_ring3(read_in_ring3);
	EXPECT(user_fault, GP);
	EXPECT(try_rdpmc(0, &user_value), 0);
}

void test_rdpmc(void)
{
	begin("RDPMC of each counter");
	clean();
	check_values();
	end();
	begin("RDPMC of what there is not");
	clean();
	check_invalid();
	end();
	begin("RDPMC in ring 3, by CR4.PCE");
	clean();
	check_ring3();
	end();
}
