/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VMMs are known, and what they may be kicked with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>

#include "vm/vmm-kinds.h"

static const char *kind_name(const char *program, const char *thread)
{
	const struct vmm_kind *kind = vmm_kind_find(program, thread);

	return kind ? kind->name : NULL;
}

static void test_programs(void **state)
{
	(void)state;
	assert_string_equal(kind_name("qemu-system-x86_64", NULL), "qemu");
	assert_string_equal(kind_name("qemu-kvm", "CPU 0/KVM"), "qemu");
	assert_string_equal(kind_name("firecracker-v1.7.0", "fc_vcpu 0"), "firecracker");
	assert_string_equal(kind_name("cloud-hypervisor-static", NULL), "cloud-hypervisor");
	assert_string_equal(kind_name("cloud-hyperviso", NULL), "cloud-hypervisor");
	assert_string_equal(kind_name("lkvm-static", NULL), "kvmtool");
	assert_string_equal(kind_name("stratovirt", NULL), "stratovirt");
	assert_string_equal(kind_name("VBoxHeadless", NULL), "virtualbox");
	assert_string_equal(kind_name("runsc", NULL), "gvisor");
	assert_null(kind_name("kvm_selftest", NULL));
	assert_null(kind_name("", NULL));
	assert_null(kind_name("", ""));
}

static void test_threads(void **state)
{
	(void)state;
	assert_string_equal(kind_name("crun", "fc_vcpu 12"), "libkrun");
	assert_string_equal(kind_name("containerd-shim-kata-v2", "db_vcpu0"), "dragonball");
	assert_string_equal(kind_name("my-vm", "crosvm_vcpu3"), "crosvm");
	assert_null(kind_name("crun", "fc_vcpu "));
	assert_null(kind_name("crun", "fc_vcpu x"));
	assert_null(kind_name("crun", "fc_vcpu 1x"));
	assert_null(kind_name("crun", "fc_api"));
	assert_null(kind_name("x", "vcpu0"));
}

#define CAUGHT(number) (1ULL << ((number) - 1))

static int kick(const char *program, u64 caught)
{
	return vmm_kind_kick(vmm_kind_find(program, NULL), caught);
}

static void test_kicks(void **state)
{
	(void)state;
	/* QEMU 7.2 on Debian 12. */
	assert_int_equal(kick("qemu", 0x100005ae8), SIGUSR1);
	assert_int_equal(kick("qemu", 0x1000058e8), 0);
	assert_int_equal(kick("qemu", 0), 0);
	/* Of two C libraries. */
	assert_int_equal(kick("firecracker", CAUGHT(34)), 34);
	assert_int_equal(kick("firecracker", CAUGHT(35)), 35);
	assert_int_equal(kick("firecracker", CAUGHT(36) | CAUGHT(SIGUSR1)), 0);
	assert_int_equal(kick("cloud-hypervisor", CAUGHT(34)), 34);
	assert_int_equal(kick("crosvm", CAUGHT(34)), 34);
	assert_int_equal(kick("stratovirt", CAUGHT(35)), 35);
}

/* Its first two end and pause a vCPU: they must never be taken for the third. */
static void test_kvmtool(void **state)
{
	const u64 three = CAUGHT(34) | CAUGHT(35) | CAUGHT(36);

	(void)state;
	assert_int_equal(kick("lkvm", three), 36);
	assert_int_equal(kick("lkvm", three << 1), 37);
	assert_int_equal(kick("lkvm", CAUGHT(34)), 0);
	assert_int_equal(kick("lkvm", CAUGHT(34) | CAUGHT(35)), 0);
	assert_int_equal(kick("lkvm", CAUGHT(35) | CAUGHT(36)), 0);
	assert_int_equal(kick("lkvm", CAUGHT(36)), 0);
}

static void test_never(void **state)
{
	(void)state;
	assert_int_equal(kick("gvisor", UINT64_MAX), 0);
	assert_int_equal(kick("runsc", UINT64_MAX), 0);
	assert_int_equal(kick("VBoxHeadless", UINT64_MAX), 0);
	assert_int_equal(kick("a-new-vmm", UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_kicks),
		cmocka_unit_test(test_kvmtool),
		cmocka_unit_test(test_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
