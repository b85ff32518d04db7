/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AMD's core performance counters: APM vol. 2, "Performance Monitoring Counters". Writes of
 * reserved bits and of read-only registers are ignored, not faults, as KVM has it by the PPRs.
 */
#include "vpmu/counter.h"
#include "vpmu/vpmu-private.h"

#define MSR_K7_COUNTER 0xc0010004
#define NR_CORE 6
#define MSR_CORE 0xc0010200	/* select 0, counter 0, select 1, … */
#define MSR_STATUS 0xc0000300
#define MSR_CONTROL 0xc0000301
#define MSR_STATUS_CLEAR 0xc0000302
#define MSR_STATUS_SET 0xc0000303

/* Guest-only and host-only (41:40) are for processors that have SVM of their own. */
#define SELECT_VALID 0x0000000fffd7ffffULL

static const struct vpmu_geometry *geometry_of(const struct vpmu *vpmu)
{
	return &vpmu->vm->options.geometry;
}

/* The counter whose register @msr is; -1: it is none's. */
static int register_slot(const struct vpmu *vpmu, uint32_t msr, bool *ret_select)
{
	const struct vpmu_geometry *geometry = geometry_of(vpmu);

	*ret_select = msr - MSR_K7_SELECT < NR_K7;
	if (*ret_select)
		return msr - MSR_K7_SELECT;
	if (msr - MSR_K7_COUNTER < NR_K7)
		return msr - MSR_K7_COUNTER;
	if (geometry->model == VPMU_AMD_K7 || msr - MSR_CORE >= 2 * geometry->nr_gp)
		return -1;
	*ret_select = !((msr - MSR_CORE) & 1);
	return (msr - MSR_CORE) / 2;
}

static bool is_global(const struct vpmu *vpmu, uint32_t msr)
{
	return has_global(geometry_of(vpmu)) && msr >= MSR_STATUS && msr <= MSR_STATUS_SET;
}

static uint64_t status_valid(const struct vpmu_vm *vm)
{
	return vm->slots | (vm->options.geometry.flags & VPMU_DEBUGCTL ? STATUS_FROZEN : 0);
}

static void bits(const struct vpmu_vm *vm, struct register_bits *ret)
{
	bool global = has_global(&vm->options.geometry);

	*ret = (struct register_bits){
		.select = SELECT_VALID,
		.global_control = global ? vm->slots : 0,
		.global_status = global ? status_valid(vm) : 0,
	};
}

static enum vpmu_access read_register(const struct vpmu *vpmu, uint32_t msr, uint64_t *ret)
{
	bool select;
	int slot = register_slot(vpmu, msr, &select);

	if (slot >= 0)
		*ret = select ? vpmu->slots[slot].select : vpmu->slots[slot].value;
	else if (!is_global(vpmu, msr))
		return VPMU_UNKNOWN;
	else if (msr == MSR_STATUS)
		*ret = vpmu->global_status;
	else
		*ret = msr == MSR_CONTROL ? vpmu->global_control : 0;
	return VPMU_OK;
}

static void write_global(struct vpmu *vpmu, uint32_t msr, uint64_t value)
{
	switch (msr) {
	case MSR_CONTROL:
		vpmu_set_global_control(vpmu, value & vpmu->vm->slots);
		break;
	case MSR_STATUS_CLEAR:
		vpmu_set_status(vpmu, vpmu->global_status & ~value);
		break;
	case MSR_STATUS_SET:
		vpmu_set_status(vpmu, vpmu->global_status | (value & status_valid(vpmu->vm)));
		break;
	}
}

static enum vpmu_access write_register(struct vpmu *vpmu, uint32_t msr, uint64_t value)
{
	bool select;
	int slot = register_slot(vpmu, msr, &select);

	if (slot >= 0 && select)
		vpmu_set_select(vpmu, slot, value & SELECT_VALID);
	else if (slot >= 0)
		vpmu_set_counter(vpmu, slot, value);
	else if (is_global(vpmu, msr))
		write_global(vpmu, msr, value);
	else
		return VPMU_UNKNOWN;
	return VPMU_OK;
}

/* Northbridge and cache counters, which follow, are absent. */
static int rdpmc(const struct vpmu_vm *vm, uint32_t ecx)
{
	return ecx < vm->options.geometry.nr_gp ? (int)ecx : -1;
}

static bool describe(const struct vpmu *vpmu, unsigned int slot, struct vpmu_event *ret)
{
	uint64_t select = vpmu->slots[slot].select;

	event_from_select(VPMU_AMD, select, 0, slot, ret);
	return (select & SELECT_ENABLE) && (ret->user || ret->kernel);
}

static bool interrupts(const struct vpmu *vpmu, unsigned int slot)
{
	return vpmu->slots[slot].select & SELECT_INT;
}

static void freeze(struct vpmu *vpmu)
{
	vpmu_set_status(vpmu, vpmu->global_status | STATUS_FROZEN);
}

static int check(const struct vpmu_geometry *geometry)
{
	bool v2 = geometry->model == VPMU_AMD_V2;
	unsigned int nr = geometry->nr_gp;

	if (geometry->gp_width != 48 || geometry->fixed_mask || geometry->arch_events ||
	    (geometry->flags & ~(v2 ? VPMU_DEBUGCTL : 0)))
		return -EINVAL;
	if (geometry->model == VPMU_AMD_K7 ? nr != NR_K7 : nr < NR_CORE)
		return -EINVAL;
	/* CPUID has four bits for the number. */
	return nr > (v2 ? VPMU_MAX_GP - 1 : NR_CORE) ? -EINVAL : 0;
}

static unsigned int msrs(const struct vpmu_geometry *geometry,
			 struct vpmu_msr_range ranges[VPMU_MAX_RANGES])
{
	bool core = geometry->model != VPMU_AMD_K7, global = has_global(geometry);
	const struct vpmu_msr_range all[] = {
		{ MSR_K7_SELECT, 2 * NR_K7 },
		{ MSR_CORE, core ? 2 * geometry->nr_gp : 0 },
		{ MSR_STATUS, global ? MSR_STATUS_SET - MSR_STATUS + 1 : 0 },
		{ MSR_DEBUGCTL, geometry->flags & VPMU_DEBUGCTL ? 1 : 0 },
		/* Intel's first two, which KVM reads as 0 on any processor: here they fault. */
		{ MSR_PMC, 2 },
		{ MSR_SELECT, 2 },
	};

	_Static_assert(ARRAY_SIZE(all) <= VPMU_MAX_RANGES, "there is room for all");
	return keep_ranges(all, ARRAY_SIZE(all), ranges);
}

const struct model_ops model_amd = {
	.vendor = VPMU_AMD,
	.read = read_register,
	.write = write_register,
	.rdpmc = rdpmc,
	.describe = describe,
	.interrupts = interrupts,
	.freeze = freeze,
	.bits = bits,
	.check = check,
	.cpuid = cpuid_amd,
	.msrs = msrs,
};
