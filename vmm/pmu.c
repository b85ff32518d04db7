/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KVM gives up its own PMU, sends the guest's accesses to the PMU's registers here, and is told of
 * the interrupt. For RDPMC it has no exit: the guest's kernel has its RDPMC instructions written
 * over by an OUT of the same size, once, when it first starts a counter.
 */
#include "pmu.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/types.h"
#include "pmu-private.h"
#include "vpmu/backend-sim.h"
#include "vpmu/vpmu.h"

#define MAX_MSRS 64		/* of one range */
#define LVTPC 0x340		/* of the local APIC's page */
#define MSI_ADDRESS 0xfee00000U
#define MSI_ID_SHIFT 12
/* All that time tells. */
#define TIME_EVENTS \
	(1U << VPMU_EVENT_CYCLES | 1U << VPMU_EVENT_REF_CYCLES | 1U << VPMU_EVENT_REF_TSC)
#define X2APIC_LVTPC 0x834	/* the same register as an MSR */
#define MAX_TOLD 20		/* reports; the rest is only counted */
#define CR4_PCE (1U << 8)
#define RDPMC_SIZE 2
#define GP_VECTOR 13

static __thread struct kvm_run *current_run;

static int signal_number(void)
{
	return SIGRTMIN + 9;
}

static void on_overflow(int number)
{
	(void)number;
	if (current_run)
		current_run->immediate_exit = 1;
}

/* Whose events may be in the way; a slow look, for the few reports that are told. */
static void tell_holders(void)
{
	struct vpmu_holder holders[3];
	int nr = vpmu_holders(NULL, holders, 3);

	for (int i = 0; i < nr && i < 3; i++)
		fprintf(stderr, "kvmprof-vmm: has perf events open: %s (%d): %u\n",
			holders[i].name, holders[i].pid, holders[i].nr_events);
}

static bool is_contention(enum vpmu_report_kind kind)
{
	return kind == VPMU_REPORT_BUSY || kind == VPMU_REPORT_LOST ||
	       kind == VPMU_REPORT_EVICTED;
}

static void told(void *context, const struct vpmu_report *report)
{
	struct pmu *pmu = context;
	bool tell;

	pthread_mutex_lock(&pmu->lock);
	tell = pmu->nr_told++ < MAX_TOLD;
	pthread_mutex_unlock(&pmu->lock);
	if (!tell)
		return;
	fprintf(stderr, "kvmprof-vmm: vCPU %u: counter %u: event %#" PRIx64 " %s%s%s\n",
		report->vcpu, report->slot, report->event.raw, vpmu_report_name(report->kind),
		report->error ? ": " : "", report->error ? strerror(-report->error) : "");
	if (is_contention(report->kind))
		tell_holders();
}

static int choose_backend(struct pmu *pmu, const struct pmu_options *options,
			  struct vpmu_backend *ret)
{
	struct vpmu_perf_options perf = {
		.size = sizeof(perf), .signal = signal_number(), .raw = options->raw };
	struct vpmu_time_options time = {
		.size = sizeof(time), .signal = signal_number(), .cycles_hz = options->hz,
		.ref_hz = options->hz };
	int err = -EOPNOTSUPP;

	if (options->backend == PMU_BACKEND_SIM)
		return vpmu_backend_sim(VPMU_SLOTS, &pmu->sim, ret);
	if (options->backend != PMU_BACKEND_TIME)
		err = vpmu_backend_perf(&perf, ret);
	if (!err || options->backend == PMU_BACKEND_PERF)
		return err;
	return vpmu_backend_time(&time, ret);
}

static int create_vm(struct pmu *pmu, const struct pmu_options *options)
{
	struct vpmu_vm_options vm = {
		.size = sizeof(vm), .policy = VPMU_POLICY_EVICT, .log = told, .context = pmu };
	enum vpmu_model model;
	int err = vpmu_model_by_name(options->model, &model);

	err = err ?: vpmu_geometry_init(&vm.geometry, model);
	if (options->freeze)
		vm.geometry.flags |= VPMU_DEBUGCTL;
	err = err ?: choose_backend(pmu, options, &vm.backend);
	if (err)
		return err;
	pmu->backend = vm.backend.ops->name;
	if (!strcmp(pmu->backend, "time"))
		vpmu_geometry_keep(&vm.geometry, TIME_EVENTS);
	err = vpmu_vm_create(&vm, &pmu->vm);
	if (err && vm.backend.ops->destroy)
		vm.backend.ops->destroy(vm.backend.self);
	return err ?: vpmu_vm_set_filter(pmu->vm, options->filter);
}

