/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel's architectural performance monitoring, versions 1 to 5: SDM vol. 3, "Performance
 * Monitoring", and vol. 4 for the registers. What is absent (PEBS, LBR, PT, SGX, metrics) has its
 * bits reserved.
 */
#include "vpmu/counter.h"
#include "vpmu/vpmu-private.h"

#define MSR_FIXED 0x309		/* IA32_FIXED_CTRx */
#define MSR_CAPABILITIES 0x345
#define MSR_FIXED_CONTROL 0x38d
#define MSR_STATUS 0x38e
#define MSR_CONTROL 0x38f
#define MSR_STATUS_RESET 0x390	/* IA32_PERF_GLOBAL_OVF_CTRL before version 4 */
#define MSR_STATUS_SET 0x391
#define MSR_INUSE 0x392
#define MSR_A_PMC 0x4c1		/* IA32_A_PMCx */

#define CAPABILITIES_FULL_WIDTH BIT(13)
#define INUSE_PMI BIT(63)
#define FIXED_BITS 4		/* of the control register, for each counter */
#define FIXED_KERNEL 1U
#define FIXED_USER 2U
#define FIXED_ANY 4U
#define FIXED_PMI 8U
#define RDPMC_FIXED (1U << 30)
/* IA32_PMCx and IA32_PERFEVTSELx go to 9 (SDM vol. 4); CDH to CFH are other registers. */
#define MAX_GP 10
#define NR_P6 2U

static const struct vpmu_geometry *geometry_of(const struct vpmu *vpmu)
{
	return &vpmu->vm->options.geometry;
}

/* From version 3; deprecated, by CPUID.0AH:EDX[15], in version 5. */
static bool has_any(const struct vpmu_geometry *geometry)
{
	return geometry->model == VPMU_INTEL_V3 || geometry->model == VPMU_INTEL_V4;
}

static uint64_t select_valid(const struct vpmu_geometry *geometry)
{
	return 0xffffffffULL & ~(has_any(geometry) ? 0 : SELECT_ANY);
}

static uint64_t fixed_valid(const struct vpmu_geometry *geometry)
{
	uint64_t valid = 0;

	for (unsigned int i = 0; i < VPMU_MAX_FIXED; i++)
		if (geometry->fixed_mask >> i & 1)
			valid |= (uint64_t)(FIXED_KERNEL | FIXED_USER | FIXED_PMI |
					    (has_any(geometry) ? FIXED_ANY : 0))
				 << (i * FIXED_BITS);
	return valid;
}

/* CTR_Frz is new in version 4. */
static uint64_t status_valid(const struct vpmu_vm *vm)
{
	return vm->slots | STATUS_BUFFER | STATUS_CHANGED |
	       (vm->options.geometry.model >= VPMU_INTEL_V4 ? STATUS_FROZEN : 0);
}

static void bits(const struct vpmu_vm *vm, struct register_bits *ret)
{
	bool global = has_global(&vm->options.geometry);

	*ret = (struct register_bits){
		.select = select_valid(&vm->options.geometry),
		.fixed_control = fixed_valid(&vm->options.geometry),
		.global_control = global ? vm->slots : 0,
		.global_status = global ? status_valid(vm) : 0,
	};
}

static unsigned int fixed_control(const struct vpmu *vpmu, unsigned int index)
{
	return vpmu->fixed_control >> (index * FIXED_BITS) & 0xf;
}

static bool interrupts(const struct vpmu *vpmu, unsigned int slot)
{
	if (slot < VPMU_FIXED_SLOT)
		return vpmu->slots[slot].select & SELECT_INT;
	return fixed_control(vpmu, slot - VPMU_FIXED_SLOT) & FIXED_PMI;
}

static bool describe(const struct vpmu *vpmu, unsigned int slot, struct vpmu_event *ret)
{
	uint64_t select = vpmu->slots[slot].select;

	if (slot >= VPMU_FIXED_SLOT) {
		unsigned int index = slot - VPMU_FIXED_SLOT;

		event_from_fixed(index, fixed_control(vpmu, index), ret);
		return ret->user || ret->kernel;
	}
	event_from_select(VPMU_INTEL, select, geometry_of(vpmu)->arch_events, slot, ret);
	return (select & SELECT_ENABLE) && (ret->user || ret->kernel);
}

/* Bits of IA32_PERF_GLOBAL_INUSE. */
static uint64_t in_use(const struct vpmu *vpmu)
{
	uint64_t used = 0;

	FOR_EACH_SLOT(n, vpmu->vm->slots) {
		bool programmed = n < VPMU_FIXED_SLOT ?
			vpmu->slots[n].select & SELECT_EVENT :
			fixed_control(vpmu, n - VPMU_FIXED_SLOT) & (FIXED_KERNEL | FIXED_USER);

		used |= programmed ? BIT(n) : 0;
		used |= interrupts(vpmu, n) ? INUSE_PMI : 0;
	}
	return used;
}

