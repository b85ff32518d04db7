/* SPDX-License-Identifier: GPL-2.0-only */
/* ORC tables: every field of every format, and lookup against a plain search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "build-orc.h"

#define TEXT 0xffffffff81000000ULL
#define TABLE 0xffffffff82400000ULL

static const enum orc_format formats[] = {
	ORC_FORMAT_END, ORC_FORMAT_SIGNAL, ORC_FORMAT_TYPES, ORC_FORMAT_REORDERED,
};

/* A table of one entry, and what is found at its address. */
static int one_entry(enum orc_format format, const struct build_orc_entry *entry,
		     struct cfi_row *ret)
{
	struct build_orc build = { .format = format, .ip_base = TABLE };
	struct orc_table *table = NULL;
	int err;

	build_orc_add(&build, TEXT, entry);
	assert_int_equal(build_orc_table(&build, &table), 0);
	err = orc_table_find(table, GVA(TEXT), ret);
	orc_table_destroy(table);
	build_orc_deinit(&build);
	return err;
}

/* The kind of row of these flags, or the error. */
static int raw_entry(enum orc_format format, u16 flags)
{
	struct build_orc build = { .format = format, .ip_base = TABLE };
	struct orc_table *table = NULL;
	struct cfi_row row;
	int err;

	build_orc_raw(&build, TEXT, flags);
	assert_int_equal(build_orc_table(&build, &table), 0);
	err = orc_table_find(table, GVA(TEXT), &row);
	orc_table_destroy(table);
	build_orc_deinit(&build);
	return err ? err : row.kind;
}

static void assert_rule(const struct cfi_rule *rule, u8 kind, u8 reg, s32 offset)
{
	assert_int_equal(rule->kind, kind);
	if (kind == CFI_REG_OFFSET || kind == CFI_AT_REG)
		assert_int_equal(rule->reg, reg);
	if (kind != CFI_SAME)
		assert_int_equal(rule->offset, offset);
}

static void test_cfa(void **state)
{
	static const struct {
		u8 orc, kind, reg;
		s32 offset, add;
	} forms[] = {
		{ BUILD_ORC_SP, CFI_REG_OFFSET, X86_RSP, 40, 0 },
		{ BUILD_ORC_BP, CFI_REG_OFFSET, X86_RBP, 40, 0 },
		{ BUILD_ORC_R10, CFI_REG_OFFSET, X86_R10, 40, 0 },
		{ BUILD_ORC_R13, CFI_REG_OFFSET, X86_R13, 40, 0 },
		{ BUILD_ORC_DI, CFI_REG_OFFSET, X86_RDI, 40, 0 },
		{ BUILD_ORC_DX, CFI_REG_OFFSET, X86_RDX, 40, 0 },
		{ BUILD_ORC_BP_INDIRECT, CFI_AT_REG, X86_RBP, 40, 0 },
		{ BUILD_ORC_SP_INDIRECT, CFI_AT_REG, X86_RSP, 0, 40 },
	};

	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(formats); f++) {
		for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
			struct build_orc_entry entry = { .sp_reg = forms[i].orc, .sp_offset = 40,
							 .type = BUILD_ORC_TYPE_CALL };
			struct cfi_row row;

			assert_int_equal(one_entry(formats[f], &entry, &row), 0);
			assert_int_equal(row.kind, CFI_ROW_CALL);
			assert_rule(&row.cfa, forms[i].kind, forms[i].reg, forms[i].offset);
			assert_int_equal(row.cfa_add, forms[i].add);
			assert_rule(&row.ra, CFI_AT_CFA, 0, -8);
			assert_rule(&row.bp, CFI_SAME, 0, 0);
			assert_false(row.interrupted);
		}
	}
}