/* Both kinds of access to each of the model's registers come here. */
static int filter_msrs(int vm_fd, const struct vpmu_vm *vm)
{
	static uint8_t none[MAX_MSRS / 8];
	struct vpmu_msr_range ranges[VPMU_MAX_RANGES];
	struct kvm_msr_filter filter = { .flags = KVM_MSR_FILTER_DEFAULT_ALLOW };
	unsigned int nr = vpmu_vm_msrs(vm, ranges, VPMU_MAX_RANGES);

	_Static_assert(VPMU_MAX_RANGES <= KVM_MSR_FILTER_MAX_RANGES, "KVM takes all");

	for (unsigned int i = 0; i < nr; i++) {
		if (ranges[i].nr > MAX_MSRS)
			return -E2BIG;
		filter.ranges[i] = (struct kvm_msr_filter_range){
			.flags = KVM_MSR_FILTER_READ | KVM_MSR_FILTER_WRITE,
			.base = ranges[i].base,
			.nmsrs = ranges[i].nr,
			.bitmap = none,
		};
	}
	return ioctl(vm_fd, KVM_X86_SET_MSR_FILTER, &filter) ? -errno : 0;
}

static int take_from_kvm(int vm_fd, const struct vpmu_vm *vm)
{
	struct kvm_enable_cap exits = {
		.cap = KVM_CAP_X86_USER_SPACE_MSR,
		.args = { KVM_MSR_EXIT_REASON_FILTER | KVM_MSR_EXIT_REASON_UNKNOWN } };
	struct kvm_enable_cap off = {
		.cap = KVM_CAP_PMU_CAPABILITY, .args = { KVM_PMU_CAP_DISABLE } };

	/* Older kernels have no way to switch theirs off; the filter comes before it anyway. */
	if (ioctl(vm_fd, KVM_CHECK_EXTENSION, KVM_CAP_PMU_CAPABILITY) & KVM_PMU_CAP_DISABLE)
		ioctl(vm_fd, KVM_ENABLE_CAP, &off);
	if (ioctl(vm_fd, KVM_ENABLE_CAP, &exits))
		return -errno;
	return filter_msrs(vm_fd, vm);
}

int pmu_create(struct machine *machine, const struct memory *memory,
	       const struct pmu_options *options, const char **ret_why)
{
	struct sigaction action = { .sa_handler = on_overflow };
	int err;

	if (!options->model)
		return 0;
	*ret_why = "PMU";
	machine->pmu = calloc(1, sizeof(*machine->pmu));
	if (!machine->pmu || sigaction(signal_number(), &action, NULL))
		return -ENOMEM;
	machine->pmu->memory = memory;
	machine->pmu->port = options->port;
	pthread_mutex_init(&machine->pmu->lock, NULL);
	err = create_vm(machine->pmu, options);
	if (err)
		return err;
	*ret_why = "PMU's registers";
	err = take_from_kvm(machine->vm_fd, machine->pmu->vm);
	if (!err)
		fprintf(stderr, "kvmprof-vmm: PMU %s, counted by %s\n", options->model,
			machine->pmu->backend);
	return err;
}

const struct vpmu_vm *pmu_vm(const struct machine *machine)
{
	return machine->pmu ? machine->pmu->vm : NULL;
}

int pmu_create_vcpu(struct vcpu *vcpu)
{
	struct pmu *pmu = vcpu->machine->pmu;

	return pmu ? vpmu_create(pmu->vm, vcpu->id, &vcpu->pmu) : 0;
}

bool pmu_enter(struct vcpu *vcpu)
{
	if (!vcpu->pmu)
		return true;
	current_run = vcpu->run;
	return !vpmu_enter(vcpu->pmu, NULL);
}