/* The counter whose register @msr is; -1: it is none's. *@ret_full: takes all bits. */
static int counter_slot(const struct vpmu *vpmu, uint32_t msr, bool *ret_full)
{
	const struct vpmu_geometry *geometry = geometry_of(vpmu);

	*ret_full = msr >= MSR_FIXED;
	if (msr - MSR_PMC < geometry->nr_gp)
		return msr - MSR_PMC;
	if (msr - MSR_FIXED < VPMU_MAX_FIXED && (geometry->fixed_mask >> (msr - MSR_FIXED) & 1))
		return VPMU_FIXED_SLOT + msr - MSR_FIXED;
	if ((geometry->flags & VPMU_FULL_WIDTH) && msr - MSR_A_PMC < geometry->nr_gp)
		return msr - MSR_A_PMC;
	return -1;
}

static enum vpmu_access read_global(const struct vpmu *vpmu, uint32_t msr, uint64_t *ret)
{
	bool v4 = geometry_of(vpmu)->model >= VPMU_INTEL_V4;

	if (!has_global(geometry_of(vpmu)))
		return VPMU_UNKNOWN;
	switch (msr) {
	case MSR_FIXED_CONTROL:
		*ret = vpmu->fixed_control;
		return VPMU_OK;
	case MSR_STATUS:
		*ret = vpmu->global_status;
		return VPMU_OK;
	case MSR_CONTROL:
		*ret = vpmu->global_control;
		return VPMU_OK;
	case MSR_STATUS_RESET:
		*ret = 0;
		return VPMU_OK;
	case MSR_STATUS_SET:
	case MSR_INUSE:
		if (v4)
			*ret = msr == MSR_INUSE ? in_use(vpmu) : 0;
		return v4 ? VPMU_OK : VPMU_UNKNOWN;
	}
	return VPMU_UNKNOWN;
}

static enum vpmu_access read_register(const struct vpmu *vpmu, uint32_t msr, uint64_t *ret)
{
	const struct vpmu_geometry *geometry = geometry_of(vpmu);
	bool full;
	int slot = counter_slot(vpmu, msr, &full);

	if (slot >= 0) {
		*ret = vpmu->slots[slot].value;
		return VPMU_OK;
	}
	if (msr - MSR_SELECT < geometry->nr_gp) {
		*ret = vpmu->slots[msr - MSR_SELECT].select;
		return VPMU_OK;
	}
	if (msr == MSR_CAPABILITIES && (geometry->flags & VPMU_FULL_WIDTH)) {
		*ret = CAPABILITIES_FULL_WIDTH;
		return VPMU_OK;
	}
	return read_global(vpmu, msr, ret);
}

static enum vpmu_access write_fixed_control(struct vpmu *vpmu, uint64_t value)
{
	if (value & ~fixed_valid(geometry_of(vpmu)))
		return VPMU_GP;
	for (unsigned int i = 0; i < VPMU_MAX_FIXED; i++) {
		struct slot *slot = &vpmu->slots[VPMU_FIXED_SLOT + i];

		if (!((vpmu->fixed_control ^ value) >> (i * FIXED_BITS) & 0xf))
			continue;
		vpmu->touched |= BIT(VPMU_FIXED_SLOT + i);
		if (slot->verdict == SLOT_STILL)
			slot->verdict = SLOT_IDLE;
	}
	vpmu->fixed_control = value;
	return VPMU_OK;
}

/* Status is written by its two other registers only; CondChgd cannot be set (SDM vol. 4, 391H). */
static enum vpmu_access write_status(struct vpmu *vpmu, uint32_t msr, uint64_t value)
{
	uint64_t valid = status_valid(vpmu->vm) & ~(msr == MSR_STATUS_SET ? STATUS_CHANGED : 0);

	if (msr == MSR_STATUS || (value & ~valid))
		return VPMU_GP;
	if (msr == MSR_STATUS_SET)
		vpmu_set_status(vpmu, vpmu->global_status | value);
	else
		vpmu_set_status(vpmu, vpmu->global_status & ~value);
	return VPMU_OK;
}

static enum vpmu_access write_global(struct vpmu *vpmu, uint32_t msr, uint64_t value)
{
	bool v4 = geometry_of(vpmu)->model >= VPMU_INTEL_V4;

	if (!has_global(geometry_of(vpmu)))
		return VPMU_UNKNOWN;
	switch (msr) {
	case MSR_FIXED_CONTROL:
		return write_fixed_control(vpmu, value);
	case MSR_CONTROL:
		if (value & ~vpmu->vm->slots)
			return VPMU_GP;
		vpmu_set_global_control(vpmu, value);
		return VPMU_OK;
	case MSR_STATUS:
	case MSR_STATUS_RESET:
		return write_status(vpmu, msr, value);
	case MSR_STATUS_SET:
		return v4 ? write_status(vpmu, msr, value) : VPMU_UNKNOWN;
	case MSR_INUSE:
		return v4 ? VPMU_GP : VPMU_UNKNOWN;
	}
	return VPMU_UNKNOWN;
}

