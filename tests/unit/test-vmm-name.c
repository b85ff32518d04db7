/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of VMs out of command lines, sockets and control groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "vm/vm.h"
#include "vm/vmm-name.h"

static char name[VM_NAME_LEN];

#define NAME(program, args) name_of((program), (args), sizeof(args) - 1)

static const char *name_of(const char *program, const char *args, size_t len)
{
	const struct vmm_kind *kind = vmm_kind_find(program, NULL);

	return vmm_name_from_cmdline(kind, args, len, name, sizeof(name)) ? name : NULL;
}

static const char *socket_name(const char *path)
{
	return vmm_name_from_socket(path, name, sizeof(name)) ? name : NULL;
}

static const char *cgroup_name(const char *text)
{
	return vmm_name_from_cgroup(text, name, sizeof(name)) ? name : NULL;
}

static void test_qemu(void **state)
{
	(void)state;
	assert_string_equal(NAME("qemu", "qemu\0-name\0guest=web1,debug-threads=on\0-m\0"), "web1");
	assert_string_equal(NAME("qemu", "qemu\0-m\0001G\0-name\0web2\0"), "web2");
	assert_string_equal(NAME("qemu", "qemu\0--name\0web3,process=x\0"), "web3");
	assert_string_equal(NAME("qemu", "qemu\0-name\0debug-threads=on,guest=a,,b\0"), "a,b");
	assert_string_equal(NAME("qemu", "qemu\0-name\0a,,b,,,process=x\0"), "a,b,");
	assert_string_equal(NAME("qemu", "qemu\0-name\0a\0-name\0b,process=x\0"), "b");
	assert_string_equal(NAME("qemu", "qemu\0-name\0a\0-name\0debug-threads=on\0"), "a");
	assert_null(NAME("qemu", "qemu\0-name\0debug-threads=on\0"));
	assert_null(NAME("qemu", "qemu\0-name\0"));
	assert_null(NAME("qemu", "qemu\0-name"));
	assert_null(NAME("qemu", "-name\0first\0"));
	assert_null(NAME("qemu", ""));
}

static void test_others(void **state)
{
	(void)state;
	assert_string_equal(NAME("firecracker", "fc\0--api-sock\0/x\0--id\0i-1234\0"), "i-1234");
	assert_string_equal(NAME("firecracker", "fc\0--id=a,b\0"), "a,b");
	assert_null(NAME("firecracker", "fc\0--identity\0x\0"));
	assert_string_equal(NAME("crosvm", "crosvm\0run\0--name=vm0\0-s\0/run/x.sock\0"), "vm0");
	assert_string_equal(NAME("crosvm", "crosvm\0run\0-s\0/run/vm7.sock\0"), "vm7");
	/* -n is kvmtool's network. */
	assert_null(NAME("lkvm", "lkvm\0run\0-n\0virtio\0"));
	assert_string_equal(NAME("lkvm", "lkvm\0run\0-n\0virtio\0--name\0test\0"), "test");
	assert_string_equal(NAME("stratovirt", "stratovirt\0-name\0sv\0"), "sv");
	assert_string_equal(NAME("VBoxHeadless", "v\0--startvm\0x-y\0--comment\0box\0"), "box");
	assert_null(NAME("unknown", "x\0-name\0y\0"));
}

static void test_cloud_hypervisor(void **state)
{
	(void)state;
	assert_string_equal(NAME("cloud-hypervisor", "ch\0--api-socket\0/tmp/web.sock\0"), "web");
	assert_string_equal(NAME("cloud-hypervisor", "ch\0--api-socket=path=/a/db.sock,x=y\0"),
			    "db");
	assert_null(NAME("cloud-hypervisor", "ch\0--api-socket\0fd=3\0"));
	assert_null(NAME("cloud-hypervisor", "ch\0--kernel\0x\0"));
}

static void test_sockets(void **state)
{
	(void)state;
	assert_string_equal(socket_name("/run/libvirt/ch/web-socket"), "web");
	assert_string_equal(socket_name("/run/vc/vm/0a1b2c/clh-api.sock"), "0a1b2c");
	assert_string_equal(socket_name("vm.socket"), "vm");
	assert_string_equal(socket_name("/srv/vm1//api.sock"), "vm1");
	/* Of no VM's own folder. */
	assert_string_equal(socket_name("/api.sock"), "api");
	assert_string_equal(socket_name("/tmp/api.sock"), "api");
	assert_string_equal(socket_name("api.sock"), "api");
	assert_string_equal(socket_name(".sock"), ".sock");
	assert_null(socket_name(""));
	assert_null(socket_name("///"));
}

static void test_cgroups(void **state)
{
	(void)state;
	assert_string_equal(cgroup_name("0::/machine.slice/machine-qemu\\x2d12\\x2dweb\\x2d1.scope"
					"/libvirt/emulator\n"), "web-1");
	assert_string_equal(cgroup_name("2:cpu:/\n1:name=systemd:/machine.slice/"
					"machine-ch\\x2d1\\x2da.scope\n"), "a");
	assert_string_equal(cgroup_name("0::/machine-box.scope\n"), "box");
	assert_string_equal(cgroup_name("0::/machine-qemu\\x2dx.scope\n"), "qemu-x");
	assert_string_equal(cgroup_name("0::/machine-qemu\\x2d1\\x2d.scope\n"), "qemu-1-");
	assert_string_equal(cgroup_name("0::/machine-a\\xzz.scope\n"), "a\\xzz");
	assert_null(cgroup_name("0::/machine.slice/libvirt\n"));
	assert_null(cgroup_name("0::/machine-x.service\n"));
	assert_null(cgroup_name("0::/machine-.scope\n"));
	assert_null(cgroup_name(""));
}

static void test_long_names(void **state)
{
	char args[1024] = "qemu\0-name\0guest=", path[1024] = "/", group[2048] = "/machine-";

	(void)state;
	memset(args + 17, 'n', 600);
	assert_int_equal(strlen(name_of("qemu", args, 17 + 600 + 1)), VM_NAME_LEN - 1);
	memset(path + 1, 'p', 900);
	assert_int_equal(strlen(socket_name(path)), VM_NAME_LEN - 1);
	memset(group + 9, 'g', 1500);
	strcpy(group + 1509, ".scope");
	assert_int_equal(strlen(cgroup_name(group)), VM_NAME_LEN - 1);
}

/* At every length, out of memory that ends there. */
static void test_truncated(void **state)
{
	static const char args[] =
		"cloud-hypervisor\0--api-socket\0path=/run/vc/vm/x1/clh-api.sock,y=z\0";
	static const char group[] = "0::/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/x\n";

	(void)state;
	for (size_t len = 0; len < sizeof(args); len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, args, len);
		copy[len] = '\0';
		name_of("cloud-hypervisor", copy, len);
		name_of("qemu", copy, len);
		free(copy);
	}
	for (size_t len = 0; len < sizeof(group); len++) {
		char *copy = strndup(group, len);

		assert_int_equal(!!cgroup_name(copy), len >= strlen(group) - 3);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_qemu),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_cloud_hypervisor),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_cgroups),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
