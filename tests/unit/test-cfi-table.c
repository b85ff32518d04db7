/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call frame information: rules by hand, holes, truncation, hostile records, and the objects that
 * this very program runs on, each rule compared with elfutils' answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "build-cfi.h"
#include "unwind/cfi-table.h"

#define TEXT BUILD_CFI_TEXT
#define PAGE FILE_IMAGE_PAGE

static struct cfi_table *make_table(struct build_cfi *build, int want)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct cfi_table *table = NULL;

	build_cfi_file(build, &file);
	assert_int_equal(build_cfi_image(&file, file.len, &image), 0);
	assert_int_equal(cfi_table_from_image(image, &table), want);
	return table;
}

static struct cfi_row find(const struct cfi_table *table, u64 address)
{
	struct cfi_row row;

	assert_int_equal(cfi_table_find(table, address, &row), 0);
	return row;
}

static void assert_rule(const struct cfi_rule *rule, u8 kind, u8 reg, s32 offset)
{
	assert_int_equal(rule->kind, kind);
	assert_int_equal(rule->reg, reg);
	assert_int_equal(rule->offset, offset);
}

/* push %rbp; mov %rsp,%rbp; push %rbx; …; leave; ret; and another end of the same frame. */
static void test_rows(void **state)
{
	struct build_cfi build = { 0 };
	struct cfi_table *table;
	struct cfi_row row;

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x40,
		      CFI(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x42, 0x83, 3, 0x0a, 0x50, 0x0c,
			  7, 8, 0xc6, 0xc3, 0x41, 0x0b));
	build_cfi_fde(&build, TEXT + 0x80, 0x10, CFI(0));
	table = make_table(&build, 0);
	assert_int_equal(table->nr_functions, 2);
	assert_int_equal(table->nr_bad + table->nr_missing, 0);
	row = find(table, TEXT);
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_false(row.interrupted);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RSP, 8);
	assert_rule(&row.ra, CFI_AT_CFA, 0, -8);
	assert_rule(&row.bp, CFI_SAME, 0, 0);
	row = find(table, TEXT + 3);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RSP, 16);
	assert_rule(&row.bp, CFI_AT_CFA, 0, -16);
	row = find(table, TEXT + 6);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RBP, 16);
	assert_rule(&row.saved[CFI_SAVED_RBX], CFI_AT_CFA, 0, -24);
	assert_rule(&row.saved[CFI_SAVED_R15], CFI_SAME, 0, 0);
	row = find(table, TEXT + 0x16);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RSP, 8);
	assert_rule(&row.bp, CFI_SAME, 0, 0);
	row = find(table, TEXT + 0x3f);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RBP, 16);
	assert_int_equal(cfi_table_find(table, TEXT - 1, &row), -ENOENT);
	assert_int_equal(cfi_table_find(table, TEXT + 0x40, &row), -ENOENT);
	assert_int_equal(find(table, TEXT + 0x80).cfa.offset, 8);
	assert_int_equal(cfi_table_find(table, TEXT + 0x90, &row), -ENOENT);
	assert_int_equal(cfi_table_find(table, UINT64_MAX, &row), -ENOENT);
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
}

/* The row that @program leaves, of a CIE with @augmentation. */
static struct cfi_row row_after(const char *augmentation, const u8 *program, size_t size)
{
	struct build_cfi build = { 0 };
	struct cfi_table *table;
	struct cfi_row row;

	build_cfi_cie(&build, augmentation, BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x100, program, size);
	table = make_table(&build, 0);
	row = find(table, TEXT + 0x44);
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
	return row;
}

static void test_expressions(void **state)
{
	struct cfi_row row;

	(void)state;
	/* A realigned stack: the CFA was saved below RBP, registers are found by RBP. */
	row = row_after("zR", CFI(0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2, 0x76,
				  0x68));
	assert_rule(&row.cfa, CFI_AT_REG, X86_RBP, -8);
	assert_int_equal(row.cfa_add, 0);
	assert_rule(&row.bp, CFI_AT_REG, X86_RBP, 0);
	assert_rule(&row.saved[CFI_SAVED_RBX], CFI_AT_REG, X86_RBP, -24);
	/* Sums before and after the load. */
	row = row_after("zR", CFI(0x0f, 9, 0x77, 8, 0x23, 8, 6, 0x23, 0x80, 1, 0x96));
	assert_int_equal(row.kind, CFI_ROW_UNDEFINED);
	row = row_after("zR", CFI(0x0f, 10, 0x77, 8, 0x23, 8, 6, 0x23, 0x80, 1, 0x34, 0x1c));
	assert_rule(&row.cfa, CFI_AT_REG, X86_RSP, 16);
	assert_int_equal(row.cfa_add, 124);
	/* A value, not a place; another register's value; the CFA's. */
	row = row_after("zR", CFI(0x16, 3, 2, 0x7c, 8, 9, 12, 13, 0x14, 14, 2));
	assert_rule(&row.saved[CFI_SAVED_RBX], CFI_REG_OFFSET, X86_R12, 8);
	assert_rule(&row.saved[CFI_SAVED_R12], CFI_REG_OFFSET, X86_R13, 0);
	assert_rule(&row.saved[CFI_SAVED_R14], CFI_CFA_OFFSET, 0, -16);
	/* What no rule says loses the register only. */
	row = row_after("zR", CFI(0x10, 3, 3, 0x76, 0, 6));
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_int_equal(row.saved[CFI_SAVED_RBX].kind, CFI_UNDEFINED);
	/* The return address is lost: there is no caller. */
	assert_int_equal(row_after("zR", CFI(0x07, 16)).kind, CFI_ROW_END);
	assert_int_equal(row_after("zR", CFI(0x08, 16)).kind, CFI_ROW_UNDEFINED);
}

