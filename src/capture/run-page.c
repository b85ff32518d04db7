/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kvm_run page that KVM and the VMM share: asking KVM to store the registers there. The one
 * thing that is ever written to a VMM, and KVM only reads it; left behind, it costs the VMM a copy
 * of the registers at each exit.
 */
#include <linux/kvm.h>
#include <sys/uio.h>

#include "base/errors.h"
#include "base/log.h"
#include "bpf/regs-run.h"
#include "capture/backend.h"

static int transfer(bool to_vmm, pid_t pid, u64 hva, u64 *value)
{
	struct iovec local = { value, sizeof(*value) };
	struct iovec remote = { (void *)(uintptr_t)hva, sizeof(*value) };
	ssize_t n = to_vmm ? process_vm_writev(pid, &local, 1, &remote, 1, 0) :
			     process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return n == sizeof(*value) ? 0 : -EFAULT;
}

static u64 valid_regs_hva(const struct capture_thread *thread)
{
	return thread->run_hva + offsetof(struct kvm_run, kvm_valid_regs);
}

int capture_arm(struct capture_guest *guest, struct capture_thread *thread)
{
	u64 value;
	int err;

	if (thread->armed)
		return 0;
	if (!thread->run_hva)
		return -EOPNOTSUPP;
	err = transfer(false, guest->pid, valid_regs_hva(thread), &value);
	if (err)
		return err;
	thread->old_valid_regs = value;
	value |= REGS_RUN_WANTED;
	err = transfer(true, guest->pid, valid_regs_hva(thread), &value);
	if (!err)
		thread->armed = true;
	return err;
}

int capture_rearm(struct capture_guest *guest, struct capture_thread *thread)
{
	u64 value;
	int err;

	if (!thread->armed)
		return 0;
	err = transfer(false, guest->pid, valid_regs_hva(thread), &value);
	if (err || (value & REGS_RUN_WANTED) == REGS_RUN_WANTED)
		return err;
	thread->armed = false;
	return capture_arm(guest, thread);
}

void capture_disarm(struct capture_guest *guest, struct capture_thread *thread)
{
	u64 value;

	if (!thread->armed)
		return;
	thread->armed = false;
	if (transfer(false, guest->pid, valid_regs_hva(thread), &value) ||
	    value != (thread->old_valid_regs | REGS_RUN_WANTED))
		return;
	if (transfer(true, guest->pid, valid_regs_hva(thread), &thread->old_valid_regs))
		log_debug("vCPU %u: kvm_valid_regs stays set", thread->id);
}
