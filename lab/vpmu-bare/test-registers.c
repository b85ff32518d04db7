/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUID and the registers: which there are, what they reset to, which bits they take. Intel: SDM
 * vol. 3, "Performance Monitoring", and vol. 4; a reserved bit is #GP. AMD: APM vol. 2,
 * "Performance Monitoring Counters", and the PPRs, by which it is ignored.
 */
#include "guest.h"
#include "model.h"

static bool freezes(void)
{
	return has_global();
}

static void check_perfmon_leaf(void)
{
	unsigned int nr_events = model->events >> 7 ? 8 : 7;
	/* In EDX those from the first one on without a gap; all are in ECX. */
	unsigned int nr_fixed = __builtin_ctz(~model->fixed);
	uint32_t regs[4];

	cpuid(0, 0, regs);
	EXPECT(regs[0] >= 0xa, true);
	cpuid(0xa, 0, regs);
	EXPECT(regs[0], model->version | model->nr << 8 | model->width << 16 | nr_events << 24);
	EXPECT(regs[1], ~model->events & (BIT(nr_events) - 1));
	EXPECT(regs[2], model->version >= 5 ? model->fixed : 0);
	EXPECT(regs[3], nr_fixed | (model->fixed ? model->width << 5 : 0) |
	       (model->version >= 5 ? 1 << 15 : 0));
	cpuid(1, 0, regs);
	EXPECT(regs[2] >> 15 & 1, has_full_width());
}

static void check_amd_leaves(void)
{
	uint32_t regs[4], last;

	cpuid(0xa, 0, regs);
	EXPECT(regs[0], 0);
	cpuid(0x80000001, 0, regs);
	EXPECT(regs[2] >> 23 & 1, !model->k7);
	EXPECT(regs[2] & (1 << 10 | 1 << 24 | 1 << 28), 0);	/* IBS, northbridge, cache */
	cpuid(0x80000000, 0, regs);
	last = regs[0];
	EXPECT(has_global() && last < 0x80000022, false);
	if (last < 0x80000022)
		return;
	cpuid(0x80000022, 0, regs);
	EXPECT(regs[0], has_global() ? 1 | 1 << 2 : 0);
	EXPECT(regs[1] & 15, has_global() ? model->nr : 0);
	cpuid(1, 0, regs);
	EXPECT(regs[2] >> 15 & 1, 0);
}

void test_cpuid(void)
{
	uint32_t regs[4];

	begin("CPUID says what there is");
	if (model->intel)
		check_perfmon_leaf();
	else
		check_amd_leaves();
	cpuid(1, 0, regs);
	EXPECT(regs[2] & (1 << 2 | 1 << 4), 0);		/* DTES64, DS_CPL */
	EXPECT(regs[3] >> 21 & 1, 0);			/* DS */
	end();
}

static void check_reset(void)
{
	begin("reset values");
	for (unsigned int i = 0; i < model->nr; i++)
		EXPECT(rd(select_msr(i)), 0);
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			EXPECT(counter(slot), 0);
	if (model->fixed)
		EXPECT(rd(FIXED_CTRL), 0);
	if (has_global()) {
		EXPECT(read_status(), 0);
		EXPECT(rd(control_msr()), BIT(model->nr) - 1);
	}
	if (freezes())
		EXPECT(rd(DEBUGCTL), 0);
	end();
}

/* Each bit alone: #GP on Intel, or ignored, where it is not among @valid. */
static void check_bits(uint32_t msr, uint64_t valid)
{
	for (unsigned int bit = 0; bit < 64; bit++) {
		bool reserved = !(valid >> bit & 1);
		unsigned int fault = try_wrmsr(msr, BIT(bit));

		EXPECT(fault, model->intel && reserved ? GP : 0);
		if (!fault)
			EXPECT(rd(msr), BIT(bit) & valid);
	}
	wr(msr, 0);
}

static void check_selects(void)
{
	uint64_t valid = model->intel ? 0xffffffff & ~(has_any_thread() ? 0 : SEL_ANY) :
					0xfffd7ffff;

	begin("event selects: reserved bits");
	for (unsigned int i = 0; i < model->nr; i++)
		check_bits(select_msr(i), valid);
	end();
}