static void inject(struct vcpu *vcpu, const struct vpmu_pmi *pmi)
{
	struct kvm_msi msi = {
		.address_lo = MSI_ADDRESS | vcpu->id << MSI_ID_SHIFT, .data = pmi->vector };

	switch (pmi->kind) {
	case VPMU_PMI_NMI:
		ioctl(vcpu->fd, KVM_NMI);
		break;
	case VPMU_PMI_VECTOR:
		ioctl(vcpu->machine->vm_fd, KVM_SIGNAL_MSI, &msi);
		break;
	default:
		break;
	}
}

/*
 * On Intel the processor sets LVTPC's mask bit, too. As an MSR, which it is in x2APIC mode, it can
 * be written. Else it would take KVM_SET_LAPIC, which forgets interrupts that come meanwhile: there
 * the bit stays clear, and a handler that clears it finds it so.
 */
static void set_lvtpc(const struct vcpu *vcpu, uint32_t lvtpc)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = { { .nmsrs = 1 }, { .index = X2APIC_LVTPC, .data = lvtpc } };

	ioctl(vcpu->fd, KVM_SET_MSRS, &msrs);
}

static void interrupt(struct vcpu *vcpu)
{
	struct kvm_lapic_state apic;
	struct vpmu_pmi pmi;
	uint32_t lvtpc;

	if (ioctl(vcpu->fd, KVM_GET_LAPIC, &apic))
		return;
	memcpy(&lvtpc, apic.regs + LVTPC, sizeof(lvtpc));
	vpmu_pmi(vcpu->pmu, lvtpc, &pmi);
	inject(vcpu, &pmi);
	if (pmi.lvtpc != lvtpc)
		set_lvtpc(vcpu, pmi.lvtpc);
}

void pmu_exit(struct vcpu *vcpu)
{
	struct vpmu_exit left;

	if (!vcpu->pmu)
		return;
	vpmu_exit(vcpu->pmu, &left);
	if (left.pmi)
		interrupt(vcpu);
}

/*
 * Whether @at is what compilers make of Linux's native_read_pmc(): RDPMC, the place where a
 * tracepoint's jump may come, which is a NOP of 2 or 5 bytes or not there, and SHL $32, %RDX.
 */
static bool is_read_pmc(const uint8_t *at, const uint8_t *end)
{
	static const uint8_t shift[] = { 0x48, 0xc1, 0xe2, 0x20 };
	static const struct {
		uint8_t size, bytes[5];
	} nops[] = { { 0, {} }, { 2, { 0x66, 0x90 } }, { 5, { 0x0f, 0x1f, 0x44, 0, 0 } } };

	for (unsigned int i = 0; i < ARRAY_SIZE(nops); i++) {
		const uint8_t *after = at + 2 + nops[i].size;

		if (end - at >= (ptrdiff_t)(2 + nops[i].size + sizeof(shift)) &&
		    !memcmp(at + 2, nops[i].bytes, nops[i].size) &&
		    !memcmp(after, shift, sizeof(shift)))
			return true;
	}
	return false;
}

/* RDPMC becomes OUT %EAX, $PMU_PORT, which has as many bytes. */
static unsigned int patch_slot(const struct memory_slot *slot)
{
	static const uint8_t code[] = { 0x0f, 0x33 };
	uint8_t *at = slot->hva, *end = slot->hva + slot->size;
	unsigned int nr = 0;

	for (; (at = memmem(at, end - at, code, sizeof(code))); at += sizeof(code)) {
		if (!is_read_pmc(at, end))
			continue;
		at[0] = 0xe7;
		at[1] = PMU_PORT;
		nr++;
	}
	return nr;
}

static void patch(struct pmu *pmu)
{
	pthread_mutex_lock(&pmu->lock);
	for (unsigned int i = 0; !pmu->patched && i < pmu->memory->nr; i++)
		pmu->nr_patched += patch_slot(&pmu->memory->slots[i]);
	pmu->patched = true;
	pthread_mutex_unlock(&pmu->lock);
}

/* Any write of something comes before the first RDPMC. */
void pmu_serve_msr(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	uint64_t value = 0;
	enum vpmu_access access = VPMU_UNKNOWN;

	if (vcpu->pmu && run->exit_reason == KVM_EXIT_X86_RDMSR) {
		access = vpmu_rdmsr(vcpu->pmu, run->msr.index, &value);
		run->msr.data = value;
	} else if (vcpu->pmu) {
		access = vpmu_wrmsr(vcpu->pmu, run->msr.index, run->msr.data);
		if (!vcpu->machine->pmu->patched && access == VPMU_OK && run->msr.data)
			patch(vcpu->machine->pmu);
	}
	run->msr.error = access != VPMU_OK;
}