/* The C library's signal trampoline: all registers in a ucontext at RSP. */
static void test_signal(void **state)
{
	static const u8 order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };
	_cleanup_strbuf_ struct strbuf program = STRBUF_INIT;
	struct cfi_row row;

	(void)state;
	strbuf_add(&program, CFI(0x0f, 4, 0x77, 0xa0, 1, 6));
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++) {
		unsigned int offset = 40 + 8 * i;

		strbuf_add(&program, CFI(0x10, order[i], 3, 0x77, offset | 0x80, offset >> 7));
	}
	row = row_after("zRS", (u8 *)program.data, program.len);
	assert_int_equal(row.kind, CFI_ROW_SIGCONTEXT);
	assert_true(row.interrupted);
	assert_rule(&row.regs, CFI_REG_OFFSET, X86_RSP, 40);
	/* Other ones are told by their own rules. */
	strbuf_add(&program, CFI(0x10, 8, 2, 0x77, 0));
	row = row_after("zRS", (u8 *)program.data, program.len);
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_true(row.interrupted);
	assert_rule(&row.cfa, CFI_AT_REG, X86_RSP, 160);
	assert_rule(&row.ra, CFI_AT_REG, X86_RSP, 168);
	assert_rule(&row.saved[CFI_SAVED_R15], CFI_AT_REG, X86_RSP, 96);
}

static void test_plt(void **state)
{
	struct build_cfi build = { 0 };
	struct cfi_table *table;

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x60,
		      CFI(0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a,
			  0x3b, 0x2a, 0x33, 0x24, 0x22));
	table = make_table(&build, 0);
	assert_int_equal(find(table, TEXT).cfa.offset, 16);
	assert_int_equal(find(table, TEXT + 6).cfa.offset, 24);
	for (unsigned int i = 0; i < 0x50; i++) {
		struct cfi_row row = find(table, TEXT + 0x10 + i);

		assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RSP, i % 16 < 11 ? 8 : 16);
	}
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
}

/*
 * i386: push %ebp; mov %esp,%ebp; push %esi; push %ebx. Its registers have other numbers, ESP is 4
 * and EBP 5.
 */
static void test_i386(void **state)
{
	struct build_cfi build = { .is_32 = true };
	struct cfi_table *table;
	struct cfi_row row;
	u64 address;

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START_32);
	build_cfi_fde(&build, TEXT, 0x40,
		      CFI(0x41, 0x0e, 8, 0x85, 2, 0x42, 0x0d, 5, 0x42, 0x86, 3, 0x83, 4, 0x41, 0xc3,
			  0x41, 0x07, 7, 0x41, 0x07, 8));
	table = make_table(&build, 0);
	assert_int_equal(table->nr_functions, 1);
	assert_int_equal(table->nr_bad + table->nr_missing, 0);
	row = find(table, TEXT);
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RSP, 4);
	assert_rule(&row.ra, CFI_AT_CFA, 0, -4);
	assert_rule(&row.bp, CFI_SAME, 0, 0);
	row = find(table, TEXT + 5);
	assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RBP, 8);
	assert_rule(&row.bp, CFI_AT_CFA, 0, -8);
	assert_rule(&row.saved[0], CFI_AT_CFA, 0, -16);	/* EBX */
	assert_rule(&row.saved[1], CFI_AT_CFA, 0, -12);	/* ESI */
	assert_rule(&row.saved[2], CFI_SAME, 0, 0);	/* EDI */
	assert_rule(&find(table, TEXT + 6).saved[0], CFI_SAME, 0, 0);
	assert_int_equal(find(table, TEXT + 7).saved[2].kind, CFI_UNDEFINED);
	assert_int_equal(find(table, TEXT + 8).kind, CFI_ROW_END);
	assert_int_equal(cfi_table_address(table, BUILD_CFI_FRAME, &address), 0);
	assert_int_equal(address, BUILD_CFI_FRAME);
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
}

