/* SPDX-License-Identifier: GPL-2.0-only */
/* The VM, its vCPUs, and the way from an access to the model. */
#include "vpmu/vpmu.h"

#include <string.h>

#include "vpmu/counter.h"
#include "vpmu/vpmu-private.h"

#define DEFAULT_MAX_EVENTS 4096

static const struct {
	enum vpmu_model model;
	const char *name;
	struct vpmu_geometry usual;
} models[] = {
	{ VPMU_INTEL_V1, "intel-v1", { .nr_gp = 2, .gp_width = 40, .arch_events = 0x7f } },
	{ VPMU_INTEL_V2, "intel-v2", { .nr_gp = 4, .gp_width = 48, .fixed_mask = 7,
				       .fixed_width = 48, .arch_events = 0x7f } },
	{ VPMU_INTEL_V3, "intel-v3", { .nr_gp = 4, .gp_width = 48, .fixed_mask = 7,
				       .fixed_width = 48, .arch_events = 0x7f } },
	{ VPMU_INTEL_V4, "intel-v4", { .nr_gp = 4, .gp_width = 48, .fixed_mask = 7,
				       .fixed_width = 48, .arch_events = 0x7f } },
	{ VPMU_INTEL_V5, "intel-v5", { .nr_gp = 8, .gp_width = 48, .fixed_mask = 0xf,
				       .fixed_width = 48, .arch_events = 0xff } },
	{ VPMU_AMD_K7, "amd-k7", { .nr_gp = 4, .gp_width = 48 } },
	{ VPMU_AMD_CORE, "amd-core", { .nr_gp = 6, .gp_width = 48 } },
	{ VPMU_AMD_V2, "amd-v2", { .nr_gp = 6, .gp_width = 48 } },
};

static const struct model_ops *model_ops(enum vpmu_model model)
{
	if (model >= VPMU_INTEL_V1 && model <= VPMU_INTEL_V5)
		return &model_intel;
	return model >= VPMU_AMD_K7 && model <= VPMU_AMD_V2 ? &model_amd : NULL;
}

int vpmu_geometry_init(struct vpmu_geometry *geometry, enum vpmu_model model)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(models); i++) {
		if (models[i].model != model)
			continue;
		*geometry = models[i].usual;
		geometry->model = model;
		if (model >= VPMU_INTEL_V2 && model <= VPMU_INTEL_V5)
			geometry->flags = VPMU_FULL_WIDTH;
		return 0;
	}
	return -EINVAL;
}

int vpmu_model_by_name(const char *name, enum vpmu_model *ret)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(models); i++) {
		if (!strcmp(models[i].name, name)) {
			*ret = models[i].model;
			return 0;
		}
	}
	return -ENOENT;
}

const char *vpmu_model_name(enum vpmu_model model)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(models); i++)
		if (models[i].model == model)
			return models[i].name;
	return NULL;
}

const char *vpmu_report_name(enum vpmu_report_kind kind)
{
	static const char *const names[] = {
		[VPMU_REPORT_REFUSED] = "refused",
		[VPMU_REPORT_DENIED] = "denied",
		[VPMU_REPORT_BUSY] = "busy",
		[VPMU_REPORT_LOST] = "lost",
		[VPMU_REPORT_MULTIPLEXED] = "multiplexed",
		[VPMU_REPORT_EVICTED] = "evicted",
		[VPMU_REPORT_LIMIT] = "limit",
	};

	return (unsigned int)kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}

static int check_options(const struct vpmu_vm_options *options)
{
	const struct model_ops *model = model_ops(options->geometry.model);
	const struct vpmu_backend_ops *ops = options->backend.ops;

	if (options->size != sizeof(*options) || !model || options->policy > VPMU_POLICY_EVICT)
		return -EINVAL;
	if (!ops || ops->size != sizeof(*ops) || !ops->vcpu_create || !ops->vcpu_destroy ||
	    !ops->open || !ops->close || !ops->pause || !ops->resume || !ops->arm || !ops->read ||
	    !ops->check)
		return -EINVAL;
	return model->check(&options->geometry);
}