static void test_bp(void **state)
{
	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(formats); f++) {
		struct build_orc_entry entry = { .sp_reg = BUILD_ORC_BP, .sp_offset = 16,
						 .bp_reg = BUILD_ORC_PREV_SP, .bp_offset = -16,
						 .type = BUILD_ORC_TYPE_CALL };
		struct cfi_row row;

		assert_int_equal(one_entry(formats[f], &entry, &row), 0);
		assert_rule(&row.bp, CFI_AT_CFA, 0, -16);
		entry.bp_reg = BUILD_ORC_BP;
		assert_int_equal(one_entry(formats[f], &entry, &row), 0);
		assert_rule(&row.bp, CFI_AT_REG, X86_RBP, -16);
	}
}

static void test_types(void **state)
{
	struct build_orc_entry regs = { .sp_reg = BUILD_ORC_SP, .sp_offset = 16 };
	struct build_orc_entry none = { 0 };
	struct cfi_row row;

	(void)state;
	for (size_t f = 0; f < ARRAY_SIZE(formats); f++) {
		regs.signal = true;
		regs.type = BUILD_ORC_TYPE_REGS;
		assert_int_equal(one_entry(formats[f], &regs, &row), 0);
		assert_int_equal(row.kind, CFI_ROW_REGS);
		assert_rule(&row.ra, CFI_AT_CFA, 0, 128);
		assert_true(row.interrupted);
		regs.type = BUILD_ORC_TYPE_PARTIAL;
		assert_int_equal(one_entry(formats[f], &regs, &row), 0);
		assert_int_equal(row.kind, CFI_ROW_REGS_PARTIAL);
		assert_rule(&row.ra, CFI_AT_CFA, 0, 0);
		assert_true(row.interrupted);
		/* The flag is a field of its own where there is one. */
		regs.signal = false;
		assert_int_equal(one_entry(formats[f], &regs, &row), 0);
		assert_int_equal(row.interrupted, formats[f] == ORC_FORMAT_END);

		none.type = BUILD_ORC_TYPE_END;
		assert_int_equal(one_entry(formats[f], &none, &row), 0);
		assert_int_equal(row.kind, CFI_ROW_END);
		none.type = BUILD_ORC_TYPE_UNDEFINED;
		assert_int_equal(one_entry(formats[f], &none, &row), 0);
		assert_int_equal(row.kind, CFI_ROW_UNDEFINED);
	}
}

/* A call whose caller was interrupted rather than calling: 6.3 and later can say so. */
static void test_signal_call(void **state)
{
	struct build_orc_entry entry = { .sp_reg = BUILD_ORC_SP, .sp_offset = 8, .signal = true,
					 .type = BUILD_ORC_TYPE_CALL };
	struct cfi_row row;

	(void)state;
	assert_int_equal(one_entry(ORC_FORMAT_SIGNAL, &entry, &row), 0);
	assert_true(row.interrupted);
	assert_int_equal(one_entry(ORC_FORMAT_TYPES, &entry, &row), 0);
	assert_true(row.interrupted);
}

static int want_row(unsigned int type, unsigned int flags)
{
	unsigned int sp = flags & 0xf, bp = flags >> 4 & 0xf;

	if (type == BUILD_ORC_TYPE_UNDEFINED)
		return CFI_ROW_UNDEFINED;
	if (type == BUILD_ORC_TYPE_END)
		return CFI_ROW_END;
	if (sp < BUILD_ORC_DX || sp > BUILD_ORC_AX)
		return -EBADMSG;
	if (bp != BUILD_ORC_UNDEFINED && bp != BUILD_ORC_PREV_SP && bp != BUILD_ORC_BP)
		return -EBADMSG;
	return type == BUILD_ORC_TYPE_CALL ? CFI_ROW_CALL :
	       type == BUILD_ORC_TYPE_REGS ? CFI_ROW_REGS : CFI_ROW_REGS_PARTIAL;
}

