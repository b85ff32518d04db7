/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call frame information: a byte that says what follows, eight for the pages that are missing, and
 * either a whole ELF file or an .eh_frame, around which the file is built. Whatever they hold, the
 * table that comes out keeps its promises.
 */
#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "base/cursor.h"
#include "build-cfi.h"
#include "unwind/cfi-table.h"

#define WHOLE_FILE 0

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* What differs between machines. */
struct machine {
	unsigned int nr_regs;
	unsigned int sp;
	bool link_register;	/* which a function need not have saved */
};

static const struct machine x86 = { 16, X86_RSP, false };
static const struct machine arm64 = { VCPU_NR_GPRS, ARM64_SP, true };

static const struct machine *machine_of(const struct file_image *image)
{
	u16 machine;

	require(image->size >= sizeof(Elf64_Ehdr));
	memcpy(&machine, image->data + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
	return machine == EM_AARCH64 ? &arm64 : &x86;
}

static void check_rule(const struct machine *machine, const struct cfi_rule *rule)
{
	require(rule->kind <= CFI_AT_REG);
	require(rule->reg < machine->nr_regs);
}

static void check_row(const struct machine *machine, const struct cfi_row *row)
{
	require(row->kind == CFI_ROW_CALL || row->kind == CFI_ROW_END ||
		row->kind == CFI_ROW_UNDEFINED || row->kind == CFI_ROW_SIGCONTEXT);
	if (row->kind == CFI_ROW_SIGCONTEXT)
		require(row->regs.kind == CFI_REG_OFFSET && row->regs.reg == machine->sp);
	if (row->kind != CFI_ROW_CALL)
		return;
	require(row->cfa.kind == CFI_REG_OFFSET || row->cfa.kind == CFI_AT_REG);
	require(row->ra.kind != CFI_SAME || machine->link_register);
	require(row->ra.kind != CFI_UNDEFINED);
	check_rule(machine, &row->cfa);
	check_rule(machine, &row->ra);
	check_rule(machine, &row->bp);
	for (unsigned int i = 0; i < CFI_SAVED_NR; i++)
		check_rule(machine, &row->saved[i]);
}

/* What is found at @address is row @i's. */
static void check_find(const struct machine *machine, const struct cfi_table *table, u64 address,
		       u32 i)
{
	struct cfi_row row;
	int err = cfi_table_find(table, address, &row);

	if (table->rule[i] == CFI_RULE_NONE) {
		require(err == -ENOENT);
	} else if (table->rule[i] == CFI_RULE_MISSING) {
		require(err == -ENODATA);
	} else {
		require(err == 0 && table->rule[i] < table->nr_rules);
		require(row.kind == table->rules[table->rule[i]].kind);
		check_row(machine, &row);
	}
}

static void check(const struct machine *machine, const struct cfi_table *table)
{
	struct cfi_row row;
	u64 address;

	require(table->nr > 0 && table->offset[0] == 0);
	require(table->rule[table->nr - 1] >= CFI_RULE_MISSING);
	for (u32 i = 0; i < table->nr; i++) {
		u64 start = table->start + table->offset[i];

		require(i == 0 || table->offset[i] > table->offset[i - 1]);
		check_find(machine, table, start, i);
		if (i + 1 < table->nr)
			check_find(machine, table, table->start + table->offset[i + 1] - 1, i);
	}
	require(cfi_table_find(table, table->start - 1, &row) < 0);
	cfi_table_address(table, table->start, &address);
	require(cfi_table_size(table) > table->nr * sizeof(u32));
}

static int make_file(u8 kind, const u8 *data, size_t size, struct strbuf *file)
{
	struct build_cfi build = { .no_hdr = true };

	if (kind == WHOLE_FILE) {
		strbuf_add(file, data, size);
	} else {
		strbuf_add(&build.frame, data, size);
		build_cfi_file(&build, file);
		build_cfi_deinit(&build);
	}
	return strbuf_error(file);
}

static void punch(struct file_image *image, u64 missing)
{
	for (u64 at = 0, bit = 0; at < image->size; at += FILE_IMAGE_PAGE, bit++) {
		if (!(missing >> (bit & 63) & 1))
			continue;
		memset(image->data + at, 0, MIN(image->size - at, FILE_IMAGE_PAGE + 0ULL));
		image->present[bit / 64] &= ~(1ULL << bit % 64);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct cursor c;
	u64 missing;
	u8 kind;

	cursor_init(&c, data, size);
	kind = cursor_u8(&c);
	missing = cursor_u64(&c);
	if (cursor_error(&c) || !cursor_left(&c) ||
	    make_file(kind, c.pos, cursor_left(&c), &file) ||
	    build_cfi_image(&file, file.len, &image))
		return 0;
	punch(image, missing);
	if (cfi_table_from_image(image, &table) == 0)
		check(machine_of(image), table);
	return 0;
}
