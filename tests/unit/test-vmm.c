/* SPDX-License-Identifier: GPL-2.0-only */
/* VMMs as processes: names, kick signals and run pages, out of /proc trees of known machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "vm/ksyms.h"
#include "vm/vmm.h"

static char root[64];
static struct proc proc;

static void put_bytes(const char *name, const void *data, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(file_write_atomic(path, data, size), 0);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

static void put_exe(const char *name, const char *target)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	unlink(path);
	assert_int_equal(symlink(target, path), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/kvmprof-vmm-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	return proc_open(&proc, root);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	proc_close(&proc);
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	return system(command);
}

static void test_caught(void **state)
{
	(void)state;
	assert_int_equal(vmm_parse_caught("Name:\tx\nSigCgt:\t00000001000058e8\n"), 0x1000058e8);
	assert_int_equal(vmm_parse_caught("SigCgt:\t1\n"), 0);
	assert_int_equal(vmm_parse_caught("Name:\tx\n"), 0);
	assert_int_equal(vmm_parse_caught("\nSigCgt:\txyz"), 0);
}

static void add_vcpus(struct vm *vm, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		assert_int_equal(vec_push(&vm->vcpus, (struct vm_vcpu){ .id = i }), 0);
}

static void test_run_pages(void **state)
{
	/* A file that only looks like one; a dirty ring; QEMU's pages; one of no vCPU of ours. */
	char maps[] =
		"7f67d81a0000-7f67d81a3000 r--p 00000000 fe:00 77 /tmp/anon_inode:kvm-vcpu:1\n"
		"7f67d81a4000-7f67d81a5000 rw-s 00040000 00:0e 43   anon_inode:kvm-vcpu:1\n"
		"7f67d81a9000-7f67d81ac000 rw-s 00000000 00:0e 43         anon_inode:kvm-vcpu:1\n"
		"7f67d81ac000-7f67d81af000 rw-s 00000000 00:0e 43         anon_inode:kvm-vcpu:0\n"
		"7f67d81b0000-7f67d81b3000 rw-s 00000000 00:0e 43         anon_inode:kvm-vcpu:9\n"
		"7f67d81c0000-7f67d81c3000 rw-p 00000000 00:00 0\n";
	char twice[] =
		"1000-4000 rw-s 00000000 00:0e 43 anon_inode:kvm-vcpu:0\n"
		"5000-8000 rw-s 00000000 00:0e 43 anon_inode:kvm-vcpu:0\n";
	char nothing[] = "";
	struct vm vm = { 0 };

	(void)state;
	add_vcpus(&vm, 3);
	vmm_parse_run_pages(maps, &vm);
	assert_int_equal(vm.vcpus.data[0].run_hva, 0x7f67d81ac000);
	assert_int_equal(vm.vcpus.data[1].run_hva, 0x7f67d81a9000);
	assert_int_equal(vm.vcpus.data[2].run_hva, 0);
	vmm_parse_run_pages(nothing, &vm);
	assert_int_equal(vm.vcpus.data[0].run_hva, 0x7f67d81ac000);
	vm.vcpus.data[0].run_hva = 0;
	vmm_parse_run_pages(twice, &vm);
	assert_int_equal(vm.vcpus.data[0].run_hva, 0);
	vec_deinit(&vm.vcpus);
}

static void put_process(int pid, const char *exe, const char *comm, const char *args, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/cmdline", pid);
	put_bytes(path, args, size);
	snprintf(path, sizeof(path), "%d/comm", pid);
	put(path, comm);
	snprintf(path, sizeof(path), "%d/status", pid);
	put(path, "Name:\tx\nTgid:\t1\nSigCgt:\t0000000500000200\n");
	snprintf(path, sizeof(path), "%d/exe", pid);
	if (exe)
		put_exe(path, exe);
}

static void test_identify(void **state)
{
	static const char qemu[] = "/usr/bin/qemu-kvm\0-name\0guest=db,debug-threads=on\0";
	static const char fc[] = "/firecracker\0--id\0fc-7\0";
	struct vm vm = { .pid = 10 };

	(void)state;
	put_process(10, "/usr/bin/qemu-kvm (deleted)", "CPU 0/KVM\n", qemu, sizeof(qemu) - 1);
	put_process(11, NULL, "firecracker\n", fc, sizeof(fc) - 1);
	put_process(12, "/opt/my vmm", "my vmm\n", "", 0);
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.vmm, "qemu");
	assert_string_equal(vm.name, "db");
	assert_int_equal(vm.kick_signal, SIGUSR1);
	assert_int_equal(vm.caught_signals, 0x500000200);
	vm.pid = 11;
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.vmm, "firecracker");
	assert_string_equal(vm.name, "fc-7");
	assert_int_equal(vm.kick_signal, 35);
	vm.pid = 12;
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.vmm, "my vmm");
	assert_string_equal(vm.name, "my vmm-12");
	assert_int_equal(vm.kick_signal, 0);
	vm.pid = 13;
	assert_int_equal(vmm_identify(&proc, &vm), -ESRCH);
}