static int call(const struct vcpu *vcpu, unsigned long request, void *arg)
{
	return ioctl(vcpu->fd, request, arg) ? -errno : 0;
}

/* Privilege level 0, CR4.PCE or real mode. */
static int may_read(const struct vcpu *vcpu, bool *ret)
{
	struct kvm_sregs sregs;
	int err = call(vcpu, KVM_GET_SREGS, &sregs);

	if (!err)
		*ret = !sregs.ss.dpl || (sregs.cr4 & CR4_PCE) || !(sregs.cr0 & 1);
	return err;
}

/*
 * KVM skips an OUT when it next runs the vCPU: here that is all that it does. A kick that came
 * before is in immediate_exit, and put back there; one that comes now waits for its signal to be
 * let in again, behind that, and so its handler is the last to write the flag. Both end the next
 * KVM_RUN.
 */
static int skip_out(const struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	sigset_t all, before;
	uint8_t kicked;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	kicked = run->immediate_exit;
	run->immediate_exit = 1;
	err = call(vcpu, KVM_RUN, NULL);
	run->immediate_exit = kicked;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* It cannot end for another reason of the guest's: that has not run. */
	return err == -EINTR ? 0 : err ?: -EIO;
}

/* #GP where the OUT is. */
static int fault(const struct vcpu *vcpu)
{
	struct kvm_vcpu_events events;
	struct kvm_regs regs;
	int err = skip_out(vcpu);

	err = err ?: call(vcpu, KVM_GET_REGS, &regs);
	err = err ?: call(vcpu, KVM_GET_VCPU_EVENTS, &events);
	if (err)
		return err;
	regs.rip -= RDPMC_SIZE;
	events.exception.injected = 1;
	events.exception.nr = GP_VECTOR;
	events.exception.has_error_code = 1;
	events.exception.error_code = 0;
	return call(vcpu, KVM_SET_REGS, &regs) ?: call(vcpu, KVM_SET_VCPU_EVENTS, &events);
}

int pmu_serve_port(struct vcpu *vcpu)
{
	struct kvm_regs regs;
	uint64_t value = 0;
	bool may;
	int err;

	if (!vcpu->pmu)
		return 0;
	err = call(vcpu, KVM_GET_REGS, &regs);
	err = err ?: may_read(vcpu, &may);
	if (err)
		return err;
	if (vpmu_rdpmc(vcpu->pmu, (uint32_t)regs.rcx, may, &value) != VPMU_OK)
		return fault(vcpu);
	regs.rax = (uint32_t)value;
	regs.rdx = value >> 32;
	return call(vcpu, KVM_SET_REGS, &regs);
}

static void tell_vcpu(const struct vcpu *vcpu)
{
	struct vpmu_stats stats;

	vpmu_get_stats(vcpu->pmu, &stats, sizeof(stats));
	fprintf(stderr, "kvmprof-vmm: vCPU %u: PMU: entries %" PRIu64 " opened %" PRIu64
		" overflows %" PRIu64 " interrupts %" PRIu64 " (masked %" PRIu64 ")"
		" rdpmc %" PRIu64 "+%" PRIu64 " refused %" PRIu64 " denied %" PRIu64
		" lost %" PRIu64 " evicted %" PRIu64 " faults %" PRIu64 "\n",
		vcpu->id, stats.entries, stats.opened, stats.overflows, stats.pmis_delivered,
		stats.pmis_masked, stats.rdpmc_mapped, stats.rdpmc_model, stats.refused,
		stats.denied, stats.lost, stats.evicted, stats.faults);
}

void pmu_tell(const struct machine *machine)
{
	if (!machine->pmu)
		return;
	fprintf(stderr, "kvmprof-vmm: PMU: %u RDPMC instructions written over\n",
		machine->pmu->nr_patched);
	for (unsigned int i = 0; i < machine->nr_vcpus; i++)
		if (machine->vcpus[i].pmu)
			tell_vcpu(&machine->vcpus[i]);
}
