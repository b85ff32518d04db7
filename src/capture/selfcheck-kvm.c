/* SPDX-License-Identifier: GPL-2.0-only */
/* KVM as this process sees it. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/errors.h"
#include "capture/selfcheck-private.h"
#include "vm/absence.h"

#if defined(__x86_64__)
#include "bpf/regs-run.h"
#endif

static const char *vendor_name(const struct vm_host *host)
{
	switch (host ? vm_host_vendor(host) : VM_VENDOR_UNKNOWN) {
	case VM_VENDOR_AMD:
		return "for AMD (SVM)";
	case VM_VENDOR_INTEL:
		return "for Intel (VMX)";
	case VM_VENDOR_ARM:
		return "for Arm";
	default:
		return "of a kind that is not known";
	}
}

#if defined(__x86_64__)

#define PROBE_PC 0x1234

/* A vCPU that is told to leave at once, before it has run anything. */
static int run_once(int vcpu, struct kvm_run *run, const char **ret_why)
{
	struct kvm_regs regs = { .rip = PROBE_PC, .rflags = 2 };

	*ret_why = "registers cannot be set";
	if (ioctl(vcpu, KVM_SET_REGS, &regs))
		return -errno;
	run->immediate_exit = 1;
	run->kvm_valid_regs = REGS_RUN_WANTED;
	*ret_why = "the vCPU did not leave at once";
	if (!ioctl(vcpu, KVM_RUN, NULL))
		return -EIO;
	if (errno != EINTR)
		return -errno;
	*ret_why = "KVM did not store them";
	return run->s.regs.regs.rip == PROBE_PC ? 0 : -EOPNOTSUPP;
}

static int try_vcpu(int kvm, int vm, const char **ret_why)
{
	_cleanup_close_ int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), err;
	struct kvm_run *run;

	*ret_why = "no vCPU can be made";
	if (vcpu < 0 || size < (int)sizeof(*run))
		return -errno;
	run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, vcpu, 0);
	if (run == MAP_FAILED)
		return -errno;
	err = run_once(vcpu, run, ret_why);
	munmap(run, size);
	return err;
}

/* The machine and its one vCPU are gone when this returns. */
static int try_registers(int kvm, const char **ret_why)
{
	_cleanup_close_ int vm = -1;
	int mask = ioctl(kvm, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);

	*ret_why = "KVM has no KVM_CAP_SYNC_REGS (Linux 4.17)";
	if (mask < 0 || (mask & REGS_RUN_WANTED) != REGS_RUN_WANTED)
		return -EOPNOTSUPP;
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	*ret_why = "no VM can be made";
	return vm < 0 ? -errno : try_vcpu(kvm, vm, ret_why);
}

static void check_registers(struct selfcheck *check, int kvm)
{
	const char *why;
	int err = kvm < 0 ? 0 : try_registers(kvm, &why);

	if (kvm < 0)
		selfcheck_add(check, "kvm.registers", SELFCHECK_NONE, NULL,
			      "cannot be tried without /dev/kvm");
	else if (err)
		selfcheck_add(check, "kvm.registers", SELFCHECK_NO,
			      "modes deferred and ptrace need them", "%s: %s", why,
			      error_text(err));
	else
		selfcheck_add(check, "kvm.registers", SELFCHECK_YES, NULL,
			      "stored in kvm_run at exits (tried with a vCPU of our own)");
}

#else

/* Elsewhere they are read where KVM keeps them. */
static void check_registers(struct selfcheck *check, int kvm)
{
	(void)kvm;
	selfcheck_add(check, "kvm.registers", SELFCHECK_NONE, NULL, "not needed here");
}

#endif

/* Kernel memory may show KVM's part for all processors without that for this one. */
static const char *find_absence(const struct vm_host *host)
{
#if !defined(__x86_64__)
	if (host)
		return NULL;
#endif
	(void)host;
	return vm_kvm_absence("/sys", "/proc/cpuinfo");
}

const char *selfcheck_kvm(struct selfcheck *check, const struct vm_host *host)
{
	_cleanup_close_ int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int err = kvm < 0 ? -errno : 0;
	const char *absence = find_absence(host);

	if (absence)
		selfcheck_add(check, "kvm", SELFCHECK_NO, NULL, "%s", absence);
	else if (err)
		selfcheck_add(check, "kvm", SELFCHECK_NO, NULL, "/dev/kvm: %s", error_text(err));
	else
		selfcheck_add(check, "kvm", SELFCHECK_YES, NULL, "%s", vendor_name(host));
	check_registers(check, kvm);
	return absence;
}