/* As the vDSO of i386 has it: a sigcontext 12 bytes above ESP, of which SP has no rule. */
static void test_i386_signal(void **state)
{
	static const struct {
		u8 reg, offset;
	} saved[] = { { 7, 28 }, { 6, 32 }, { 5, 36 }, { 3, 44 },
		      { 2, 48 }, { 1, 52 }, { 0, 56 }, { 8, 68 } };
	struct build_cfi build = { .is_32 = true };
	_cleanup_strbuf_ struct strbuf program = STRBUF_INIT;
	struct cfi_table *table;
	struct cfi_row row;

	(void)state;
	strbuf_add(&program, CFI(0x0f, 3, 0x74, 40, 6));
	for (unsigned int i = 0; i < ARRAY_SIZE(saved); i++)
		strbuf_add(&program, CFI(0x10, saved[i].reg, 3, 0x74, saved[i].offset | 0x80, 0));
	build_cfi_cie(&build, "zRS", BUILD_CFI_START_32);
	build_cfi_fde(&build, TEXT, 0x10, (u8 *)program.data, program.len);
	/* The lazy PLT's rule, with words of 4 bytes. */
	build_cfi_fde(&build, TEXT + 0x10, 0x30,
		      CFI(0x0f, 11, 0x74, 4, 0x78, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x32, 0x24, 0x22));
	table = make_table(&build, 0);
	row = find(table, TEXT);
	assert_int_equal(row.kind, CFI_ROW_SIGCONTEXT);
	assert_true(row.interrupted);
	assert_rule(&row.regs, CFI_REG_OFFSET, X86_RSP, 12);
	for (unsigned int i = 0; i < 0x30; i++) {
		row = find(table, TEXT + 0x10 + i);
		assert_rule(&row.cfa, CFI_REG_OFFSET, X86_RSP, i % 16 < 11 ? 4 : 8);
		assert_int_equal(row.cfa_add, 0);
	}
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
}

/* paciasp; stp x29, x30, [sp, #-32]!; mov x29, sp; …; ldp x29, x30, [sp], #32; autiasp; ret */
static void test_arm64(void **state)
{
	struct build_cfi build = { .is_arm64 = true };
	struct cfi_table *table;
	struct cfi_row row;

	(void)state;
	build_cfi_cie(&build, "zRB", BUILD_CFI_START_ARM64);
	build_cfi_fde(&build, TEXT, 0x40,
		      CFI(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x45, 0xde,
			  0xdd, 0x0c, 31, 0, 0x41, 0x2d));
	build_cfi_fde(&build, TEXT + 0x40, 0x10, CFI(0x07, 30));
	/* __kernel_rt_sigreturn: a record at x29, and the kernel's frame at SP. */
	build_cfi_fde(&build, TEXT + 0x50, 0x10, CFI(0x0c, 29, 0, 0x9d, 0, 0x11, 30, 0x7f));
	table = make_table(&build, 0);
	for (unsigned int at = 0; at < 8; at += 4) {
		row = find(table, TEXT + at);
		assert_int_equal(row.kind, CFI_ROW_CALL);
		assert_rule(&row.cfa, CFI_REG_OFFSET, ARM64_SP, 0);
		assert_rule(&row.ra, CFI_SAME, 0, 0);
		assert_rule(&row.bp, CFI_SAME, 0, 0);
	}
	row = find(table, TEXT + 8);
	assert_rule(&row.cfa, CFI_REG_OFFSET, ARM64_SP, 32);
	assert_rule(&row.ra, CFI_AT_CFA, 0, -24);
	assert_rule(&row.bp, CFI_AT_CFA, 0, -32);
	row = find(table, TEXT + 12);
	assert_rule(&row.cfa, CFI_REG_OFFSET, ARM64_FP, 32);
	row = find(table, TEXT + 0x20);
	assert_rule(&row.cfa, CFI_REG_OFFSET, ARM64_SP, 0);
	assert_rule(&row.ra, CFI_SAME, 0, 0);
	assert_rule(&row.bp, CFI_SAME, 0, 0);
	assert_int_equal(find(table, TEXT + 0x40).kind, CFI_ROW_END);
	row = find(table, TEXT + 0x50);
	assert_int_equal(row.kind, CFI_ROW_SIGCONTEXT);
	assert_rule(&row.regs, CFI_REG_OFFSET, ARM64_SP, 312);
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
}