/* A VMM that is a library has its user's name, and is known by its threads. */
static void test_identify_by_thread(void **state)
{
	static const char args[] = "/usr/bin/containerd-shim-kata-v2\0-id\0box1\0";
	struct vm vm = { .pid = 10 };

	(void)state;
	put_process(10, "/usr/bin/containerd-shim-kata-v2", "x\n", args, sizeof(args) - 1);
	put("10/task/15/comm", "fc_vcpu 0\n");
	add_vcpus(&vm, 3);
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.vmm, "containerd-shim-kata-v2");
	assert_int_equal(vm.kick_signal, 0);
	/* One that has not run, one that has ended. */
	vm.vcpus.data[1].tid = 14;
	vm.vcpus.data[2].tid = 15;
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.vmm, "libkrun");
	assert_string_equal(vm.name, "libkrun-10");
	assert_int_equal(vm.kick_signal, 35);
	put("10/task/15/comm", "db_vcpu0\n");
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.vmm, "dragonball");
	assert_string_equal(vm.name, "box1");
	vec_deinit(&vm.vcpus);
}

static void test_identify_by_machine(void **state)
{
	static const char qemu[] = "/usr/bin/qemu-system-x86_64\0-S\0";
	struct vm vm = { .pid = 10 };

	(void)state;
	put_process(10, "/usr/bin/qemu-system-x86_64", "x\n", qemu, sizeof(qemu) - 1);
	put("10/cgroup", "0::/machine.slice/machine-qemu\\x2d3\\x2dweb.scope/libvirt/emulator\n");
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.name, "web");
	put("10/cgroup", "0::/system.slice/x.service\n");
	assert_int_equal(vmm_identify(&proc, &vm), 0);
	assert_string_equal(vm.name, "qemu-10");
}

static void test_has_run_page(void **state)
{
	(void)state;
	put("20/maps", "1000-4000 rw-s 00000000 00:0e 43 anon_inode:kvm-vcpu:0\n");
	put("21/maps", "1000-4000 rw-s 00000000 00:0e 43 /tmp/anon_inode:kvm-vcpu:0\n");
	assert_true(vmm_has_run_page(&proc, 20));
	assert_false(vmm_has_run_page(&proc, 21));
	assert_false(vmm_has_run_page(&proc, 22));
}

static void test_ksyms(void **state)
{
	struct ksym syms[] = { { "kvm_vcpu_release" }, { "vm_list" }, { "nothing" } };

	(void)state;
	put("kallsyms", "0000000000000000 A fixed_percpu_data\n"
			"ffffffff81000000 T _text\n"
			"ffffffffc0a31000 t kvm_vcpu_release_all\t[kvm]\n"
			"ffffffffc0a31f20 t kvm_vcpu_release.isra.0\t[kvm]\n"
			"ffffffffc0a90000 D vm_list\t[kvm]\n"
			"ffffffffc0b90000 d vm_list\t[other]\n"
			"garbage\n\nffffffffc0b90001 \n");
	assert_int_equal(ksyms_find(&proc, syms, ARRAY_SIZE(syms)), 0);
	assert_int_equal(syms[0].addr, 0xffffffffc0a31f20);
	assert_int_equal(syms[1].addr, 0xffffffffc0a90000);
	assert_int_equal(syms[2].addr, 0);
	put("kallsyms", "0000000000000000 T _text\n0000000000000000 t kvm_vcpu_release\t[kvm]\n");
	assert_int_equal(ksyms_find(&proc, syms, ARRAY_SIZE(syms)), -EPERM);
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caught),
		cmocka_unit_test(test_run_pages),
		TREE_TEST(test_identify),
		TREE_TEST(test_identify_by_thread),
		TREE_TEST(test_identify_by_machine),
		TREE_TEST(test_has_run_page),
		TREE_TEST(test_ksyms),
	};
#undef TREE_TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