/* A register of 32 bits fills the counter with bit 31; the bits above are not looked at. */
static void check_narrow(unsigned int n)
{
	for (unsigned int bit = 0; bit < 64; bit++) {
		uint64_t want = bit < 31 ? BIT(bit) : 0;

		if (bit == 31)
			want = counter_mask() & ~0x7fffffffULL;
		wr(PMC + n, BIT(bit));
		EXPECT(rd(PMC + n), want);
	}
	wr(PMC + n, 0xff0123456789);
	EXPECT(rd(PMC + n), 0x23456789);
	wr(PMC + n, 0xdeadbeef);
	EXPECT(rd(PMC + n), counter_mask() & 0xffffffffdeadbeef);
	wr(PMC + n, 0);
}

static void check_counters(void)
{
	begin("counters: width, and writes of 32 bits");
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot) && (slot >= FIXED || !model->intel || has_full_width()))
			check_bits(counter_msr(slot), counter_mask());
	for (unsigned int i = 0; model->intel && i < model->nr; i++)
		check_narrow(i);
	end();
}

static void check_full_width(void)
{
	uint64_t value = 0xffffff0123456789;

	begin("writes of full width");
	EXPECT(rd(CAPABILITIES), BIT(13));
	EXPECT(try_wrmsr(CAPABILITIES, BIT(13)), GP);
	for (unsigned int i = 0; i < model->nr; i++) {
		EXPECT(try_wrmsr(A_PMC + i, value), GP);
		wr(A_PMC + i, value & counter_mask());
		EXPECT(rd(A_PMC + i), value & counter_mask());
		EXPECT(rd(PMC + i), value & counter_mask());
		wr(PMC + i, 0x80000000);
		EXPECT(rd(A_PMC + i), counter_mask() & ~0x7fffffffULL);
		wr(PMC + i, 0);
	}
	end();
}

static void check_aliases(void)
{
	begin("the first four counters at both places");
	for (unsigned int i = 0; i < 4; i++) {
		wr(K7_SELECT + i, 0x1234 + i);
		EXPECT(rd(CORE_SELECT + 2 * i), 0x1234 + i);
		wr(CORE_SELECT + 2 * i, 0x4321 + i);
		EXPECT(rd(K7_SELECT + i), 0x4321 + i);
		wr(K7_COUNTER + i, 0xabcdef012340 + i);
		EXPECT(rd(CORE_SELECT + 2 * i + 1), 0xabcdef012340 + i);
		wr(CORE_SELECT + 2 * i + 1, 0xfedcba987650 + i);
		EXPECT(rd(K7_COUNTER + i), 0xfedcba987650 + i);
	}
	EXPECT(rd(CORE_SELECT + 8) | rd(CORE_SELECT + 10), 0);
	end();
}

static uint64_t fixed_valid(void)
{
	uint64_t valid = 0;

	for (unsigned int i = 0; i < 16; i++)
		if (model->fixed >> i & 1)
			valid |= (has_any_thread() ? 15ULL : 11ULL) << 4 * i;
	return valid;
}

static void check_controls(void)
{
	begin("control registers: reserved bits");
	if (model->fixed)
		check_bits(FIXED_CTRL, fixed_valid());
	check_bits(control_msr(), all_slots());
	EXPECT(try_wrmsr(control_msr(), ~0ULL), model->intel ? GP : 0);
	EXPECT(rd(control_msr()), model->intel ? 0 : all_slots());
	end();
}

static void check_status_read_only(void)
{
	begin("the global status is for reading only");
	EXPECT(try_wrmsr(status_msr(), 0), model->intel ? GP : 0);
	EXPECT(try_wrmsr(status_msr(), 1), model->intel ? GP : 0);
	EXPECT(read_status(), 0);
	end();
}

/* From version 4 on freezing has a bit. */
static uint64_t status_valid(void)
{
	bool frozen = !model->intel || model->version >= 4;

	return all_slots() | (frozen ? FROZEN : 0) | (model->intel ? BUFFER | CHANGED : 0);
}

static void check_clear_bits(void)
{
	begin("what clears the status: reserved bits");
	for (unsigned int bit = 0; bit < 64; bit++)
		EXPECT(try_wrmsr(clear_msr(), BIT(bit)),
		       model->intel && !(status_valid() >> bit & 1) ? GP : 0);
	EXPECT(rd(clear_msr()), 0);
	end();
}

/* SDM vol. 4, 391H: CondChgd cannot be set, its bit is reserved. */
static void check_set_bits(void)
{
	uint32_t msr = model->intel ? STATUS_SET : V2_SET;
	uint64_t valid = status_valid() & ~CHANGED;

	begin("what sets the status: its bits, and each cleared again");
	for (unsigned int bit = 0; bit < 64; bit++) {
		EXPECT(try_wrmsr(msr, BIT(bit)), model->intel && !(valid >> bit & 1) ? GP : 0);
		EXPECT(read_status(), BIT(bit) & valid);
		if (valid >> bit & 1)
			wr(clear_msr(), BIT(bit));
		EXPECT(read_status(), 0);
	}
	wr(msr, all_slots());
	wr(clear_msr(), 1);
	EXPECT(read_status(), all_slots() & ~1ULL);
	EXPECT(rd(msr), 0);
	EXPECT(pmis(), 0);
	end();
}