static unsigned int old_type(unsigned int flags, bool end)
{
	if ((flags & 0xf) == BUILD_ORC_UNDEFINED)
		return end ? BUILD_ORC_TYPE_END : BUILD_ORC_TYPE_UNDEFINED;
	return BUILD_ORC_TYPE_CALL + (flags >> 8 & 3);
}

/* What @flags of 7.1 were before; 0xf for a number that is no register's. */
static unsigned int old_flags(unsigned int flags)
{
	static const u8 old[16] = {
		BUILD_ORC_UNDEFINED, BUILD_ORC_AX, BUILD_ORC_DX, BUILD_ORC_SP, BUILD_ORC_BP,
		BUILD_ORC_DI, BUILD_ORC_R10, BUILD_ORC_R13, BUILD_ORC_PREV_SP,
		BUILD_ORC_SP_INDIRECT, BUILD_ORC_BP_INDIRECT, 15, 15, 15, 15, 15,
	};

	return (flags & 0xff00) | old[flags >> 4 & 0xf] << 4 | old[flags & 0xf];
}

/* All 65,536 flag words of each format: refused is exactly what the format does not have. */
static void test_malformed(void **state)
{
	(void)state;
	for (unsigned int flags = 0; flags < 0x10000; flags++) {
		bool bad_type = (flags >> 8 & 3) == 3;
		int want;

		want = want_row(old_type(flags, flags & 0x400), flags);
		if (flags >> 11 || bad_type)
			want = -EBADMSG;
		assert_int_equal(raw_entry(ORC_FORMAT_END, flags), want);
		want = want_row(old_type(flags, flags & 0x800), flags);
		if (flags >> 12 || bad_type)
			want = -EBADMSG;
		assert_int_equal(raw_entry(ORC_FORMAT_SIGNAL, flags), want);
		want = want_row(flags >> 8 & 7, flags);
		if (flags >> 12 || (flags >> 8 & 7) > BUILD_ORC_TYPE_PARTIAL)
			want = -EBADMSG;
		assert_int_equal(raw_entry(ORC_FORMAT_TYPES, flags), want);
		if (want != -EBADMSG || (flags >> 8 & 7) > BUILD_ORC_TYPE_END)
			want = want_row(flags >> 8 & 7, old_flags(flags));
		if (flags >> 12 || (flags >> 8 & 7) > BUILD_ORC_TYPE_PARTIAL)
			want = -EBADMSG;
		assert_int_equal(raw_entry(ORC_FORMAT_REORDERED, flags), want);
	}
}

static void test_range(void **state)
{
	struct build_orc build = { .format = ORC_FORMAT_TYPES, .ip_base = TABLE };
	struct orc_table *table = NULL;
	struct cfi_row row;

	(void)state;
	build_orc_call(&build, TEXT, 8);
	build_orc_call(&build, TEXT + 1, 16);
	build_orc_undefined(&build, TEXT + 0x100);
	/* The end of one object and the start of the next: of one address the last counts. */
	build_orc_undefined(&build, TEXT + 0x200);
	build_orc_call(&build, TEXT + 0x200, 24);
	build_orc_undefined(&build, TEXT + 0x300);
	assert_int_equal(build_orc_table(&build, &table), 0);
	assert_int_equal(orc_table_find(table, GVA(TEXT - 1), &row), -ENOENT);
	assert_int_equal(orc_table_find(table, GVA(0), &row), -ENOENT);
	assert_int_equal(orc_table_find(table, GVA(TEXT), &row), 0);
	assert_int_equal(row.cfa.offset, 8);
	assert_int_equal(orc_table_find(table, GVA(TEXT + 0xff), &row), 0);
	assert_int_equal(row.cfa.offset, 16);
	assert_int_equal(orc_table_find(table, GVA(TEXT + 0x1ff), &row), 0);
	assert_int_equal(row.kind, CFI_ROW_UNDEFINED);
	assert_int_equal(orc_table_find(table, GVA(TEXT + 0x200), &row), 0);
	assert_int_equal(row.cfa.offset, 24);
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_int_equal(orc_table_find(table, GVA(UINT64_MAX), &row), 0);
	assert_int_equal(row.kind, CFI_ROW_UNDEFINED);
	orc_table_destroy(table);
	build_orc_deinit(&build);
}

