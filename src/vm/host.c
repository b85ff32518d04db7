/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding the VMs of this host. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "vm/absence.h"
#include "vm/host-probe.h"
#include "vm/ksyms.h"
#include "vm/kvm.h"
#include "vm/layout.h"
#include "vm/vm.h"
#include "vm/vmm.h"

#define MAX_VMS 65536
#define LOAD_ATTEMPTS 8
#define PID_NS_OF_HOST 0xeffffffc	/* PROC_PID_INIT_INO, include/linux/proc_ns.h, since 3.8 */

struct vm_host {
	struct proc proc;
	enum vm_vendor vendor;
	bool shadows;			/* AMD without nested paging */
	struct vm_layout layout;
	u64 vm_list;			/* address of KVM's list of VMs; 0: not known */
	u32 vmx_lstar;			/* Intel: see kvm_vmx_find_lstar() */
	bool task_work;			/* see vm_kernel_has_task_work() */
	s64 irqs_from_timers;		/* see vm_host_irqs_from_timers() */
	struct host_probe *probe;	/* NULL: through kcore */
	struct kernel_mem *kernel;
	const char *probe_why;		/* why there is no probe, a constant */
};

static const char why_shadows[] =
	"without nested paging the CR3 at hand is not the guest's: load kvm_amd with npt=1";
static const char why_not_root[] = "needs root: run it with sudo";
static const char why_no_kvm[] = "KVM is not loaded";
static const char why_no_btf[] =
	"this kernel has no type information: CONFIG_DEBUG_INFO_BTF is off (/sys/kernel/btf)";
static const char why_no_kvm_btf[] =
	"the KVM module has no type information: CONFIG_DEBUG_INFO_BTF_MODULES is off";
static const char why_hidden[] =
	"kernel symbol addresses are hidden even from root: sysctl kernel.kptr_restrict=1";
static const char why_locked[] =
	"the kernel is locked down (confidentiality): boot without lockdown=confidentiality";
static const char why_contained[] =
	"this is a container with process ids of its own: "
	"run it on the host, or with the host's (--pid=host --privileged)";
static const char why_no_bpf[] = "this kernel has no BPF iterators or forbids BPF";
static const char why_built_without[] = "kvmprof was built without BPF";
static const char why_no_kcore[] = "neither BPF nor /proc/kcore works on this kernel";
static const char why_no_list[] =
	"without BPF the symbol vm_list is needed: CONFIG_KALLSYMS_ALL is off in this kernel";

static bool is_there(const char *path)
{
	return !access(path, F_OK);
}

static enum vm_vendor find_vendor(void)
{
	if (is_there("/sys/module/kvm_amd"))
		return VM_VENDOR_AMD;
	if (is_there("/sys/module/kvm_intel"))
		return VM_VENDOR_INTEL;
#ifdef __aarch64__
	/* Built in, no module of its own. */
	if (is_there("/dev/kvm"))
		return VM_VENDOR_ARM;
#endif
	return VM_VENDOR_UNKNOWN;
}

/* "none [integrity] confidentiality": the one in brackets holds. */
static bool locked_down(void)
{
	_cleanup_free_ char *text = NULL;

	if (file_read(AT_FDCWD, "/sys/kernel/security/lockdown", 4096, &text, NULL) || !text)
		return false;
	return strstr(text, "[confidentiality]");
}

/* What a refusal by the system most likely means. */
static const char *refusal(const char *otherwise)
{
	if (locked_down())
		return why_locked;
	return geteuid() ? why_not_root : otherwise;
}

/* The BTF of module @name, or of the kernel itself when the module is built in. */
static const struct btf *load_module_btf(const char *name, struct btf *base)
{
	char path[64];
	struct btf *btf;

	snprintf(path, sizeof(path), "/sys/kernel/btf/%s", name);
	if (!is_there(path))
		return base;
	btf = btf__parse_split(path, base);
	return libbpf_get_error(btf) ? NULL : btf;
}

static const char *vendor_module(enum vm_vendor vendor)
{
	switch (vendor) {
	case VM_VENDOR_AMD:
		return "kvm_amd";
	case VM_VENDOR_INTEL:
		return "kvm_intel";
	default:
		return "kvm";
	}
}

bool vm_kernel_has_task_work(const struct btf *kernel)
{
	const char *name = "bpf_task_work_schedule_signal";
	s32 id = btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC);

	return id > 0 &&
	       btf_vlen(btf__type_by_id(kernel, btf__type_by_id(kernel, id)->type)) == 4;
}

