/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VMM may write about itself in /proc: command line, signals, mappings. */
#include <string.h>

#include "vm/vmm-kinds.h"
#include "vm/vmm-name.h"
#include "vm/vmm.h"

static const char *const programs[] = {
	"qemu", "firecracker", "crosvm", "cloud-hypervisor", "lkvm",
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_one_name(const char *name, bool found)
{
	if (found)
		require(name[0] && strnlen(name, VM_NAME_LEN) < VM_NAME_LEN);
}

static void check_names(const char *text, size_t size)
{
	char name[VM_NAME_LEN] = "";

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		check_one_name(name, vmm_name_from_cmdline(vmm_kind_find(programs[i], NULL), text,
							   size, name, sizeof(name)));
	check_one_name(name, vmm_name_from_socket(text, name, sizeof(name)));
	check_one_name(name, vmm_name_from_cgroup(text, name, sizeof(name)));
}

static void check_kick(const char *text)
{
	u64 caught = vmm_parse_caught(text);

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		int number = vmm_kind_kick(vmm_kind_find(programs[i], NULL), caught);

		require(number == 0 || (caught >> (number - 1) & 1));
	}
}

static void check_run_pages(char *text)
{
	struct vm vm = { 0 };

	for (u32 id = 0; id < 3; id++)
		if (vec_push(&vm.vcpus, (struct vm_vcpu){ .id = id }))
			abort();
	vmm_parse_run_pages(text, &vm);
	vec_deinit(&vm.vcpus);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_names(text, size);
	check_kick(text);
	vmm_kind_find(text, text);
	check_run_pages(text);
	free(text);
	return 0;
}