/* 40,000 entries at uneven distances, some equal; each address between and at them. */
static void test_lookup(void **state)
{
	struct build_orc build = { .format = ORC_FORMAT_TYPES, .ip_base = TABLE };
	struct orc_table *table = NULL;
	u64 address = TEXT, seed = 1;
	struct cfi_row row;
	u32 at = 0;

	(void)state;
	for (unsigned int i = 0; i < 40000; i++) {
		build_orc_call(&build, address, i % 4000 * 8);
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		address += seed >> 60 == 0 ? seed >> 40 & 0xfff : seed >> 56 & 7;
	}
	assert_int_equal(build_orc_table(&build, &table), 0);
	for (u64 pc = TEXT; pc < address + 5000; pc++) {
		while (at + 1 < table->nr && TEXT + table->offset[at + 1] <= pc)
			at++;
		assert_int_equal(orc_table_find(table, GVA(pc), &row), 0);
		if ((u32)row.cfa.offset != at % 4000 * 8)
			fail_msg("entry %u at %#llx", at, (unsigned long long)pc);
	}
	orc_table_destroy(table);
	build_orc_deinit(&build);
}

/* Two entries as far apart as can be: the index must not grow with the distance. */
static void test_sparse(void **state)
{
	const u64 base = 0xffffffff00000000ULL;
	struct build_orc build = { .format = ORC_FORMAT_END, .ip_base = base };
	struct orc_table *table = NULL;
	struct cfi_row row;

	(void)state;
	build_orc_call(&build, base - 0x80000000ULL, 8);
	build_orc_call(&build, base + 0x7fffffff, 16);
	assert_int_equal(build_orc_table(&build, &table), 0);
	assert_true(table->index.nr_blocks <= 4);
	assert_int_equal(orc_table_find(table, GVA(base + 0x7ffffffe), &row), 0);
	assert_int_equal(row.cfa.offset, 8);
	assert_int_equal(orc_table_find(table, GVA(base + 0x7fffffff), &row), 0);
	assert_int_equal(row.cfa.offset, 16);
	orc_table_destroy(table);
	build_orc_deinit(&build);
}

static void test_refused(void **state)
{
	struct build_orc build = { .format = ORC_FORMAT_END, .ip_base = TABLE };
	struct orc_table *table = NULL;
	u8 byte[2 * ORC_ENTRY_SIZE] = { 0 };

	(void)state;
	build_orc_call(&build, TEXT + 8, 8);
	build_orc_call(&build, TEXT, 8);
	assert_int_equal(build_orc_table(&build, &table), -EBADMSG);
	build.format = ORC_FORMAT_UNKNOWN;
	assert_int_equal(build_orc_table(&build, &table), -EOPNOTSUPP);
	build.format = ORC_FORMAT_REORDERED + 1;
	assert_int_equal(build_orc_table(&build, &table), -EOPNOTSUPP);
	assert_int_equal(orc_table_create(ORC_FORMAT_END, TABLE, byte, byte, 0, &table), -EBADMSG);
	assert_int_equal(orc_table_create(ORC_FORMAT_END, TABLE, byte, byte, ORC_MAX_ENTRIES + 1,
					  &table), -E2BIG);
	/* Wraps around the end of the address space. */
	assert_int_equal(orc_table_create(ORC_FORMAT_END, UINT64_MAX - 3, "\0\0\0\0\0\0\0\0",
					  byte, 2, &table), -EBADMSG);
	assert_null(table);
	orc_table_destroy(NULL);
	build_orc_deinit(&build);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cfa),
		cmocka_unit_test(test_bp),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_signal_call),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_lookup),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