int vpmu_vm_create(const struct vpmu_vm_options *options, struct vpmu_vm **ret)
{
	const struct vpmu_geometry *geometry = &options->geometry;
	struct vpmu_vm *vm;
	int err = check_options(options);

	if (err)
		return err;
	vm = calloc(1, sizeof(*vm));
	if (!vm)
		return -ENOMEM;
	vm->options = *options;
	if (!vm->options.max_events)
		vm->options.max_events = DEFAULT_MAX_EVENTS;
	vm->model = model_ops(geometry->model);
	vm->slots = (BIT(geometry->nr_gp) - 1) | (uint64_t)geometry->fixed_mask << VPMU_FIXED_SLOT;
	vm->policy = options->policy;
	pthread_mutex_init(&vm->lock, NULL);
	*ret = vm;
	return 0;
}

void vpmu_vm_destroy(struct vpmu_vm *vm)
{
	if (!vm)
		return;
	if (vm->options.backend.ops->destroy)
		vm->options.backend.ops->destroy(vm->options.backend.self);
	pthread_mutex_destroy(&vm->lock);
	free(vm);
}

int vpmu_vm_set_policy(struct vpmu_vm *vm, enum vpmu_policy policy)
{
	if (policy > VPMU_POLICY_EVICT)
		return -EINVAL;
	vm->policy = policy;
	return 0;
}

int vpmu_vm_set_filter(struct vpmu_vm *vm, const struct vpmu_filter *filter)
{
	int err;

	pthread_mutex_lock(&vm->lock);
	err = event_filter_init(vm->model->vendor, filter, &vm->filter);
	if (!err)
		vm->filter_age++;
	pthread_mutex_unlock(&vm->lock);
	return err;
}

enum vpmu_vendor vpmu_vm_vendor(const struct vpmu_vm *vm)
{
	return vm->model->vendor;
}

bool vpmu_vm_cpuid(const struct vpmu_vm *vm, uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
	return vm->model->cpuid(&vm->options.geometry, leaf, subleaf, regs);
}

bool vpmu_vm_cpuid_needs(const struct vpmu_vm *vm, uint32_t leaf)
{
	if (vm->model->vendor == VPMU_INTEL)
		return leaf == 0xa;
	return leaf == 0x80000022 && vm->options.geometry.model == VPMU_AMD_V2;
}

unsigned int vpmu_vm_msrs(const struct vpmu_vm *vm, struct vpmu_msr_range *ranges,
			  unsigned int max)
{
	struct vpmu_msr_range all[VPMU_MAX_RANGES];
	unsigned int nr = vm->model->msrs(&vm->options.geometry, all);

	memcpy(ranges, all, MIN(nr, max) * sizeof(*ranges));
	return nr;
}

int vpmu_create(struct vpmu_vm *vm, unsigned int id, struct vpmu **ret)
{
	struct vpmu *vpmu = calloc(1, sizeof(*vpmu));
	int err;

	if (!vpmu)
		return -ENOMEM;
	vpmu->vm = vm;
	vpmu->id = id;
	err = vm->options.backend.ops->vcpu_create(vm->options.backend.self, id, &vpmu->backend);
	if (err) {
		free(vpmu);
		return err;
	}
	vpmu_reset(vpmu);
	*ret = vpmu;
	return 0;
}

void vpmu_destroy(struct vpmu *vpmu)
{
	if (!vpmu)
		return;
	vpmu_release_events(vpmu);
	vpmu->vm->options.backend.ops->vcpu_destroy(vpmu->backend);
	free(vpmu);
}

/* The SDM and the PPRs: all zero, but the general counters' global enable bits. */
void vpmu_reset(struct vpmu *vpmu)
{
	const struct vpmu_geometry *geometry = &vpmu->vm->options.geometry;

	vpmu_release_events(vpmu);
	memset(vpmu->slots, 0, sizeof(vpmu->slots));
	memset(&vpmu->entry, 0, sizeof(vpmu->entry));
	vpmu->fixed_control = vpmu->global_status = vpmu->debugctl = vpmu->overflowed = 0;
	vpmu->global_control = has_global(geometry) ? BIT(geometry->nr_gp) - 1 : 0;
	vpmu->pmi = vpmu->entered = false;
	vpmu->touched = vpmu->vm->slots;
}

void vpmu_release_events(struct vpmu *vpmu)
{
	FOR_EACH_SLOT(n, vpmu->vm->slots)
		vpmu_close(vpmu, n);
	vpmu->touched = vpmu->vm->slots;
}

static enum vpmu_access note_fault(struct vpmu *vpmu, enum vpmu_access access)
{
	if (access == VPMU_GP)
		stat_add(&vpmu->stats.faults, 1);
	return access;
}