/* The vDSO of kernels since 5.8, which has no rules: the code itself tells what it is. */
static void test_arm64_sigreturn(void **state)
{
	static const u8 code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };
	const u64 at = 0x800;	/* offset and address */

	(void)state;
	for (unsigned int arm64 = 0; arm64 < 2; arm64++) {
		_cleanup_(file_image_destroy) struct file_image *image = NULL;
		struct build_cfi build = { .is_arm64 = arm64, .no_hdr = true };
		_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
		struct cfi_table *table = NULL;
		struct cfi_row row;
		Elf64_Phdr *segment;

		build_cfi_file(&build, &file);
		strbuf_add_zeros(&file, at - file.len);
		strbuf_add(&file, code, sizeof(code));
		segment = (Elf64_Phdr *)(file.data + sizeof(Elf64_Ehdr));
		segment->p_filesz = file.len;
		assert_int_equal(build_cfi_image(&file, file.len, &image), 0);
		assert_int_equal(cfi_table_from_image(image, &table), arm64 ? 0 : -ENOENT);
		build_cfi_deinit(&build);
		if (!arm64)
			continue;
		row = find(table, at);
		assert_int_equal(row.kind, CFI_ROW_SIGCONTEXT);
		assert_true(row.interrupted);
		assert_rule(&row.regs, CFI_REG_OFFSET, ARM64_SP, 312);
		assert_int_equal(find(table, at + 4).kind, CFI_ROW_SIGCONTEXT);
		assert_int_equal(cfi_table_find(table, at + 8, &row), -ENOENT);
		assert_int_equal(cfi_table_find(table, at - 1, &row), -ENOENT);
		cfi_table_destroy(table);
	}
}

/* Instructions and registers of arm64 are none of x86's. */
static void test_arm64_only(void **state)
{
	struct build_cfi build = { 0 };
	struct cfi_table *table;

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x40, CFI(0x2d));
	build_cfi_fde(&build, TEXT + 0x40, 0x40, CFI(0x0c, 29, 16));
	table = make_table(&build, 0);
	assert_int_equal(find(table, TEXT).kind, CFI_ROW_UNDEFINED);
	assert_int_equal(find(table, TEXT + 0x40).kind, CFI_ROW_UNDEFINED);
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
}

/* Records that are wrong cost themselves and nothing else. */
static void test_hostile_programs(void **state)
{
	static const struct {
		u8 size, bytes[12];
		bool good;
	} programs[] = {
		{ 1, { 0x0b } },				/* restore nothing */
		{ 3, { 0x02, 5, 0x0b } },			/* the same, later */
		{ 9, { 10, 10, 10, 10, 10, 10, 10, 10, 10 } },	/* remember for ever */
		{ 2, { 0x0d, 17 } },				/* no such register */
		{ 7, { 0, 0, 0, 0, 0, 0x0d, 0x80 } },		/* cut */
		{ 6, { 0x0e, 0x80, 0x80, 0x80, 0x80, 0x10 } },	/* over 32 bits */
		{ 11, { 0x0e, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 } },
		{ 2, { 0x0f, 0x7f } },				/* an expression longer than all */
		{ 1, { 0x1d } },				/* another machine's */
		{ 9, { 0x01, 0, 0, 0, 0, 0, 0, 0, 0 } },	/* backwards */
		{ 5, { 0x04, 255, 255, 255, 255 }, true },	/* far behind the end */
		{ 12, { 0x16, 0xff, 1, 0, 0x07, 100, 0xd1, 0x91, 1, 0x2e, 0x10 }, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct build_cfi build = { 0 };
		struct cfi_table *table;
		struct cfi_row row;

		build_cfi_cie(&build, "zR", BUILD_CFI_START);
		build_cfi_fde(&build, TEXT, 0x100, programs[i].bytes, programs[i].size);
		build_cfi_fde(&build, TEXT + 0x100, 0x100, CFI(0x0e, 24));
		table = make_table(&build, 0);
		row = find(table, TEXT + 0x80);
		assert_int_equal(row.kind, programs[i].good ? CFI_ROW_CALL : CFI_ROW_UNDEFINED);
		assert_int_equal(table->nr_bad, !programs[i].good);
		assert_int_equal(find(table, TEXT + 0x100).cfa.offset, 24);
		cfi_table_destroy(table);
		build_cfi_deinit(&build);
	}
}

/* A CIE that is no use: its functions are known to be there, and to have no rule. */
static void test_hostile_cies(void **state)
{
	static const char *const augmentations[] = { "eh", "zRX", "R", "zRzzzzzzzzzzzzzzz" };

	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(augmentations); i++) {
		struct build_cfi build = { 0 };
		struct cfi_table *table;

		if (i < ARRAY_SIZE(augmentations))
			build_cfi_cie(&build, augmentations[i], BUILD_CFI_START);
		else	/* its program advances */
			build_cfi_cie(&build, "zR", CFI(0x0c, 7, 8, 0x41));
		build_cfi_fde(&build, TEXT, 0x100, CFI(0));
		build_cfi_cie(&build, "zR", BUILD_CFI_START);
		build_cfi_fde(&build, TEXT + 0x200, 0x100, CFI(0x0e, 24));
		table = make_table(&build, 0);
		assert_int_equal(find(table, TEXT + 1).kind, CFI_ROW_UNDEFINED);
		assert_int_equal(find(table, TEXT + 0x200).cfa.offset, 24);
		assert_int_equal(table->nr_bad, 1);
		cfi_table_destroy(table);
		/* Nothing tells where it is. */
		build.no_hdr = true;
		table = make_table(&build, 0);
		assert_int_equal(table->start, TEXT + 0x200);
		assert_int_equal(table->nr_bad, 1);
		cfi_table_destroy(table);
		build_cfi_deinit(&build);
	}
}

