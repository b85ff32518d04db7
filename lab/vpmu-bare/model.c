/* SPDX-License-Identifier: GPL-2.0-only */
/* The models and the accesses that depend on them. */
#include "model.h"

#include "guest.h"

#define NO_WIDE_WRITES 0x7fffffffULL	/* the largest positive number of 32 bits */

static const struct model models[] = {
	{ "intel-v1", true, 1, 2, 40, 0, 0x7f, false },
	{ "intel-v2", true, 2, 4, 48, 7, 0x7f, false },
	{ "intel-v3", true, 3, 4, 48, 7, 0x7f, false },
	{ "intel-v4", true, 4, 4, 48, 7, 0x7f, false },
	{ "intel-v5", true, 5, 8, 48, 15, 0xff, false },
	{ "amd-k7", false, 0, 4, 48, 0, 0, true },
	{ "amd-core", false, 0, 6, 48, 0, 0, false },
	{ "amd-v2", false, 2, 6, 48, 0, 0, false },
};

const struct model *model;
static struct model chosen;

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* What the VMM leaves out because time cannot tell it, CPUID says. */
static void leave_to_time(struct model *self)
{
	uint32_t regs[4];

	if (!self->intel)
		return;
	cpuid(0xa, 0, regs);
	self->events &= ~regs[1] & (BIT(regs[0] >> 24) - 1);
	if (self->version >= 5)
		self->fixed &= regs[2];
}

bool model_choose(const char *name, bool time)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(models); i++) {
		if (!same(models[i].name, name))
			continue;
		chosen = models[i];
		if (time)
			leave_to_time(&chosen);
		model = &chosen;
	}
	return model;
}

bool has_global(void)
{
	return model && model->version >= 2;
}

bool has_full_width(void)
{
	return model->intel && model->version >= 2;
}

bool has_any_thread(void)
{
	return model->intel && (model->version == 3 || model->version == 4);
}

uint64_t all_slots(void)
{
	return (BIT(model->nr) - 1) | (uint64_t)model->fixed << FIXED;
}

uint64_t counter_mask(void)
{
	return BIT(model->width) - 1;
}

bool has_slot(unsigned int slot)
{
	return all_slots() >> slot & 1;
}

uint32_t select_msr(unsigned int n)
{
	if (model->intel)
		return PERFEVTSEL + n;
	return model->k7 ? K7_SELECT + n : CORE_SELECT + 2 * n;
}

uint32_t counter_msr(unsigned int slot)
{
	if (slot >= FIXED)
		return FIXED_CTR + slot - FIXED;
	if (model->intel)
		return (has_full_width() ? A_PMC : PMC) + slot;
	return model->k7 ? K7_COUNTER + slot : CORE_SELECT + 2 * slot + 1;
}

uint32_t status_msr(void)
{
	return model->intel ? GLOBAL_STATUS : V2_STATUS;
}

uint32_t control_msr(void)
{
	return model->intel ? GLOBAL_CTRL : V2_CTRL;
}

uint32_t clear_msr(void)
{
	return model->intel ? STATUS_RESET : V2_CLEAR;
}

int event_code(enum event event)
{
	static const int intel[NR_CODES] = {
		0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5, 0x01a4 };
	static const int amd[NR_CODES] = { 0x76, 0xc0, -1, -1, -1, 0xc2, 0xc3, -1 };

	if (event >= NR_CODES || (model->intel && !(model->events >> event & 1)))
		return -1;
	return model->intel ? intel[event] : amd[event];
}

enum event fixed_event(unsigned int slot)
{
	static const enum event events[] = { INSTRUCTIONS, CYCLES, REF_TSC, SLOTS };

	return events[slot - FIXED];
}

enum event usual_event(unsigned int slot)
{
	return slot >= FIXED ? fixed_event(slot) : INSTRUCTIONS;
}

uint64_t rd(uint32_t msr)
{
	uint64_t value;

	if (try_rdmsr(msr, &value))
		bail_out("no RDMSR of", msr, 0);
	return value;
}

void wr(uint32_t msr, uint64_t value)
{
	if (try_wrmsr(msr, value))
		bail_out("no WRMSR of", msr, value);
}

uint64_t read_status(void)
{
	return has_global() ? rd(status_msr()) : 0;
}

uint64_t counter(unsigned int slot)
{
	return rd(counter_msr(slot));
}

static void set_fixed(unsigned int slot, unsigned int on)
{
	unsigned int shift = (slot - FIXED) * 4;
	uint64_t bits = (on & ON_KERNEL ? 1 : 0) | (on & ON_USER ? 2 : 0) | (on & ON_PMI ? 8 : 0);

	wr(FIXED_CTRL, (rd(FIXED_CTRL) & ~(15ULL << shift)) | bits << shift);
}

void program(unsigned int slot, enum event event, unsigned int on)
{
	if (slot >= FIXED) {
		set_fixed(slot, on);
		return;
	}
	wr(select_msr(slot), !on ? 0 : event_code(event) | SEL_ENABLE |
	   (on & ON_USER ? SEL_USER : 0) | (on & ON_KERNEL ? SEL_KERNEL : 0) |
	   (on & ON_PMI ? SEL_PMI : 0));
}

/* A register of 32 bits: what is missing is counted. */
static void reach(unsigned int slot, uint64_t value)
{
	wr(counter_msr(slot), NO_WIDE_WRITES);
	program(slot, INSTRUCTIONS, ON_KERNEL);
	run(INSTRUCTIONS, value - NO_WIDE_WRITES);
	program(slot, INSTRUCTIONS, 0);
}

void set_counter(unsigned int slot, uint64_t value)
{
	bool wide = !model->intel || has_full_width() || slot >= FIXED;

	if (wide || value <= NO_WIDE_WRITES || value > counter_mask() - NO_WIDE_WRITES - 1)
		wr(counter_msr(slot), value);
	else
		reach(slot, value);
}

static void forget_interrupts(void)
{
	struct cpu *cpu = this_cpu();

	cpu->nmis = cpu->vectors = cpu->others = 0;
	for (unsigned int i = 0; i < PMI_LOG; i++)
		cpu->pmi_status[i] = 0;
}

void clean(void)
{
	ask(PMU_COMMAND_FILTER, 0, 0, 0);
	ask(PMU_COMMAND_COUNTERS, NR_SLOTS, 0, 0);
	for (unsigned int i = 0; i < model->nr; i++)
		wr(select_msr(i), 0);
	if (model->fixed)
		wr(FIXED_CTRL, 0);
	for (unsigned int slot = 0; slot < NR_SLOTS; slot++)
		if (has_slot(slot))
			wr(counter_msr(slot), 0);
	if (has_global()) {
		wr(clear_msr(), read_status());
		wr(control_msr(), all_slots());
	}
	set_lvtpc(LVT_NMI);
	forget_interrupts();
}

void run(enum event event, uint64_t n)
{
	ask(PMU_COMMAND_RUN, event, 0, n);
}

void run_raw(uint64_t raw, uint64_t n)
{
	ask(PMU_COMMAND_RUN, RAW, raw, n);
}

uint64_t statistic(enum stat which)
{
	return ask(PMU_COMMAND_STATS, which, 0, 0);
}