/* What lies between them in the area of each CPU. */
static s64 find_irqs_from_timers(const struct btf *kernel)
{
	u32 timers, irqs;

	if (vm_layout_percpu(kernel, "hrtimer_bases", &timers) ||
	    vm_layout_percpu(kernel, "kstat", &irqs))
		return 0;
	return (s64)irqs - timers;
}

static int load_layout(struct vm_host *host, const char **ret_why)
{
	struct btf *base = btf__load_vmlinux_btf();
	const struct btf *kvm = NULL, *vendor = NULL;
	int err = -EOPNOTSUPP;

	if (libbpf_get_error(base)) {
		*ret_why = why_no_btf;
		return -EOPNOTSUPP;
	}
	host->task_work = vm_kernel_has_task_work(base);
	host->irqs_from_timers = find_irqs_from_timers(base);
	*ret_why = why_no_kvm_btf;
	kvm = load_module_btf("kvm", base);
	vendor = load_module_btf(vendor_module(host->vendor), base);
	if (kvm && btf__find_by_name_kind(kvm, "kvm_vcpu", BTF_KIND_STRUCT) >= 0)
		err = vm_layout_load(&host->layout, kvm, vendor, ret_why);
	if (vendor != base)
		btf__free((struct btf *)vendor);
	if (kvm != base)
		btf__free((struct btf *)kvm);
	btf__free(base);
	return err;
}

static int open_probe(struct vm_host *host, u64 vcpu_release)
{
	int err = host_probe_open(vcpu_release, &host->probe);

	if (!err)
		host->kernel = host_probe_kernel(host->probe);
	else if (err == -EPERM || err == -EACCES)
		host->probe_why = refusal(why_no_bpf);
	else
		host->probe_why = err == -EOPNOTSUPP ? why_built_without : why_no_bpf;
	return err;
}

static int open_kcore(struct vm_host *host, const char **ret_why)
{
	int err;

	if (!host->vm_list) {
		*ret_why = why_no_list;
		return -EOPNOTSUPP;
	}
	err = kernel_open_kcore("/proc/kcore", &host->kernel);
	if (err)
		*ret_why = err == -EPERM || err == -EACCES ? refusal(why_no_kcore) : why_no_kcore;
	return err;
}

static int open_kernel(struct vm_host *host, enum vm_source source, u64 *ret_uret_list,
		       const char **ret_why)
{
	struct ksym syms[] = { { "kvm_vcpu_release" }, { "vm_list" }, { "kvm_uret_msrs_list" } };
	int err = ksyms_find(&host->proc, syms, ARRAY_SIZE(syms));

	if (err) {
		*ret_why = refusal(why_hidden);
		return err;
	}
	host->vm_list = syms[1].addr;
	*ret_uret_list = syms[2].addr;
	err = -EOPNOTSUPP;
	if (source != VM_SOURCE_KCORE) {
		host->probe_why = why_no_bpf;
		if (syms[0].addr)
			err = open_probe(host, syms[0].addr);
		if (!err)
			return 0;
		log_debug("no BPF: %s", host->probe_why);
	}
	if (source != VM_SOURCE_BPF)
		return open_kcore(host, ret_why);
	*ret_why = host->probe_why;
	return err;
}

/* KVM's and BPF's numbers of processes are the host's, and mean nothing, or others, in here. */
static bool is_contained(const struct proc *proc)
{
	struct stat ns;

	return !fstatat(proc->fd, "self/ns/pid", &ns, 0) && ns.st_ino != PID_NS_OF_HOST;
}

static int open_host(struct vm_host *host, enum vm_source source, const char **ret_why)
{
	struct kvm_reader reader;
	u64 uret_list = 0;
	int err;

	*ret_why = "/proc is not mounted";
	err = proc_open(&host->proc, "/proc");
	if (err)
		return err;
	host->vendor = find_vendor();
	host->shadows = host->vendor == VM_VENDOR_AMD && kvm_svm_shadows("/sys");
	if (host->vendor == VM_VENDOR_UNKNOWN) {
		*ret_why = vm_kvm_absence("/sys", "/proc/cpuinfo") ?: why_no_kvm;
		return -ENODEV;
	}
	if (is_contained(&host->proc)) {
		*ret_why = why_contained;
		return -EPERM;
	}
	err = load_layout(host, ret_why);
	err = err ?: open_kernel(host, source, &uret_list, ret_why);
	if (err)
		return err;
	reader = (struct kvm_reader){ host->kernel, &host->layout };
	host->vmx_lstar = kvm_vmx_find_lstar(&reader, uret_list);
	return 0;
}

/* Its warnings explain a refusal; its own debugging output says every relocation. */
static int print_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	char text[512];

	if (level == LIBBPF_DEBUG || log_get_level() < LOG_LEVEL_DEBUG)
		return 0;
	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	log_debug("%s", text);
	return 0;
}

