/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes are a kernel image at the address that the seeds were built for. */
#include "guest/kallsyms.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct kallsyms *k = NULL;

	if (!kallsyms_parse(data, size, 0xffffffff81000000, &k)) {
		kallsyms_find(k, "modules");
		kallsyms_destroy(k);
	}
	return 0;
}