enum vpmu_access vpmu_rdmsr(struct vpmu *vpmu, uint32_t msr, uint64_t *ret)
{
	if (msr == MSR_DEBUGCTL && (vpmu->vm->options.geometry.flags & VPMU_DEBUGCTL)) {
		*ret = vpmu->debugctl;
		return VPMU_OK;
	}
	return note_fault(vpmu, vpmu->vm->model->read(vpmu, msr, ret));
}

enum vpmu_access vpmu_wrmsr(struct vpmu *vpmu, uint32_t msr, uint64_t value)
{
	if (msr == MSR_DEBUGCTL && (vpmu->vm->options.geometry.flags & VPMU_DEBUGCTL)) {
		if (value & ~DEBUGCTL_FREEZE)
			return note_fault(vpmu, VPMU_GP);
		vpmu->debugctl = value;
		return VPMU_OK;
	}
	return note_fault(vpmu, vpmu->vm->model->write(vpmu, msr, value));
}

enum vpmu_access vpmu_rdpmc(struct vpmu *vpmu, uint32_t ecx, bool allowed, uint64_t *ret)
{
	int slot = vpmu->vm->model->rdpmc(vpmu->vm, ecx);
	bool mapped = false, was_pending = vpmu->pmi;

	if (slot < 0 || !allowed)
		return note_fault(vpmu, VPMU_GP);
	if (vpmu->running & BIT(slot)) {
		vpmu_sync(vpmu, slot, &mapped);
		vpmu_freeze(vpmu, was_pending);
	}
	stat_add(mapped ? &vpmu->stats.rdpmc_mapped : &vpmu->stats.rdpmc_model, 1);
	*ret = vpmu->slots[slot].value;
	return VPMU_OK;
}

void vpmu_retry(struct vpmu *vpmu)
{
	FOR_EACH_SLOT(n, vpmu->vm->slots) {
		struct slot *slot = &vpmu->slots[n];

		if (slot->state != SLOT_CLOSED && !slot->pinned)
			vpmu_close(vpmu, n);
		if (slot->verdict == SLOT_STILL)
			slot->verdict = SLOT_IDLE;
	}
	vpmu->touched = vpmu->vm->slots;
}

void vpmu_get_stats(const struct vpmu *vpmu, struct vpmu_stats *ret, size_t size)
{
	const uint64_t *from = (const uint64_t *)&vpmu->stats;
	uint64_t *to = (uint64_t *)ret;
	size_t nr = MIN(size, sizeof(vpmu->stats)) / sizeof(*from);

	memset(ret, 0, size);
	for (size_t i = 0; i < nr; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void vpmu_set_counter(struct vpmu *vpmu, unsigned int slot, uint64_t value)
{
	vpmu->slots[slot].value = value & counter_mask(slot_width(vpmu, slot));
	vpmu->slots[slot].rearm = true;
	vpmu->touched |= BIT(slot);
}

/* A counter that stands still is tried anew when it is programmed. */
void vpmu_set_select(struct vpmu *vpmu, unsigned int slot, uint64_t select)
{
	if (vpmu->slots[slot].select == select)
		return;
	vpmu->slots[slot].select = select;
	if (vpmu->slots[slot].verdict == SLOT_STILL)
		vpmu->slots[slot].verdict = SLOT_IDLE;
	vpmu->touched |= BIT(slot);
}

void vpmu_set_global_control(struct vpmu *vpmu, uint64_t value)
{
	vpmu->touched |= (vpmu->global_control ^ value) & vpmu->vm->slots;
	vpmu->global_control = value;
}

void vpmu_set_status(struct vpmu *vpmu, uint64_t value)
{
	if ((vpmu->global_status ^ value) & STATUS_FROZEN)
		vpmu->touched = vpmu->vm->slots;
	vpmu->global_status = value;
}

bool vpmu_active(const struct vpmu *vpmu, unsigned int slot, struct vpmu_event *ret)
{
	if (has_global(&vpmu->vm->options.geometry) &&
	    (!(vpmu->global_control & BIT(slot)) || (vpmu->global_status & STATUS_FROZEN)))
		return false;
	return vpmu->vm->model->describe(vpmu, slot, ret);
}

bool vpmu_allowed(const struct vpmu *vpmu, unsigned int slot)
{
	if (slot >= VPMU_FIXED_SLOT)
		return event_filter_fixed(&vpmu->filter, slot - VPMU_FIXED_SLOT);
	return event_filter_select(&vpmu->filter, vpmu->vm->model->vendor,
				   vpmu->slots[slot].select);
}