int vm_host_open_source(enum vm_source source, struct vm_host **ret, const char **ret_why)
{
	_cleanup_(vm_host_close) struct vm_host *host = calloc(1, sizeof(*host));
	int err;

	*ret_why = "out of memory";
	if (!host)
		return -ENOMEM;
	host->proc = PROC_INIT;
	libbpf_set_print(print_libbpf);
	err = open_host(host, source, ret_why);
	if (err)
		return err;
	*ret_why = NULL;
	*ret = TAKE_PTR(host);
	return 0;
}

int vm_host_open(struct vm_host **ret, const char **ret_why)
{
	return vm_host_open_source(VM_SOURCE_AUTO, ret, ret_why);
}

void vm_host_close(struct vm_host *host)
{
	if (!host)
		return;
	kernel_close(host->kernel);
	proc_close(&host->proc);
	free(host);
}

enum vm_vendor vm_host_vendor(const struct vm_host *host)
{
	return host->vendor;
}

enum vm_source vm_host_source(const struct vm_host *host, const char **ret_why)
{
	if (ret_why)
		*ret_why = host->probe_why;
	return host->probe ? VM_SOURCE_BPF : VM_SOURCE_KCORE;
}

/* A VM that exists: its struct kvm and its process. */
struct found_vm {
	u64 kvm;
	pid_t pid;
};

struct search {
	struct vm_host *host;
	VEC(struct found_vm) found;
};

static int add_found(struct search *search, u64 kvm, pid_t pid)
{
	vec_for_each(&search->found, found)
		if (found->kvm == kvm)
			return 0;
	if (search->found.nr == MAX_VMS)
		return -E2BIG;
	return vec_push(&search->found, (struct found_vm){ kvm, pid });
}

/* The VM is of the process whose memory it has: others may have been handed the file. */
static int on_vcpu_file(const struct host_vcpu_file *file, void *arg)
{
	struct search *search = arg;
	struct vm_host *host = search->host;
	u64 kvm, mm;

	if (kernel_read_u64(host->kernel, file->kvm_vcpu + host->layout.vcpu_kvm, &kvm) ||
	    kernel_read_u64(host->kernel, kvm + host->layout.kvm_mm, &mm) || mm != file->mm)
		return 0;
	return add_found(search, kvm, file->pid);
}

/* The VMM that thread @tid belongs to: the thread may have ended and its id be another's. */
static int find_vmm(struct vm_host *host, pid_t tid, pid_t *ret)
{
	pid_t pid;
	int err = proc_tgid(&host->proc, tid, &pid);

	if (err)
		return err;
	if (!vmm_has_run_page(&host->proc, pid))
		return -ESRCH;
	*ret = pid;
	return 0;
}

/* The process of the thread that made the VM, or of one that runs a vCPU of it. */
static int find_process(struct vm_host *host, u64 kvm, pid_t *ret)
{
	struct kvm_reader reader = { host->kernel, &host->layout };
	struct vm vm = { 0 };
	u32 creator;
	int err = -ESRCH;

	if (host->layout.kvm_userspace_pid != LAYOUT_ABSENT &&
	    !kernel_read_u32(host->kernel, kvm + host->layout.kvm_userspace_pid, &creator))
		err = find_vmm(host, creator, ret);
	if (err && !kvm_read_vcpus(&reader, kvm, &vm))
		vec_for_each(&vm.vcpus, vcpu)
			if (err && vcpu->tid)
				err = find_vmm(host, vcpu->tid, ret);
	vec_deinit(&vm.vcpus);
	return err;
}

static int walk_vm_list(struct search *search)
{
	struct vm_host *host = search->host;
	u64 node;
	int err = kernel_read_u64(host->kernel, host->vm_list, &node);

	for (unsigned int i = 0; !err && node != host->vm_list; i++) {
		u64 kvm = node - host->layout.kvm_vm_list;
		pid_t pid;

		if (i == MAX_VMS || !node)
			return -EAGAIN;
		if (!find_process(host, kvm, &pid))
			err = add_found(search, kvm, pid);
		err = err ?: kernel_read_u64(host->kernel, node, &node);
	}
	return err;
}

static int find_vms(struct search *search)
{
	int err = -EAGAIN;

	if (search->host->probe)
		return host_probe_vcpu_files(search->host->probe, on_vcpu_file, search);
	for (int i = 0; i < LOAD_ATTEMPTS && err == -EAGAIN; i++) {
		search->found.nr = 0;
		err = walk_vm_list(search);
	}
	return err;
}