static void check_in_use(void)
{
	begin("IA32_PERF_GLOBAL_INUSE");
	EXPECT(rd(INUSE), 0);
	EXPECT(try_wrmsr(INUSE, 0), GP);
	wr(PERFEVTSEL + 1, 0xc0);
	EXPECT(rd(INUSE), BIT(1));
	wr(PERFEVTSEL + 1, SEL_PMI);
	EXPECT(rd(INUSE), BIT(63));
	wr(PERFEVTSEL + 1, 0);
	wr(FIXED_CTRL, 0x10);
	EXPECT(rd(INUSE), BIT(33));
	wr(FIXED_CTRL, 0x80);
	EXPECT(rd(INUSE), BIT(63));
	wr(FIXED_CTRL, 0);
	EXPECT(rd(INUSE), 0);
	end();
}

static void check_debugctl(void)
{
	begin("DEBUGCTL has the bit that freezes, and that alone");
	for (unsigned int bit = 0; bit < 64; bit++) {
		EXPECT(try_wrmsr(DEBUGCTL, BIT(bit)), bit == 12 ? 0 : GP);
		EXPECT(rd(DEBUGCTL), bit < 12 ? 0 : FREEZE_ON_PMI);
	}
	wr(DEBUGCTL, 0);
	end();
}

static void is_absent(uint32_t msr)
{
	unsigned int read, write;
	uint64_t value;

	read = try_rdmsr(msr, &value);
	write = try_wrmsr(msr, 0);
	if (read != GP || write != GP || try_wrmsr(msr, 1) != GP)
		expect(msr, 0, "an absent register that does not fault", __LINE__);
}

static void are_absent(uint32_t first, uint32_t last)
{
	for (uint32_t msr = first; msr <= last; msr++)
		is_absent(msr);
}

static void intel_absent(void)
{
	are_absent(PMC + model->nr, PMC + 8);
	are_absent(PERFEVTSEL + model->nr, PERFEVTSEL + 8);
	for (unsigned int i = 0; i < 8; i++)
		if (!(model->fixed >> i & 1))
			is_absent(FIXED_CTR + i);
	are_absent(A_PMC + (has_full_width() ? model->nr : 0), A_PMC + 8);
	if (model->version < 2) {
		is_absent(CAPABILITIES);
		are_absent(FIXED_CTRL, INUSE);
	} else if (model->version < 4) {
		are_absent(STATUS_SET, INUSE);
	}
	is_absent(0x3f1);			/* PEBS */
	are_absent(K7_SELECT, K7_COUNTER + 3);
	are_absent(CORE_SELECT, CORE_SELECT + 11);
	are_absent(V2_STATUS, V2_SET);
}

static void amd_absent(void)
{
	are_absent(PMC, PMC + 1);
	are_absent(PERFEVTSEL, PERFEVTSEL + 1);
	are_absent(FIXED_CTR, FIXED_CTR + 3);
	is_absent(CAPABILITIES);
	are_absent(FIXED_CTRL, INUSE);
	are_absent(A_PMC, A_PMC + 7);
	are_absent(CORE_SELECT + (model->k7 ? 0 : 2 * model->nr), CORE_SELECT + 31);
	if (!has_global())
		are_absent(V2_STATUS, V2_SET);
	are_absent(0xc0010230, 0xc001023b);	/* cache */
	are_absent(0xc0010240, 0xc0010247);	/* northbridge */
	is_absent(0xc0011030);			/* IBS */
}

static void check_absent(void)
{
	begin("registers of other models fault");
	if (model->intel)
		intel_absent();
	else
		amd_absent();
	end();
}

void test_registers(void)
{
	check_reset();
	clean();
	check_selects();
	check_counters();
	if (has_full_width())
		check_full_width();
	if (!model->intel && !model->k7)
		check_aliases();
	clean();
	if (has_global()) {
		check_controls();
		clean();
		check_status_read_only();
		check_clear_bits();
		if (!model->intel || model->version >= 4)
			check_set_bits();
		if (model->intel && model->version >= 4)
			check_in_use();
		check_debugctl();
	}
	check_absent();
}