static void test_places(void **state)
{
	struct build_cfi build = { 0 };
	struct cfi_table *table;
	struct cfi_row row;
	u64 address;

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT + 0x100, 0x100, CFI(0x0e, 16));
	build_cfi_fde(&build, TEXT + 0x180, 0x100, CFI(0x0e, 24));	/* overlaps */
	build_cfi_fde(&build, TEXT, 0x10, CFI(0x0e, 32));		/* not sorted */
	build_cfi_fde(&build, 0, 0x100, CFI(0x0e, 40));			/* thrown out */
	build_cfi_fde(&build, TEXT + BUILD_CFI_TEXT_SIZE - 1, 2, CFI(0x0e, 48));
	build_cfi_fde(&build, 1ULL << 31, 0x100, CFI(0x0e, 56));
	build_cfi_fde(&build, TEXT + 0x400, 0xfffffff0, CFI(0x0e, 56));
	build_cfi_fde(&build, TEXT + 0x500, 0, CFI(0x0e, 56));
	table = make_table(&build, 0);
	assert_int_equal(find(table, TEXT + 0xf).cfa.offset, 32);
	assert_int_equal(find(table, TEXT + 0x1ff).cfa.offset, 16);
	assert_int_equal(cfi_table_find(table, TEXT + 0x200, &row), -ENOENT);
	assert_int_equal(find(table, TEXT + 0x500).kind, CFI_ROW_UNDEFINED);
	assert_int_equal(cfi_table_address(table, 0x210, &address), 0);
	assert_int_equal(address, 0x210);
	assert_int_equal(cfi_table_address(table, TEXT, &address), -ENOENT);
	assert_true(cfi_table_size(table) > sizeof(*table));
	cfi_table_destroy(table);
	build_cfi_deinit(&build);
	memset(&build, 0, sizeof(build));
	assert_null(make_table(&build, -ENOENT));
}

static void test_not_elf(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct build_cfi build = { 0 };
	static const struct {
		unsigned int at;
		u8 value;
		int err;
	} changes[] = {
		{ 0, 1, -EBADMSG }, { 4, 1, -EOPNOTSUPP }, { 5, 2, -EOPNOTSUPP },
		{ 18, EM_ARM, -EOPNOTSUPP }, { 54, 1, -EBADMSG }, { 57, 2, -E2BIG },
		{ 56, 1, -ENOENT },	/* one segment, the code */
		{ 33, 0xff, -ENODATA },	/* segments' headers outside */
	};

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x100, CFI(0x0e, 16));
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_(file_image_destroy) struct file_image *image = NULL;
		struct cfi_table *table = NULL;

		build_cfi_file(&build, &file);
		file.data[changes[i].at] = changes[i].value;
		assert_int_equal(build_cfi_image(&file, file.len, &image), 0);
		assert_int_equal(cfi_table_from_image(image, &table), changes[i].err);
		assert_null(table);
	}
	build_cfi_deinit(&build);
}

/* What a part of the file says is never something else than what the whole file says. */
static void assert_part(const struct cfi_table *part, const struct cfi_table *whole, u64 address)
{
	struct cfi_row want = { 0 }, row = { 0 };
	int err = cfi_table_find(part, address, &row);

	if (err == -ENODATA)
		return;
	assert_int_equal(err, cfi_table_find(whole, address, &want));
	assert_memory_equal(&row, &want, sizeof(row));
}