/* A vCPU's thread may have ended, and its id gone to another process. */
static void check_threads(struct vm_host *host, struct vm *vm)
{
	vec_for_each(&vm->vcpus, vcpu) {
		pid_t pid;

		if (vcpu->tid && (proc_tgid(&host->proc, vcpu->tid, &pid) || pid != vm->pid))
			vcpu->tid = 0;
	}
}

static void count_memory(struct vm *vm)
{
	vm->memory = 0;
	for (u32 i = 0; i < vm->slots.nr; i++) {
		const struct mem_slot *slot = &vm->slots.slots[i];

		if (!(slot->flags & MEM_SLOT_READONLY))
			vm->memory += slot->size;
		if (slot->flags & MEM_SLOT_GUEST_MEMFD && !vm->confidential_kind)
			vm->confidential_kind = "guest_memfd";
	}
}

/* The same for all vCPUs. Without any, or not to be had, nothing is taken for granted. */
static bool is_lazy(const struct kvm_reader *reader, const struct vm *vm)
{
	bool lazy = true;

	if (vm->vcpus.nr && kvm_arm64_lazy(reader, vm->vcpus.data[0].kvm_vcpu, &lazy))
		lazy = true;
	return lazy;
}

static int load_vm_once(struct vm_host *host, struct vm *vm)
{
	struct kvm_reader reader = { host->kernel, &host->layout };
	int err;

	vm->vcpus.nr = 0;
	err = kvm_read_vcpus(&reader, vm->kvm, vm);
	err = err ?: kvm_read_slots(&reader, vm->kvm, &vm->slots);
	err = err ?: kvm_read_confidential(&reader, vm->kvm, host->vendor, &vm->confidential_kind);
	if (!err && host->vendor == VM_VENDOR_ARM)
		vm->lazy = is_lazy(&reader, vm);
	return err;
}

static int load_vm(struct vm_host *host, struct vm *vm)
{
	int err = proc_start_time(&host->proc, vm->pid, &vm->start_time);

	if (err)
		return err;
	err = -EAGAIN;
	for (int i = 0; i < LOAD_ATTEMPTS && err == -EAGAIN; i++)
		err = load_vm_once(host, vm);
	if (err)
		return err;
	check_threads(host, vm);
	count_memory(vm);
	vm->confidential = vm->confidential_kind;
	err = vmm_identify(&host->proc, vm);
	return err ?: vmm_find_run_pages(&host->proc, vm);
}

static int add_vm(struct vm_host *host, const struct found_vm *found, struct vm_list *list)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int err;

	if (!vm)
		return -ENOMEM;
	vm->kvm = found->kvm;
	vm->pid = found->pid;
	err = load_vm(host, vm);
	err = err ?: vec_push(&list->vms, vm);
	if (err) {
		log_debug("VM of process %d left out: %s", vm->pid, error_text(err));
		vm_destroy(vm);
	}
	return err;
}

