/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * orc-rows FORMAT IP_BASE IP_FILE ENTRY_FILE: for each hexadecimal address on standard input, the
 * rule that the ORC tables in these files give, in words. For comparison with another reader.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/file.h"
#include "unwind/orc.h"

#define MAX_SIZE (64U << 20)

static const char *reg_name(u8 reg)
{
	static const char *const names[] = {
		[X86_RDX] = "dx", [X86_RDI] = "di", [X86_RBP] = "bp",
		[X86_RSP] = "sp", [X86_R10] = "r10", [X86_R13] = "r13",
	};

	return reg < ARRAY_SIZE(names) && names[reg] ? names[reg] : "?";
}

static void print_cfa(const struct cfi_row *row)
{
	if (row->cfa.kind == CFI_AT_REG)
		printf("(%s%+d)%+d", reg_name(row->cfa.reg), row->cfa.offset, row->cfa_add);
	else
		printf("%s%+d", reg_name(row->cfa.reg), row->cfa.offset);
}

static void print_bp(const struct cfi_rule *bp)
{
	if (bp->kind == CFI_AT_CFA)
		printf(" bp:(cfa%+d)", bp->offset);
	else if (bp->kind == CFI_AT_REG)
		printf(" bp:(%s%+d)", reg_name(bp->reg), bp->offset);
	else
		printf(" bp:same");
}

static void print_row(const struct cfi_row *row)
{
	static const char *const kinds[] = {
		[CFI_ROW_CALL] = "call", [CFI_ROW_REGS] = "regs",
		[CFI_ROW_REGS_PARTIAL] = "partial", [CFI_ROW_END] = "end",
		[CFI_ROW_UNDEFINED] = "undefined",
	};

	printf("%s", kinds[row->kind]);
	if (row->kind != CFI_ROW_END && row->kind != CFI_ROW_UNDEFINED) {
		printf("%s cfa:", row->interrupted ? " signal" : "");
		print_cfa(row);
		print_bp(&row->bp);
		printf(" ip:(cfa%+d)", row->ra.offset);
	}
	printf("\n");
}

static int print_rows(const struct orc_table *table)
{
	unsigned long long pc;

	while (scanf("%llx", &pc) == 1) {
		struct cfi_row row;
		int err = orc_table_find(table, GVA(pc), &row);

		if (err)
			printf("%s\n", error_text(err));
		else
			print_row(&row);
	}
	return fflush(stdout) ? -errno : 0;
}

static int load(char **argv, struct orc_table **ret)
{
	_cleanup_free_ char *ip = NULL, *entries = NULL;
	size_t ip_size, entries_size;
	int err;

	err = file_read(AT_FDCWD, argv[3], MAX_SIZE, &ip, &ip_size);
	if (!err)
		err = file_read(AT_FDCWD, argv[4], MAX_SIZE, &entries, &entries_size);
	if (err)
		return err;
	if (ip_size / sizeof(s32) != entries_size / ORC_ENTRY_SIZE)
		return -EBADMSG;
	return orc_table_create(strtoul(argv[1], NULL, 0), strtoull(argv[2], NULL, 0), ip, entries,
				ip_size / sizeof(s32), ret);
}

int main(int argc, char **argv)
{
	_cleanup_(orc_table_destroy) struct orc_table *table = NULL;
	int err;

	if (argc != 5) {
		fprintf(stderr, "usage: %s FORMAT IP_BASE IP_FILE ENTRY_FILE\n", argv[0]);
		return 2;
	}
	err = load(argv, &table);
	if (!err)
		err = print_rows(table);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[0], error_text(err));
	return err ? 1 : 0;
}
