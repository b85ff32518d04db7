/* SPDX-License-Identifier: GPL-2.0-only */
/* What KVM itself counts of a vCPU, and what became of the counters that its guest uses. */
#include <string.h>

#include "vm/kvm.h"

#define MAX_PMC_BYTES 4096	/* of all of one kind; about 512 */

/* enum perf_event_state of include/linux/perf_event.h; those values since 2.6.31 */
#define EVENT_STATE_ERROR (-2)
#define EVENT_STATE_OFF (-1)

/* A number, but 0 or 1. */
static int read_blocking(const struct kvm_reader *reader, u64 kvm_vcpu, bool *ret)
{
	u8 value = 0;
	int err = 0;

	if (reader->layout->vcpu_blocking != LAYOUT_ABSENT)
		err = kernel_read_u8(reader->kernel, kvm_vcpu + reader->layout->vcpu_blocking,
				     &value);
	*ret = value;
	return err;
}

int kvm_read_halt(const struct kvm_reader *reader, u64 kvm_vcpu, struct vm_vcpu_halt *ret)
{
	const struct vm_layout *l = reader->layout;
	struct vm_vcpu_halt halt;
	u64 success, fail;
	int err;

	if (l->vcpu_halt_wait_ns == LAYOUT_ABSENT || l->vcpu_halt_poll_fail_ns == LAYOUT_ABSENT ||
	    l->vcpu_halt_poll_success_ns == LAYOUT_ABSENT)
		return -EOPNOTSUPP;
	err = kernel_read_u64(reader->kernel, kvm_vcpu + l->vcpu_halt_wait_ns, &halt.wait);
	err = err ?: kernel_read_u64(reader->kernel, kvm_vcpu + l->vcpu_halt_poll_success_ns,
				     &success);
	err = err ?: kernel_read_u64(reader->kernel, kvm_vcpu + l->vcpu_halt_poll_fail_ns, &fail);
	err = err ?: read_blocking(reader, kvm_vcpu, &halt.blocking);
	if (err)
		return err;
	halt.poll = success + fail;
	*ret = halt;
	return 0;
}

/* KVM gives events back as the guest goes on, and the memory of one may be another thing's. */
static int add_event(const struct kvm_reader *reader, u64 event, struct vm_vcpu_counters *counters)
{
	const struct vm_layout *l = reader->layout;
	u64 enabled, running;
	u32 state;
	int err;

	err = kernel_read_u32(reader->kernel, event + l->event_state, &state);
	err = err ?: kernel_read_u64(reader->kernel, event + l->event_enabled, &enabled);
	err = err ?: kernel_read_u64(reader->kernel, event + l->event_running, &running);
	if (err)
		return err == -EFAULT ? -EAGAIN : err;
	/* On arm64 there is one for every counter, used or not, once the guest has reset them. */
	if ((s32)state == EVENT_STATE_OFF)
		return 0;
	counters->nr++;
	counters->failed += (s32)state == EVENT_STATE_ERROR;
	counters->enabled += enabled;
	counters->running += MIN(running, enabled);
	return 0;
}

static int add_counters(const struct kvm_reader *reader, u64 array, u32 size,
			struct vm_vcpu_counters *counters)
{
	const struct vm_layout *l = reader->layout;
	u8 bytes[MAX_PMC_BYTES];
	int err;

	if (size > sizeof(bytes))
		return -EOPNOTSUPP;
	err = kernel_read(reader->kernel, array, bytes, size);
	for (u32 at = 0; at + l->pmc_size <= size && !err; at += l->pmc_size) {
		u64 event;

		memcpy(&event, bytes + at + l->pmc_perf_event, sizeof(event));
		if (event)
			err = add_event(reader, event, counters);
	}
	return err;
}

static bool counters_known(const struct vm_layout *l)
{
	return l->pmc_size >= sizeof(u64) && l->pmc_size <= MAX_PMC_BYTES &&
	       l->pmc_perf_event <= l->pmc_size - sizeof(u64) &&
	       l->event_state != LAYOUT_ABSENT && l->event_enabled != LAYOUT_ABSENT &&
	       l->event_running != LAYOUT_ABSENT;
}

int kvm_read_counters(const struct kvm_reader *reader, u64 kvm_vcpu, struct vm_vcpu_counters *ret)
{
	const struct vm_layout *l = reader->layout;
	struct vm_vcpu_counters counters = { 0 };
	bool any = false;
	int err = counters_known(l) ? 0 : -EOPNOTSUPP;

	for (u32 i = 0; i < LAYOUT_NR_PMCS && !err; i++) {
		if (l->vcpu_pmcs[i] == LAYOUT_ABSENT)
			continue;
		any = true;
		err = add_counters(reader, kvm_vcpu + l->vcpu_pmcs[i], l->vcpu_pmcs_size[i],
				   &counters);
	}
	if (err || !any)
		return err ?: -EOPNOTSUPP;
	*ret = counters;
	return 0;
}
