/* SPDX-License-Identifier: GPL-2.0-only */
/* What a VMM may write about itself in /proc: command line, signals, mappings. */
#include <string.h>

#include "vm/vmm.h"

static const char *const kinds[] = { "qemu", "firecracker", "crosvm", "kvmtool", "none" };

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_name(const char *text, size_t size)
{
	char name[VM_NAME_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (vmm_parse_name(kinds[i], text, size, name, sizeof(name)))
			require(name[0] && strnlen(name, sizeof(name)) < sizeof(name));
}

static void check_kick(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		int number = vmm_find_kick(kinds[i], vmm_parse_caught(text));

		require(number == 0 || number == 10 || number == 34 || number == 35);
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
	check_name(text, size);
	check_kick(text);
	vmm_kind_name(text);
	check_run_pages(text);
	free(text);
	return 0;
}
