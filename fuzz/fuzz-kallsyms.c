/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a kallsyms text. */
#include <string.h>

#include "symbols/kallsyms.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(kallsyms_destroy) struct kallsyms *k = NULL;
	const struct symtab *kernel;

	if (!size || kallsyms_read((const char *)data + 1, size - 1, data[0] & 1, &k))
		return 0;
	kernel = kallsyms_kernel(k);
	for (size_t i = 0; i < symtab_nr(kernel); i++) {
		const struct symbol *symbol = symtab_at(kernel, i);

		if (symbol->start < symbol->end && !symtab_find(kernel, symbol->start))
			abort();
		if (!symtab_find_name(kernel, symtab_name(kernel, symbol)))
			abort();
	}
	return 0;
}
