/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A format, the table's address, then addresses and entries. Each address is looked up by index and
 * by going through all of them.
 */
#include <string.h>

#include "unwind/orc.h"

#define HEADER_SIZE 9

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check(const struct orc_table *table, u64 pc)
{
	struct cfi_row found, want;
	u32 at = 0;
	int err;

	if (pc < table->start)
		return;		/* wrapped around */
	while (at + 1 < table->nr && table->offset[at + 1] <= pc - table->start)
		at++;
	memset(&found, 0, sizeof(found));
	memset(&want, 0, sizeof(want));
	err = orc_table_find(table, GVA(pc), &found);
	if (err != orc_entry_decode(table->format, table->entries + at * ORC_ENTRY_SIZE, &want) ||
	    memcmp(&found, &want, sizeof(found)))
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(orc_table_destroy) struct orc_table *table = NULL;
	const u8 *ip;
	u64 ip_base;
	u32 nr;

	if (size < HEADER_SIZE || size > 4096)
		return 0;
	memcpy(&ip_base, data + 1, sizeof(ip_base));
	nr = (size - HEADER_SIZE) / (sizeof(s32) + ORC_ENTRY_SIZE);
	ip = data + HEADER_SIZE;
	if (orc_table_create(data[0], ip_base, ip, ip + nr * sizeof(s32), nr, &table))
		return 0;
	for (u32 i = 0; i < nr; i++) {
		check(table, table->start + table->offset[i]);
		check(table, table->start + table->offset[i] + 1);
		check(table, table->start + table->offset[i] + 255);
	}
	return 0;
}
