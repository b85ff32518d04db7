/* SPDX-License-Identifier: GPL-2.0-only */
/* Which capture modes work on this host and for a VM, and which one to take. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifdef HAVE_BPF
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#endif

#include "base/errors.h"
#include "bpf/regs-run.h"
#include "capture/capture.h"

/* Whether KVM can store the registers in kvm_run: since 4.17 on x86, not for protected guests. */
static bool kvm_syncs_registers(void)
{
	_cleanup_close_ int fd = -1;
	int mask;

	if (!REGS_RUN_WANTED)
		return true;
	fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	mask = fd < 0 ? 0 : ioctl(fd, KVM_CHECK_EXTENSION, KVM_CAP_SYNC_REGS);
	return mask > 0 && (mask & REGS_RUN_WANTED) == REGS_RUN_WANTED;
}

/* Any vCPU whose kvm_run page was not found in the VMM. */
static bool run_page_missing(const struct vm *vm)
{
	vec_for_each(&vm->vcpus, vcpu) {
		if (vcpu->tid && !vcpu->run_hva)
			return true;
	}
	return false;
}

int capture_probe_vm(const struct vm *vm, enum capture_mode mode, const char **ret_why)
{
	const char *why = NULL;

	if (vm->confidential)
		why = "a confidential guest: its memory and registers are encrypted";
	else if (mode == CAPTURE_INLINE && vm->lazy)
		why = "the guest's system registers stay in the CPU up to an exit to user space"
		      " (VHE)";
	else if (mode == CAPTURE_DEFERRED && !vm->kick_signal)
		why = "it is not known how this VMM's vCPUs can be kicked (--kick-signal)";
	else if (REGS_RUN_WANTED && mode != CAPTURE_INLINE && run_page_missing(vm))
		why = "a vCPU's kvm_run page was not found in the VMM";
	if (!why)
		return 0;
	*ret_why = why;
	return -EOPNOTSUPP;
}

#ifdef HAVE_BPF
static int probe_helper(enum bpf_prog_type type, enum bpf_func_id helper)
{
	int has = libbpf_probe_bpf_helper(type, helper, NULL);

	if (has < 0)
		return has;
	return has ? 0 : -EOPNOTSUPP;
}

static int probe_bpf(const char **ret_why)
{
	int err;

	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		*ret_why = "the host kernel has no BTF (CONFIG_DEBUG_INFO_BTF)";
		return -EOPNOTSUPP;
	}
	err = probe_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop);
	if (!err)
		return 0;
	*ret_why = err == -EPERM || err == -EACCES ?
			   "BPF is not permitted: not root, or the kernel is locked down" :
			   "the host kernel's BPF is too old (needs bpf_loop, Linux 5.17)";
	return -EOPNOTSUPP;
}

/* Where guests are looked for the kernel's types have been read. */
bool capture_has_task_work(const struct vm_host *host)
{
	struct btf *btf = host ? NULL : btf__load_vmlinux_btf();
	bool has = host ? vm_host_has_task_work(host) : btf && vm_kernel_has_task_work(btf);

	btf__free(btf);
	return has;
}
#else
bool capture_has_task_work(const struct vm_host *host)
{
	(void)host;
	return false;
}

static int probe_bpf(const char **ret_why)
{
	*ret_why = "kvmprof was built without BPF";
	return -EOPNOTSUPP;
}
#endif

static int probe_inline(struct vm_host *host, const char **ret_why)
{
	int err = probe_bpf(ret_why);

	if (err)
		return err;
	if (vm_host_vendor(host) != VM_VENDOR_AMD && vm_host_vendor(host) != VM_VENDOR_ARM) {
		*ret_why = "only AMD and arm64 keep the guest's registers where BPF can read them";
		return -EOPNOTSUPP;
	}
	*ret_why = vm_host_peek_why(host);
	return *ret_why ? -EOPNOTSUPP : 0;
}

static int probe_registers(const char **ret_why)
{
	if (kvm_syncs_registers())
		return 0;
	*ret_why = "KVM does not store registers in kvm_run (KVM_CAP_SYNC_REGS)";
	return -EOPNOTSUPP;
}

static int probe_deferred(const char **ret_why)
{
	int err = probe_bpf(ret_why);

	return err ? err : probe_registers(ret_why);
}

static int probe_host(struct vm_host *host, enum capture_mode mode, const char **ret_why)
{
	switch (mode) {
	case CAPTURE_INLINE:
		return probe_inline(host, ret_why);
	case CAPTURE_DEFERRED:
		return probe_deferred(ret_why);
	case CAPTURE_PTRACE:
		return probe_registers(ret_why);
	default:
		*ret_why = "not a capture mode";
		return -EOPNOTSUPP;
	}
}

int capture_probe(struct vm_host *host, const struct vm *vm, enum capture_mode mode,
		  const char **ret_why)
{
	int err;

	/* Of a confidential guest nothing else matters. */
	if (vm && vm->confidential)
		return capture_probe_vm(vm, mode, ret_why);
	err = probe_host(host, mode, ret_why);
	if (!err && vm)
		err = capture_probe_vm(vm, mode, ret_why);
	return err;
}

int capture_choose(struct vm_host *host, const struct vm *vm, enum capture_mode *ret_mode,
		   const char **ret_why)
{
	static const struct {
		enum capture_mode mode;
		const char *why;
	} choices[] = {
		{ CAPTURE_INLINE, "the guest's registers are in memory" },
		{ CAPTURE_DEFERRED, "KVM gives the guest's registers at exits to user space" },
		{ CAPTURE_PTRACE, "BPF cannot be used, or not with this VMM" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		int err = capture_probe(host, vm, choices[i].mode, ret_why);

		/* Whether it works on arm64 a VM has to say. */
		if (err || (choices[i].mode == CAPTURE_INLINE && !vm &&
			    vm_host_vendor(host) == VM_VENDOR_ARM))
			continue;
		*ret_mode = choices[i].mode;
		*ret_why = choices[i].why;
		return 0;
	}
	return -EOPNOTSUPP;
}