static void truncate_everywhere(struct build_cfi *build)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(cfi_table_destroy) struct cfi_table *whole = make_table(build, 0);

	build_cfi_file(build, &file);
	for (size_t size = 1; size < file.len; size++) {
		_cleanup_(file_image_destroy) struct file_image *image = NULL;
		_cleanup_(cfi_table_destroy) struct cfi_table *part = NULL;
		int err;

		assert_int_equal(build_cfi_image(&file, size, &image), 0);
		err = cfi_table_from_image(image, &part);
		if (err) {
			assert_true(err == -ENODATA || err == -ENOENT);
			continue;
		}
		for (u64 at = TEXT - 1; at < TEXT + 0x210; at++)
			assert_part(part, whole, at);
	}
}

static void test_truncated(void **state)
{
	struct build_cfi build = { 0 };

	(void)state;
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x40, CFI(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6));
	build_cfi_fde(&build, TEXT + 0x40, 0x20, CFI(0x0e, 32));
	build_cfi_cie(&build, "zRS", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT + 0x100, 0x100, CFI(0x0f, 3, 0x76, 0x78, 6));
	truncate_everywhere(&build);
	build.no_hdr = true;
	truncate_everywhere(&build);
	build_cfi_deinit(&build);
}

/* Real objects. */

static u64 reg_value(unsigned int reg, u64 pc)
{
	return reg == 16 ? pc : 0x7ffc00000000 + hash_u64(reg) % 0x10000 * 8;
}

static u64 memory(u64 address)
{
	return hash_u64(address);
}

/* As DWARF's stack machine does; only what compilers write. */
static u64 evaluate_dwarf(const Dwarf_Op *ops, size_t nr, u64 pc, u64 cfa, bool *ret_value)
{
	u64 stack[16] = { 0 };
	unsigned int n = 0;

	*ret_value = false;
	for (size_t i = 0; i < nr; i++) {
		u8 atom = ops[i].atom;

		assert_true(n + 1 < ARRAY_SIZE(stack));
		if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
			stack[n++] = reg_value(atom - DW_OP_breg0, pc) + ops[i].number;
		else if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
			stack[n++] = atom - DW_OP_lit0;
		else if (atom == DW_OP_bregx)
			stack[n++] = reg_value(ops[i].number, pc) + ops[i].number2;
		else if (atom == DW_OP_regx) {
			stack[n++] = reg_value(ops[i].number, pc);
			*ret_value = true;
		} else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
			stack[n++] = reg_value(atom - DW_OP_reg0, pc);
			*ret_value = true;
		} else if (atom == DW_OP_call_frame_cfa)
			stack[n++] = cfa;
		else if (atom == DW_OP_deref)
			stack[n - 1] = memory(stack[n - 1]);
		else if (atom == DW_OP_plus_uconst)
			stack[n - 1] += ops[i].number;
		else if (atom == DW_OP_stack_value)
			*ret_value = true;
		else {
			assert_true(n >= 2);
			n--;
			switch (atom) {
			case DW_OP_plus:
				stack[n - 1] += stack[n];
				break;
			case DW_OP_and:
				stack[n - 1] &= stack[n];
				break;
			case DW_OP_shl:
				stack[n - 1] <<= stack[n];
				break;
			case DW_OP_ge:
				stack[n - 1] = (s64)stack[n - 1] >= (s64)stack[n];
				break;
			default:
				fail_msg("DW_OP 0x%x", atom);
			}
		}
	}
	return n ? stack[n - 1] : 0;
}

static u64 evaluate_rule(const struct cfi_rule *rule, unsigned int reg, u64 pc, u64 cfa)
{
	switch (rule->kind) {
	case CFI_SAME:
		return reg_value(reg, pc);
	case CFI_CFA_OFFSET:
		return cfa + rule->offset;
	case CFI_AT_CFA:
		return memory(cfa + rule->offset);
	case CFI_REG_OFFSET:
		return reg_value(rule->reg, pc) + rule->offset;
	case CFI_AT_REG:
		return memory(reg_value(rule->reg, pc) + rule->offset);
	default:
		return 0;
	}
}

static u64 evaluate_cfa(const struct cfi_row *row, u64 pc)
{
	return evaluate_rule(&row->cfa, 0, pc, 0) + row->cfa_add;
}

static void compare_reg(Dwarf_Frame *frame, unsigned int reg, const struct cfi_rule *rule, u64 pc,
			u64 cfa)
{
	Dwarf_Op room[3], *ops;
	bool is_value;
	size_t nr;
	u64 value;

	assert_int_equal(dwarf_frame_register(frame, reg, room, &ops, &nr), 0);
	if (nr == 0) {
		/* elfutils has RAX for RBX among what is kept (backends/x86_64_cfi.c). */
		if (reg == X86_RBX && ops)
			assert_in_range(rule->kind, CFI_SAME, CFI_UNDEFINED);
		else
			assert_int_equal(rule->kind, ops ? CFI_UNDEFINED : CFI_SAME);
		return;
	}
	value = evaluate_dwarf(ops, nr, pc, cfa, &is_value);
	if (!is_value)
		value = memory(value);
	assert_int_equal(evaluate_rule(rule, reg, pc, cfa), value);
}

