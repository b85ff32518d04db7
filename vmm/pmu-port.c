/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands of the port for tests. */
#include "pmu-port.h"

#include <errno.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>

#include "base/types.h"
#include "pmu-private.h"
#include "vpmu/backend-sim.h"
#include "vpmu/vpmu.h"

_Static_assert(PMU_PORT_FILTER_MAX == VPMU_FILTER_MAX, "a filter fits");

/* To a PMU that knows nothing but the saved state. */
static int move(struct vcpu *vcpu)
{
	uint8_t state[VPMU_STATE_MAX];
	int size = vpmu_save(vcpu->pmu, state, sizeof(state)), err;

	if (size < 0)
		return size;
	vpmu_destroy(vcpu->pmu);
	vcpu->pmu = NULL;
	err = pmu_create_vcpu(vcpu);
	return err ?: vpmu_restore(vcpu->pmu, state, size);
}

static int run(struct vcpu *vcpu, const struct kvm_regs *regs, bool then_move)
{
	struct vpmu_sim *sim = vcpu->machine->pmu->sim;
	struct kvm_sregs sregs;
	int err;

	if (!sim)
		return -EOPNOTSUPP;
	if (ioctl(vcpu->fd, KVM_GET_SREGS, &sregs))
		return -errno;
	err = vpmu_enter(vcpu->pmu, NULL);
	if (err)
		return err;
	vpmu_sim_run(sim, vcpu->id, regs->rbx, regs->rcx, sregs.ss.dpl == 3, regs->rdx);
	if (then_move) {
		vpmu_exit(vcpu->pmu, NULL);
		err = move(vcpu);
	}
	if (vcpu->pmu)
		pmu_exit(vcpu);
	return err;
}

static int set_filter(struct pmu *pmu, uint64_t gpa)
{
	struct pmu_port_filter from;
	struct vpmu_filter filter;
	int err;

	if (!gpa)
		return vpmu_vm_set_filter(pmu->vm, NULL);
	err = memory_read(pmu->memory, gpa, &from, sizeof(from));
	if (err)
		return err;
	filter = (struct vpmu_filter){
		.action = from.action,
		.nr = from.nr,
		.fixed_bitmap = from.fixed_bitmap,
		.flags = from.flags,
		.events = (const uint64_t *)from.events,
	};
	return vpmu_vm_set_filter(pmu->vm, &filter);
}

static int set_counters(struct pmu *pmu, uint64_t nr)
{
	if (!pmu->sim)
		return -EOPNOTSUPP;
	vpmu_sim_set_counters(pmu->sim, nr < VPMU_SLOTS ? nr : VPMU_SLOTS);
	return 0;
}

static uint64_t get_stat(const struct vcpu *vcpu, uint64_t index)
{
	struct vpmu_stats stats;

	vpmu_get_stats(vcpu->pmu, &stats, sizeof(stats));
	return index < sizeof(stats) / sizeof(uint64_t) ? ((uint64_t *)&stats)[index] : 0;
}

static uint64_t obey(struct vcpu *vcpu, const struct kvm_regs *regs)
{
	struct pmu *pmu = vcpu->machine->pmu;

	switch ((uint32_t)regs->rax) {
	case PMU_COMMAND_RUN:
		return run(vcpu, regs, false);
	case PMU_COMMAND_RUN_AND_MOVE:
		return run(vcpu, regs, true);
	case PMU_COMMAND_MOVE:
		return move(vcpu);
	case PMU_COMMAND_FILTER:
		return set_filter(pmu, regs->rbx);
	case PMU_COMMAND_COUNTERS:
		return set_counters(pmu, regs->rbx);
	case PMU_COMMAND_STATS:
		return get_stat(vcpu, regs->rbx);
	default:
		return -EINVAL;
	}
}

void pmu_serve_test(struct vcpu *vcpu)
{
	struct kvm_regs regs;

	if (!vcpu->pmu || !vcpu->machine->pmu->port || ioctl(vcpu->fd, KVM_GET_REGS, &regs))
		return;
	regs.rax = obey(vcpu, &regs);
	ioctl(vcpu->fd, KVM_SET_REGS, &regs);
}
