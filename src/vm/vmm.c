/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VMM as a process. All that is here was written by it or by who started it, and is neither
 * trusted nor needed: with no VMM known everything works but the kick.
 */
#include "vm/vmm.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CMDLINE_MAX (1U << 20)
#define STATUS_MAX (1U << 16)
#define MAPS_MAX (64U << 20)

/*
 * SIGRTMIN+0 of the VMM's C library: glibc keeps two real-time signals for itself, musl three, and
 * both are in use (Firecracker's releases are static musl programs).
 */
#define RTMIN_GLIBC 34
#define RTMIN_MUSL 35

struct vmm_kind {
	const char *name;
	const char *programs[4];	/* the program's name begins with one of these */
	const char *options[2];		/* before or with =: the VM's name */
	int kicks[2];			/* signals it kicks its vCPUs with, the likelier first */
};

static const struct vmm_kind kinds[] = {
	{ "qemu", { "qemu" }, { "-name", "--name" }, { SIGUSR1 } },
	{ "firecracker", { "firecracker" }, { "--id" }, { RTMIN_GLIBC, RTMIN_MUSL } },
	{ "cloud-hypervisor", { "cloud-hyperviso" }, { NULL }, { RTMIN_GLIBC, RTMIN_MUSL } },
	{ "crosvm", { "crosvm" }, { "--name" }, { RTMIN_GLIBC, RTMIN_MUSL } },
	/* Its SIGRTMIN+0 ends the vCPU's thread. */
	{ "kvmtool", { "lkvm", "kvmtool" }, { "--name", "-n" }, { 0 } },
	{ "kvmprof-vmm", { "kvmprof-vmm" }, { "--name" }, { 0 } },
};

static const struct vmm_kind *find_program(const char *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		for (size_t j = 0; j < ARRAY_SIZE(kinds[i].programs); j++) {
			const char *prefix = kinds[i].programs[j];

			if (prefix && !strncmp(program, prefix, strlen(prefix)))
				return &kinds[i];
		}
	return NULL;
}

static const struct vmm_kind *find_kind(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

const char *vmm_kind_name(const char *program)
{
	const struct vmm_kind *kind = find_program(program);

	return kind ? kind->name : NULL;
}

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

/* Copies up to a comma that is not doubled; returns what is behind it, NULL at the end. */
static const char *copy_field(const char *value, char *out, size_t size)
{
	size_t len = 0;

	for (; *value; value++) {
		if (*value == ',' && value[1] != ',')
			break;
		if (*value == ',')
			value++;
		if (len + 1 < size)
			out[len++] = *value;
	}
	out[len] = '\0';
	return *value ? value + 1 : NULL;
}

/* QEMU's form: "X,…" or "…,guest=X,…", a comma in X doubled. */
static void copy_qemu_name(const char *value, char *out, size_t size)
{
	char rest[VM_NAME_LEN];
	bool first = true;

	out[0] = '\0';
	while (value) {
		if (!strncmp(value, "guest=", 6)) {
			copy_field(value + 6, out, size);
			return;
		}
		value = copy_field(value, rest, sizeof(rest));
		if (first && !strchr(rest, '='))
			snprintf(out, size, "%s", rest);
		first = false;
	}
}

/* The value of @option in "OPTION VALUE" or "OPTION=VALUE" at @arg; NULL when it is not there. */
static const char *option_value(const char *arg, const char *end, const char *option)
{
	size_t len = strlen(option);
	const char *next = arg + strlen(arg) + 1;

	if (strncmp(arg, option, len))
		return NULL;
	if (arg[len] == '=')
		return arg + len + 1;
	return !arg[len] && next < end ? next : NULL;
}

/* Searches the NUL-separated arguments after the program's own name. */
static const char *find_name(const struct vmm_kind *kind, const char *cmdline, size_t size)
{
	const char *end = cmdline + size;

	for (const char *arg = cmdline + strlen(cmdline) + 1; arg < end; arg += strlen(arg) + 1)
		for (size_t i = 0; i < ARRAY_SIZE(kind->options); i++) {
			const char *value = NULL;

			if (kind->options[i])
				value = option_value(arg, end, kind->options[i]);
			if (value)
				return value;
		}
	return NULL;
}

bool vmm_parse_name(const char *vmm, const char *cmdline, size_t size, char *out, size_t out_size)
{
	const struct vmm_kind *kind = find_kind(vmm);
	const char *value = kind && size ? find_name(kind, cmdline, size) : NULL;

	if (!value)
		return false;
	if (!strcmp(vmm, "qemu"))
		copy_qemu_name(value, out, out_size);
	else
		snprintf(out, out_size, "%s", value);
	return out[0];
}

static int read_name(const struct proc *proc, struct vm *vm)
{
	_cleanup_free_ char *cmdline = NULL;
	size_t size;
	int err = proc_read(proc, vm->pid, "cmdline", CMDLINE_MAX, &cmdline, &size);

	if (err && err != -E2BIG)
		return err;
	if (err || !vmm_parse_name(vm->vmm, cmdline, size, vm->name, sizeof(vm->name)))
		snprintf(vm->name, sizeof(vm->name), "%s-%d", vm->vmm, vm->pid);
	return 0;
}

u64 vmm_parse_caught(const char *status)
{
	const char *line = strstr(status, "\nSigCgt:");
	unsigned long long caught;

	return line && sscanf(line, "\nSigCgt: %llx", &caught) == 1 ? caught : 0;
}

/*
 * A signal that the VMM has no handler for would end it: what it is known to use must also be among
 * the signals that it catches.
 */
int vmm_find_kick(const char *vmm, u64 caught)
{
	const struct vmm_kind *kind = find_kind(vmm);

	if (!kind)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kind->kicks); i++) {
		int number = kind->kicks[i];

		if (number && caught >> (number - 1) & 1)
			return number;
	}
	return 0;
}

int vmm_identify(const struct proc *proc, struct vm *vm)
{
	_cleanup_free_ char *status = NULL;
	char program[NAME_MAX + 1];
	int err = read_program(proc, vm->pid, program, sizeof(program));

	if (err)
		return err;
	snprintf(vm->vmm, sizeof(vm->vmm), "%.31s", vmm_kind_name(program) ?: program);
	err = read_name(proc, vm);
	err = err ?: proc_read(proc, vm->pid, "status", STATUS_MAX, &status, NULL);
	if (err)
		return err;
	vm->caught_signals = vmm_parse_caught(status);
	vm->kick_signal = vmm_find_kick(vm->vmm, vm->caught_signals);
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
