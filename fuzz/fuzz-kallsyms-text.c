/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as a kallsyms text. */
#include <string.h>

#include "symbols/kallsyms-text.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *k = NULL;
	const struct symtab *kernel;

	if (!size || kallsyms_text_read((const char *)data + 1, size - 1, data[0] & 1, &k))
		return 0;
	kernel = kallsyms_text_kernel(k);
	for (size_t i = 0; i < symtab_nr(kernel); i++) {
		const struct symbol *symbol = symtab_at(kernel, i);

		if (symbol->start < symbol->end && !symtab_find(kernel, symbol->start))
			abort();
		if (!symtab_find_name(kernel, symtab_name(kernel, symbol)))
			abort();
	}
	return 0;
}
