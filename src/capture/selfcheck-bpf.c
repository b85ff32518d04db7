/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel lets BPF do: each capture program is loaded, and unloaded again. */
#include <unistd.h>

#include "base/errors.h"
#include "capture/capture.h"
#include "capture/selfcheck-private.h"

#ifdef HAVE_BPF
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/shared.h"
#include "model/wire.h"

#include "capture.skel.h"

static void check_btf(struct selfcheck *check)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		selfcheck_add(check, "btf", SELFCHECK_NO,
			      "without CONFIG_DEBUG_INFO_BTF only mode ptrace is left",
			      "/sys/kernel/btf/vmlinux: %s", error_text(-errno));
	else
		selfcheck_add(check, "btf", SELFCHECK_YES, NULL, "the kernel tells its types");
}

static void check_ring(struct selfcheck *check)
{
	int has = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL);

	if (has > 0)
		selfcheck_add(check, "bpf.ring", SELFCHECK_YES, NULL, "ring buffers");
	else
		selfcheck_add(check, "bpf.ring", SELFCHECK_NO, NULL, "no ring buffers: %s",
			      error_text(has < 0 ? has : -EOPNOTSUPP));
}

static void check_loop(struct selfcheck *check)
{
	int has = libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL);

	if (has > 0)
		selfcheck_add(check, "bpf.loop", SELFCHECK_YES, NULL, "bpf_loop()");
	else if (has == -EPERM || has == -EACCES)
		selfcheck_add(check, "bpf.loop", SELFCHECK_NO, "be root, with lockdown off",
			      "BPF is not permitted");
	else
		selfcheck_add(check, "bpf.loop", SELFCHECK_NO, "Linux 5.17 or later",
			      "no bpf_loop(): the kernel's BPF is too old");
}

/* Opens the object with the one program of that name to load. */
static struct capture_bpf *open_program(const char *name, const struct vm_host *host)
{
	struct capture_bpf *skel = capture_bpf__open();
	struct bpf_program *program;

	if (!skel)
		return NULL;
#ifdef __x86_64__
	skel->rodata->amd = vm_host_vendor(host) == VM_VENDOR_AMD;
#endif
	skel->rodata->max_depth = WIRE_MAX_USER_FRAMES;
	skel->rodata->user_stack = WIRE_MAX_STACK_BYTES;
	skel->rodata->nr_events = 1;
	skel->rodata->task_work = capture_has_task_work(host);
	bpf_map__set_max_entries(skel->maps.scratches, 2 * libbpf_num_possible_cpus());
	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, !strcmp(bpf_program__name(program), name));
	return skel;
}

static void check_program(struct selfcheck *check, const char *name, const struct vm_host *host)
{
	struct capture_bpf *skel = open_program(name, host);
	int err = skel ? capture_bpf__load(skel) : -errno;
	char label[48];

	snprintf(label, sizeof(label), "bpf.%s", name);
	if (err)
		selfcheck_add(check, label, SELFCHECK_NO, "-v shows what the kernel says",
			      "does not load: %s", error_text(err));
	else
		selfcheck_add(check, label, SELFCHECK_YES, NULL, "loads");
	capture_bpf__destroy(skel);
}

static void check_programs(struct selfcheck *check, const struct vm_host *host)
{
	struct capture_bpf *skel = host ? capture_bpf__open() : NULL;
	struct bpf_program *program;

	if (!skel) {
		selfcheck_add(check, "bpf.programs", SELFCHECK_NONE, NULL,
			      "cannot be tried without KVM and its types");
		return;
	}
	bpf_object__for_each_program(program, skel->obj)
		check_program(check, bpf_program__name(program), host);
	capture_bpf__destroy(skel);
}

/* How deferred mode reaches a vCPU without a signal. */
static void check_task_work(struct selfcheck *check, const struct vm_host *host)
{
	if (capture_has_task_work(host))
		selfcheck_add(check, "bpf.task-work", SELFCHECK_YES, NULL,
			      "vCPUs are kicked without a signal");
	else
		selfcheck_add(check, "bpf.task-work", SELFCHECK_NONE, NULL,
			      "the kernel has none (Linux 7.0): vCPUs are kicked by signals");
}

void selfcheck_bpf(struct selfcheck *check, const struct vm_host *host)
{
	check_btf(check);
	check_ring(check);
	check_loop(check);
	check_programs(check, host);
	check_task_work(check, host);
}

#else

void selfcheck_bpf(struct selfcheck *check, const struct vm_host *host)
{
	(void)host;
	selfcheck_add(check, "bpf", SELFCHECK_NO, "only mode ptrace is left",
		      "kvmprof was built without BPF");
}

#endif