/* A sigcontext's registers and those of their own. */
static void compare_sigcontext(Dwarf_Frame *frame, const struct cfi_row *row, u64 pc)
{
	struct cfi_rule ip = { CFI_AT_REG, row->regs.reg, row->regs.offset + 128 };
	struct cfi_rule bx = { CFI_AT_REG, row->regs.reg, row->regs.offset + 88 };

	compare_reg(frame, 16, &ip, pc, 0);
	compare_reg(frame, X86_RBX, &bx, pc, 0);
}

struct compared {
	u64 calls, ends, signals, undefined, expressions;
};

static void compare_row(Dwarf_Frame *frame, const struct cfi_table *table, u64 pc,
			struct compared *compared)
{
	static const u8 saved[] = { X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15 };
	struct cfi_row row = find(table, pc);
	Dwarf_Op *ops, room[3];
	bool is_value, signal;
	size_t nr;
	u64 cfa;

	dwarf_frame_info(frame, NULL, NULL, &signal);
	if (row.kind != CFI_ROW_UNDEFINED)
		assert_int_equal(signal, row.interrupted);
	if (row.kind == CFI_ROW_END) {
		assert_int_equal(dwarf_frame_register(frame, 16, room, &ops, &nr), 0);
		assert_true(nr == 0 && ops == room);
		compared->ends++;
		return;
	}
	if (row.kind == CFI_ROW_SIGCONTEXT) {
		compare_sigcontext(frame, &row, pc);
		compared->signals++;
		return;
	}
	if (row.kind == CFI_ROW_UNDEFINED) {
		compared->undefined++;
		return;
	}
	assert_int_equal(row.kind, CFI_ROW_CALL);
	assert_int_equal(dwarf_frame_cfa(frame, &ops, &nr), 0);
	cfa = evaluate_dwarf(ops, nr, pc, 0, &is_value);
	compared->expressions += nr > 1;
	assert_int_equal(evaluate_cfa(&row, pc), cfa);
	compare_reg(frame, 16, &row.ra, pc, cfa);
	compare_reg(frame, X86_RBP, &row.bp, pc, cfa);
	for (unsigned int i = 0; i < ARRAY_SIZE(saved); i++)
		compare_reg(frame, saved[i], &row.saved[i], pc, cfa);
	compared->calls++;
}

/* At both ends of each row of either, and in the middle. */
static void compare_all(Dwarf_CFI *cfi, const struct cfi_table *table, struct compared *compared)
{
	for (u32 i = 0; i < table->nr; i++) {
		u64 start = table->start + table->offset[i];
		u64 end = i + 1 < table->nr ? table->start + table->offset[i + 1] : start + 1;

		for (u64 pc = start; pc < end;) {
			Dwarf_Addr row_start = pc, row_end = end;
			Dwarf_Frame *frame;

			if (dwarf_cfi_addrframe(cfi, pc, &frame)) {
				struct cfi_row row;

				assert_int_equal(cfi_table_find(table, pc, &row), -ENOENT);
				break;
			}
			dwarf_frame_info(frame, &row_start, &row_end, NULL);
			row_end = MIN(row_end, end);
			assert_true(row_end > pc);
			compare_row(frame, table, pc, compared);
			compare_row(frame, table, row_end - 1, compared);
			free(frame);
			pc = row_end;
		}
	}
}

static void compare_object(const char *path, bool debug, struct compared *compared)
{
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	Dwarf_CFI *cfi;
	Dwarf *dwarf;
	Elf *elf;

	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(elf);
	dwarf = debug ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	cfi = debug ? dwarf_getcfi(dwarf) : dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	memset(compared, 0, sizeof(*compared));
	assert_int_equal(cfi_table_from_file(fd, &table), 0);
	assert_int_equal(table->nr_bad + table->nr_missing, 0);
	compare_all(cfi, table, compared);
	assert_true(compared->calls > 0);
	if (debug)
		dwarf_end(dwarf);
	else
		dwarf_cfi_end(cfi);
	elf_end(elf);
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned int *nr = arg;
	struct compared compared;

	(void)size;
	if (info->dlpi_name[0] != '/')
		return 0;
	compare_object(info->dlpi_name, false, &compared);
	assert_int_equal(compared.undefined, 0);
	if (strstr(info->dlpi_name, "/libc.so")) {
		assert_true(compared.ends > 0);		/* clone() */
		assert_true(compared.signals > 0);	/* __restore_rt() */
		assert_true(compared.expressions > 0);	/* the PLT */
	}
	++*nr;
	return 0;
}