static int compare_vms(const void *a, const void *b)
{
	const struct vm *x = *(struct vm *const *)a, *y = *(struct vm *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->kvm < y->kvm ? -1 : x->kvm > y->kvm;
}

int vm_host_scan(struct vm_host *host, pid_t pid, struct vm_list *ret)
{
	struct search search = { .host = host };
	struct vm_list list = { 0 };
	int err = find_vms(&search);

	vec_for_each(&search.found, found) {
		if (err)
			break;
		if (pid && found->pid != pid)
			continue;
		err = add_vm(host, found, &list);
		/* What is gone by now is gone; what we cannot have does not keep us from others. */
		if (err == -ESRCH || err == -EFAULT)
			err = 0;
		else if (err && err != -ENOMEM)
			err = vec_push(&list.unread,
				       (struct vm_unread){ found->kvm, found->pid, err });
	}
	vec_deinit(&search.found);
	if (err) {
		vm_list_deinit(&list);
		return err;
	}
	if (list.vms.nr)
		qsort(list.vms.data, list.vms.nr, sizeof(*list.vms.data), compare_vms);
	*ret = list;
	return 0;
}

void vm_destroy(struct vm *vm)
{
	if (!vm)
		return;
	vec_deinit(&vm->vcpus);
	free(vm);
}

void vm_list_deinit(struct vm_list *list)
{
	vec_for_each(&list->vms, vm)
		vm_destroy(*vm);
	vec_deinit(&list->vms);
	vec_deinit(&list->unread);
}

/* The address of a struct kvm alone proves nothing: it may be another VM's by now. */
static int check_alive(struct vm_host *host, const struct vm *vm)
{
	struct search search = { .host = host };
	u64 start_time;
	int err = find_vms(&search);
	bool alive = false;

	vec_for_each(&search.found, found)
		alive = alive || (found->kvm == vm->kvm && found->pid == vm->pid);
	vec_deinit(&search.found);
	err = err ?: proc_start_time(&host->proc, vm->pid, &start_time);
	if (err)
		return err;
	return alive && start_time == vm->start_time ? 0 : -ESRCH;
}

static bool same_slots(const struct mem_slots *a, const struct mem_slots *b)
{
	return a->nr == b->nr && a->cut == b->cut &&
	       !memcmp(a->slots, b->slots, a->nr * sizeof(a->slots[0]));
}

int vm_host_refresh_slots(struct vm_host *host, struct vm *vm, bool *ret_changed)
{
	struct kvm_reader reader = { host->kernel, &host->layout };
	_cleanup_free_ struct mem_slots *slots = calloc(1, sizeof(*slots));
	int err;

	if (!slots)
		return -ENOMEM;
	err = check_alive(host, vm);
	err = err ?: kvm_read_slots(&reader, vm->kvm, slots);
	if (err)
		return err == -EFAULT ? -ESRCH : err;
	*ret_changed = !same_slots(slots, &vm->slots);
	vm->slots = *slots;
	count_memory(vm);
	vm->confidential = vm->confidential_kind;
	return 0;
}

bool vm_host_is_nested(struct vm_host *host, const struct vm_vcpu *vcpu)
{
	struct kvm_reader reader = { host->kernel, &host->layout };
	bool nested = false;

	return !kvm_read_nested(&reader, vcpu->kvm_vcpu, host->vendor, &nested) && nested;
}

int vm_host_slots_generation(struct vm_host *host, u64 kvm, u64 *ret)
{
	struct kvm_reader reader = { host->kernel, &host->layout };

	return kvm_slots_generation(&reader, kvm, ret);
}

int vm_open_memory(const struct vm *vm, struct mem_process **ret)
{
	if (vm->confidential)
		return -EOPNOTSUPP;
	return mem_process_open(vm->pid, vm->start_time, &vm->slots, ret);
}

const char *vm_host_peek_why(const struct vm_host *host)
{
	switch (host->vendor) {
	case VM_VENDOR_AMD:
		return host->shadows ? why_shadows : NULL;
	case VM_VENDOR_ARM:
		return NULL;
	case VM_VENDOR_INTEL:
		return kvm_vmx_peekable(&host->layout) ? NULL :
			"the layout of this kernel's struct kvm_vcpu_arch is not known";
	default:
		return "reading a guest's registers is not known for this processor";
	}
}

int vm_host_peek_regs(struct vm_host *host, const struct vm_vcpu *vcpu, struct vcpu_regs *ret)
{
	struct kvm_reader reader = { host->kernel, &host->layout };

	switch (host->vendor) {
	case VM_VENDOR_AMD:
		return kvm_peek_svm(&reader, vcpu->kvm_vcpu, ret);
	case VM_VENDOR_ARM:
		return kvm_peek_arm64(&reader, vcpu->kvm_vcpu, ret);
	case VM_VENDOR_INTEL:
		return kvm_peek_vmx(&reader, vcpu->kvm_vcpu, host->vmx_lstar, ret);
	default:
		return -EOPNOTSUPP;
	}
}

int vm_host_vcpu_halt(struct vm_host *host, const struct vm_vcpu *vcpu, struct vm_vcpu_halt *ret)
{
	struct kvm_reader reader = { host->kernel, &host->layout };

	return kvm_read_halt(&reader, vcpu->kvm_vcpu, ret);
}

int vm_host_vcpu_counters(struct vm_host *host, const struct vm_vcpu *vcpu,
			  struct vm_vcpu_counters *ret)
{
	struct kvm_reader reader = { host->kernel, &host->layout };

	return kvm_read_counters(&reader, vcpu->kvm_vcpu, ret);
}

bool vm_host_has_task_work(const struct vm_host *host)
{
	return host->task_work;
}

s64 vm_host_irqs_from_timers(const struct vm_host *host)
{
	return host->irqs_from_timers;
}

void vm_host_vmx_msrs(const struct vm_host *host, struct vm_vmx_msrs *ret)
{
	u32 lstar = host->vmx_lstar, gs = host->layout.vmx_kernel_gs_base;

	*ret = (struct vm_vmx_msrs){ 0 };
	if (host->vendor != VM_VENDOR_INTEL)
		return;
	ret->lstar = lstar == LAYOUT_ABSENT ? 0 : lstar;
	ret->kernel_gs_base = gs == LAYOUT_ABSENT ? 0 : gs;
}
