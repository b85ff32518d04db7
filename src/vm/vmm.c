/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VMM as a process. All that is here was written by it or by who started it, and is neither
 * trusted nor needed: with no VMM known everything works but the kick.
 */
#include "vm/vmm.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "vm/vmm-kinds.h"
#include "vm/vmm-name.h"

#define COMM_MAX 64
#define CGROUP_MAX (1U << 16)
#define CMDLINE_MAX (1U << 20)
#define STATUS_MAX (1U << 16)
#define MAPS_MAX (64U << 20)

/* The last part of the executable's path, else the name that the process gives itself. */
static int read_program(const struct proc *proc, pid_t pid, char *out, size_t size)
{
	_cleanup_free_ char *comm = NULL;
	char path[PATH_MAX];
	const char *name;
	int err = proc_read_link(proc, pid, "exe", path, sizeof(path));

	if (!err) {
		char *deleted = strstr(path, " (deleted)");

		if (deleted)	/* replaced by an upgrade while it runs */
			*deleted = '\0';
		name = strrchr(path, '/');
		name = name ? name + 1 : path;
	} else {
		err = proc_read(proc, pid, "comm", CMDLINE_MAX, &comm, NULL);
		if (err)
			return err;
		comm[strcspn(comm, "\n")] = '\0';
		name = comm;
	}
	snprintf(out, size, "%.*s", NAME_MAX, name);
	return 0;
}

/* What some thread of its vCPUs is called; false when none has run yet. */
static bool read_thread_name(const struct proc *proc, const struct vm *vm, char *out, size_t size)
{
	vec_for_each(&vm->vcpus, vcpu) {
		_cleanup_free_ char *comm = NULL;
		char name[64];

		if (!vcpu->tid)
			continue;
		snprintf(name, sizeof(name), "task/%d/comm", vcpu->tid);
		if (proc_read(proc, vm->pid, name, COMM_MAX, &comm, NULL))
			continue;
		snprintf(out, size, "%.*s", (int)strcspn(comm, "\n"), comm);
		return true;
	}
	return false;
}

/* By what its VMM was told, else by the machine that it was registered as, else "VMM-PID". */
static int read_name(const struct proc *proc, const struct vmm_kind *kind, struct vm *vm)
{
	_cleanup_free_ char *cmdline = NULL, *cgroup = NULL;
	size_t size;
	int err = proc_read(proc, vm->pid, "cmdline", CMDLINE_MAX, &cmdline, &size);

	if (err && err != -E2BIG)
		return err;
	if (!err && vmm_name_from_cmdline(kind, cmdline, size, vm->name, sizeof(vm->name)))
		return 0;
	if (!proc_read(proc, vm->pid, "cgroup", CGROUP_MAX, &cgroup, NULL) &&
	    vmm_name_from_cgroup(cgroup, vm->name, sizeof(vm->name)))
		return 0;
	snprintf(vm->name, sizeof(vm->name), "%s-%d", vm->vmm, vm->pid);
	return 0;
}

u64 vmm_parse_caught(const char *status)
{
	const char *line = strstr(status, "\nSigCgt:");
	unsigned long long caught;

	return line && sscanf(line, "\nSigCgt: %llx", &caught) == 1 ? caught : 0;
}

int vmm_identify(const struct proc *proc, struct vm *vm)
{
	_cleanup_free_ char *status = NULL;
	char program[NAME_MAX + 1], thread[COMM_MAX];
	const struct vmm_kind *kind;
	int err = read_program(proc, vm->pid, program, sizeof(program));

	if (err)
		return err;
	kind = vmm_kind_find(program, read_thread_name(proc, vm, thread, sizeof(thread)) ? thread :
											   NULL);
	snprintf(vm->vmm, sizeof(vm->vmm), "%.31s", kind ? kind->name : program);
	err = read_name(proc, kind, vm);
	err = err ?: proc_read(proc, vm->pid, "status", STATUS_MAX, &status, NULL);
	if (err)
		return err;
	vm->caught_signals = vmm_parse_caught(status);
	vm->kick_signal = vmm_kind_kick(kind, vm->caught_signals);
	return 0;
}

/*
 * "7f2b1c000000-7f2b1c003000 rw-s 00000000 00:0e 1033 anon_inode:kvm-vcpu:0": the run page is at
 * the file's start; what else may be mapped of it (the dirty ring) is not.
 */
static bool parse_run_page(const char *line, u64 *ret_start, u32 *ret_id)
{
	unsigned long long start, offset;
	int at = 0;

	if (sscanf(line, "%llx-%*x %*s %llx %*s %*s anon_inode:kvm-vcpu:%u%n", &start, &offset,
		   ret_id, &at) != 3 || !at)
		return false;
	*ret_start = start;
	return offset == 0;
}

static void set_run_page(struct vm *vm, u32 id, u64 start, bool *ambiguous)
{
	vec_for_each(&vm->vcpus, vcpu)
		if (vcpu->id == id) {
			/* A second VM in the process has a vCPU of that number, too. */
			*ambiguous = *ambiguous || vcpu->run_hva;
			vcpu->run_hva = start;
		}
}

void vmm_parse_run_pages(char *maps, struct vm *vm)
{
	bool ambiguous = false;
	char *save = NULL;

	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		u64 start;
		u32 id;

		if (strstr(line, "anon_inode:kvm-vcpu:") && parse_run_page(line, &start, &id))
			set_run_page(vm, id, start, &ambiguous);
	}
	if (ambiguous)
		vec_for_each(&vm->vcpus, vcpu)
			vcpu->run_hva = 0;
}

bool vmm_has_run_page(const struct proc *proc, pid_t pid)
{
	_cleanup_free_ char *maps = NULL;

	return !proc_read(proc, pid, "maps", MAPS_MAX, &maps, NULL) &&
	       strstr(maps, " anon_inode:kvm-vcpu:");
}

int vmm_find_run_pages(const struct proc *proc, struct vm *vm)
{
	_cleanup_free_ char *maps = NULL;
	int err = proc_read(proc, vm->pid, "maps", MAPS_MAX, &maps, NULL);

	if (err)
		return err;
	vmm_parse_run_pages(maps, vm);
	return 0;
}