/* The C library, the dynamic linker, this program and what else it uses. */
static void test_loaded_objects(void **state)
{
	struct compared compared;
	unsigned int nr = 0;

	(void)state;
	dl_iterate_phdr(compare_loaded, &nr);
	assert_true(nr >= 3);
	compare_object("/proc/self/exe", false, &compared);
	assert_true(compared.ends > 0);		/* _start() */
}

static void fixture_path(const char *name, char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);

	assert_true(len > 0);
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	len = strlen(path);
	assert_true(snprintf(path + len, size - len, "/lib%s.so", name) < (int)(size - len));
}

static void test_fixtures(void **state)
{
	char path[PATH_MAX];
	struct compared compared;

	(void)state;
	fixture_path("cfi-fixture", path, sizeof(path));
	compare_object(path, false, &compared);
	assert_true(compared.expressions > 0);
	fixture_path("cfi-fixture-debug", path, sizeof(path));
	compare_object(path, true, &compared);
	fixture_path("cfi-fixture-packed", path, sizeof(path));
	compare_object(path, true, &compared);
}

/* The C library with a hole of one page here and there, as a page cache has them. */

static void read_file(const char *path, struct strbuf *out)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t len;

	assert_true(fd >= 0);
	while ((len = read(fd, buffer, sizeof(buffer))) > 0)
		strbuf_add(out, buffer, len);
	assert_int_equal(strbuf_error(out), 0);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	snprintf(arg, PATH_MAX, "%s", info->dlpi_name);
	return 1;
}

static void punch(struct file_image *image, u64 offset)
{
	u64 nr = offset / PAGE;

	memset(image->data + nr * PAGE, 0, MIN(image->size - nr * PAGE, PAGE + 0ULL));
	image->present[nr / 64] &= ~(1ULL << nr % 64);
}

struct hole_result {
	u64 same, unknown;
};

static void compare_part(const struct cfi_table *part, const struct cfi_table *whole,
			 struct hole_result *result)
{
	struct cfi_row row;

	for (u32 i = 0; i < whole->nr; i++) {
		u64 pc = whole->start + whole->offset[i];

		assert_part(part, whole, pc);
		if (cfi_table_find(part, pc, &row) == -ENODATA)
			result->unknown++;
		else
			result->same++;
	}
}

/* Where .eh_frame_hdr is: what its segment says. */
static Elf64_Phdr find_hdr(const struct strbuf *file)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment = { 0 };

	memcpy(&header, file->data, sizeof(header));
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		memcpy(&segment, file->data + header.e_phoff + i * sizeof(segment),
		       sizeof(segment));
		if (segment.p_type == PT_GNU_EH_FRAME)
			break;
	}
	assert_int_equal(segment.p_type, PT_GNU_EH_FRAME);
	return segment;
}

static void punch_and_compare(const struct strbuf *file, const struct cfi_table *whole,
			      u64 offset, bool no_sections)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *part = NULL;
	struct hole_result result = { 0 };
	int err;

	assert_int_equal(build_cfi_image(file, file->len, &image), 0);
	punch(image, offset);
	if (no_sections)	/* at the end of the file */
		punch(image, file->len - 1);
	err = cfi_table_from_image(image, &part);
	if (err) {
		assert_int_equal(err, -ENODATA);
		return;
	}
	compare_part(part, whole, &result);
	/* One page is not all. */
	assert_true(result.same > 0);
}

static void test_holes(void **state)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *whole = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	char path[PATH_MAX] = "";
	Elf64_Phdr hdr;

	(void)state;
	dl_iterate_phdr(find_libc, path);
	read_file(path, &file);
	assert_int_equal(build_cfi_image(&file, file.len, &image), 0);
	assert_int_equal(cfi_table_from_image(image, &whole), 0);
	assert_int_equal(whole->nr_missing, 0);
	hdr = find_hdr(&file);
	punch_and_compare(&file, whole, 0, true);
	/* The header's pages and some of .eh_frame, which is behind it. */
	for (u64 at = hdr.p_offset; at < hdr.p_offset + hdr.p_filesz; at += 3 * PAGE)
		punch_and_compare(&file, whole, at, true);
	for (u64 at = 0; at < 20; at++)
		punch_and_compare(&file, whole, hdr.p_offset + hdr.p_filesz + at * PAGE, at & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_expressions),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_i386),
		cmocka_unit_test(test_i386_signal),
		cmocka_unit_test(test_arm64), cmocka_unit_test(test_arm64_sigreturn),
		cmocka_unit_test(test_arm64_only),
		cmocka_unit_test(test_hostile_programs),
		cmocka_unit_test(test_hostile_cies),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_loaded_objects),
		cmocka_unit_test(test_fixtures),
		cmocka_unit_test(test_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
