/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vm-inspect SOURCE PID: keeps the VM of a VMM open as a recorder does and obeys lines on standard
 * input, so that a lab test can change the VM in between. Every answer ends with a line ".".
 *
 *	scan                 finds the VM again
 *	slots                its memory slots: gpa size hva flags
 *	vcpus                its vCPUs: id tid run_hva
 *	regs ID              registers of a vCPU
 *	refresh              reads the slots again: "changed", "same" or the error
 *	open                 opens its memory
 *	read GPA SIZE FILE   guest memory to a file: "ok" or the error
 */
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "vm/vm.h"

#define READ_STEP 65536

struct session {
	struct vm_host *host;
	pid_t pid;
	struct vm_list list;
	struct mem_process *memory;
};

static void say_error(int err)
{
	printf("error %d: %s\n", -err, error_text(err));
}

static struct vm *the_vm(struct session *session)
{
	return session->list.vms.nr ? session->list.vms.data[0] : NULL;
}

static void scan(struct session *session)
{
	int err;

	vm_list_deinit(&session->list);
	err = vm_host_scan(session->host, session->pid, &session->list);
	if (err)
		say_error(err);
	else
		printf("%zu\n", session->list.vms.nr);
}

static void show_slots(const struct vm *vm)
{
	for (u32 i = 0; i < vm->slots.nr; i++) {
		const struct mem_slot *slot = &vm->slots.slots[i];

		printf("%llx %llx %llx %llx\n", slot->gpa, slot->size, slot->hva, slot->flags);
	}
}

static void show_vcpus(const struct vm *vm)
{
	for (size_t i = 0; i < vm->vcpus.nr; i++) {
		const struct vm_vcpu *vcpu = &vm->vcpus.data[i];

		printf("%u %d %llx\n", vcpu->id, vcpu->tid, vcpu->run_hva);
	}
}

static void show_regs(struct session *session, const struct vm *vm, u32 id)
{
	static const char *const names[] = {
		"RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP",
		"R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15",
	};
	struct vcpu_regs regs;
	int err = -ENOENT;

	for (size_t i = 0; i < vm->vcpus.nr; i++)
		if (vm->vcpus.data[i].id == id)
			err = vm_host_peek_regs(session->host, &vm->vcpus.data[i], &regs);
	if (err) {
		say_error(err);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		printf("%s=%016llx\n", names[i], regs.gpr[i]);
	printf("RIP=%016llx\nRFL=%08llx\nCR0=%08llx\nCR3=%016llx\nCR4=%08llx\nEFER=%016llx\n",
	       regs.pc, regs.flags, regs.x86.cr0, regs.x86.cr3, regs.x86.cr4, regs.x86.efer);
	printf("FS=%016llx\nGS=%016llx\nCPL=%d\n", regs.x86.fs_base, regs.x86.gs_base,
	       regs.user ? 3 : 0);
}

static void refresh(struct session *session, struct vm *vm)
{
	bool changed;
	int err = vm_host_refresh_slots(session->host, vm, &changed);

	if (err)
		say_error(err);
	else
		puts(changed ? "changed" : "same");
	if (!err && session->memory)
		mem_process_set_slots(session->memory, &vm->slots);
}

static void open_memory(struct session *session, const struct vm *vm)
{
	int err;

	mem_process_close(TAKE_PTR(session->memory));
	err = vm_open_memory(vm, &session->memory);
	if (err)
		say_error(err);
	else
		puts("ok");
}

static int read_memory(struct session *session, u64 gpa, u64 size, const char *path)
{
	_cleanup_free_ u8 *data = malloc(size);

	if (!data)
		return -ENOMEM;
	if (!session->memory)
		return -EBADF;
	for (u64 done = 0; done < size; done += READ_STEP) {
		int err = mem_read(mem_process_reader(session->memory), GPA(gpa + done),
				   data + done, MIN(size - done, (u64)READ_STEP));

		if (err)
			return err;
	}
	return file_write_atomic(path, data, size);
}

static void obey(struct session *session, const char *line)
{
	struct vm *vm = the_vm(session);
	char path[256];
	u64 gpa, size;
	u32 id;

	if (!strcmp(line, "scan")) {
		scan(session);
	} else if (!vm) {
		puts("no VM");
	} else if (!strcmp(line, "slots")) {
		show_slots(vm);
	} else if (!strcmp(line, "vcpus")) {
		show_vcpus(vm);
	} else if (sscanf(line, "regs %u", &id) == 1) {
		show_regs(session, vm, id);
	} else if (!strcmp(line, "refresh")) {
		refresh(session, vm);
	} else if (!strcmp(line, "open")) {
		open_memory(session, vm);
	} else if (sscanf(line, "read %llx %llx %255s", &gpa, &size, path) == 3) {
		int err = read_memory(session, gpa, size, path);

		if (err)
			say_error(err);
		else
			puts("ok");
	} else {
		puts("what?");
	}
}

int main(int argc, char **argv)
{
	struct session session = { 0 };
	enum vm_source source;
	char line[512];
	const char *why;

	if (argc != 3)
		return 2;
	source = !strcmp(argv[1], "bpf") ? VM_SOURCE_BPF : VM_SOURCE_KCORE;
	session.pid = atoi(argv[2]);
	if (vm_host_open_source(source, &session.host, &why)) {
		log_error("%s", why);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		obey(&session, line);
		puts(".");
		fflush(stdout);
	}
	mem_process_close(session.memory);
	vm_list_deinit(&session.list);
	vm_host_close(session.host);
	return 0;
}