static enum vpmu_access write_counter(struct vpmu *vpmu, unsigned int slot, bool full,
				      uint64_t value)
{
	unsigned int width = slot_width(vpmu, slot);

	if (full && (value & ~counter_mask(width)))
		return VPMU_GP;
	vpmu_set_counter(vpmu, slot, full ? value : counter_extend(value, width));
	return VPMU_OK;
}

static enum vpmu_access write_register(struct vpmu *vpmu, uint32_t msr, uint64_t value)
{
	const struct vpmu_geometry *geometry = geometry_of(vpmu);
	bool full;
	int slot = counter_slot(vpmu, msr, &full);

	if (slot >= 0)
		return write_counter(vpmu, slot, full, value);
	if (msr - MSR_SELECT < geometry->nr_gp) {
		if (value & ~select_valid(geometry))
			return VPMU_GP;
		vpmu_set_select(vpmu, msr - MSR_SELECT, value);
		return VPMU_OK;
	}
	if (msr == MSR_CAPABILITIES && (geometry->flags & VPMU_FULL_WIDTH))
		return VPMU_GP;
	return write_global(vpmu, msr, value);
}

/* Bit 31, "fast", is Pentium 4's; bits 16 to 29 are other kinds of counters. */
static int rdpmc(const struct vpmu_vm *vm, uint32_t ecx)
{
	uint32_t index = ecx & ~RDPMC_FIXED;

	if (!(ecx & RDPMC_FIXED))
		return index < vm->options.geometry.nr_gp ? (int)index : -1;
	if (index >= VPMU_MAX_FIXED || !(vm->options.geometry.fixed_mask >> index & 1))
		return -1;
	return VPMU_FIXED_SLOT + (int)index;
}

/* Versions 2 and 3 clear the enable bits; later ones have a bit that stops all. */
static void freeze(struct vpmu *vpmu)
{
	if (geometry_of(vpmu)->model >= VPMU_INTEL_V4)
		vpmu_set_status(vpmu, vpmu->global_status | STATUS_FROZEN);
	else
		vpmu_set_global_control(vpmu, 0);
}

static bool width_valid(unsigned int width)
{
	return width >= 32 && width <= 48;
}

static int check(const struct vpmu_geometry *geometry)
{
	bool v1 = geometry->model == VPMU_INTEL_V1;
	unsigned int fixed = geometry->fixed_mask;

	if (geometry->nr_gp < 1 || geometry->nr_gp > MAX_GP ||
	    !width_valid(geometry->gp_width) || geometry->arch_events >> VPMU_EVENT_REF_TSC ||
	    (geometry->flags & ~(VPMU_FULL_WIDTH | VPMU_DEBUGCTL)))
		return -EINVAL;
	if (v1 && (fixed || (geometry->flags & VPMU_DEBUGCTL)))
		return -EINVAL;
	if (fixed >> VPMU_MAX_FIXED || (fixed && !width_valid(geometry->fixed_width)))
		return -EINVAL;
	if (geometry->model < VPMU_INTEL_V5 && (fixed & (fixed + 1)))
		return -EINVAL;
	return 0;
}

static unsigned int msrs(const struct vpmu_geometry *geometry,
			 struct vpmu_msr_range ranges[VPMU_MAX_RANGES])
{
	bool full = geometry->flags & VPMU_FULL_WIDTH, global = has_global(geometry);
	unsigned int nr_fixed = geometry->fixed_mask ?
				32 - (unsigned int)__builtin_clz(geometry->fixed_mask) : 0;
	const struct vpmu_msr_range all[] = {
		/* The first two KVM reads as 0 also where there is only one. */
		{ MSR_PMC, MAX(geometry->nr_gp, NR_P6) },
		{ MSR_SELECT, MAX(geometry->nr_gp, NR_P6) },
		{ MSR_FIXED, nr_fixed },
		{ MSR_CAPABILITIES, full ? 1 : 0 },
		{ MSR_A_PMC, full ? geometry->nr_gp : 0 },
		{ MSR_FIXED_CONTROL, global ? MSR_INUSE - MSR_FIXED_CONTROL + 1 : 0 },
		{ MSR_DEBUGCTL, geometry->flags & VPMU_DEBUGCTL ? 1 : 0 },
		/* AMD's, which KVM reads as 0 on any processor: here they fault. */
		{ MSR_K7_SELECT, 2 * NR_K7 },
	};

	_Static_assert(ARRAY_SIZE(all) <= VPMU_MAX_RANGES, "there is room for all");
	return keep_ranges(all, ARRAY_SIZE(all), ranges);
}

const struct model_ops model_intel = {
	.vendor = VPMU_INTEL,
	.read = read_register,
	.write = write_register,
	.rdpmc = rdpmc,
	.describe = describe,
	.interrupts = interrupts,
	.freeze = freeze,
	.bits = bits,
	.check = check,
	.cpuid = cpuid_intel,
	.msrs = msrs,
};
