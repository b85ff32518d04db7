/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of exits, from the kernel's own description. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "build-exits.h"
#include "count/exit-names.h"

static void expect(const struct exit_names *names, u32 reason, u32 detail, const char *want)
{
	char got[EXIT_NAME_LEN];

	exit_names_find(names, reason, detail, got);
	assert_string_equal(got, want);
}

static void test_x86(void **state)
{
	struct exit_names names;

	(void)state;
	assert_int_equal(exit_names_parse(BUILD_EXITS_X86, &names), 0);
	assert_int_equal(names.tables.nr, 2);
	/* 1 is VMX, 2 is SVM. */
	expect(&names, 12, 1, "HLT");
	expect(&names, 0, 1, "EXCEPTION_NMI");
	expect(&names, 0, 2, "read_cr0");
	expect(&names, 0x78, 2, "hlt");
	expect(&names, 0x78, 1, "0x78");
	expect(&names, 12, 2, "0xc");
	expect(&names, 0x80000021, 1, "INVALID_STATE+0x80000000");
	expect(&names, 0x80000021, 2, "0x80000021");
	expect(&names, 0xffffffff, 2, "invalid_guest_state");
	exit_names_deinit(&names);
}

static void test_arm64(void **state)
{
	struct exit_names names;

	(void)state;
	assert_int_equal(exit_names_parse(BUILD_EXITS_ARM64, &names), 0);
	expect(&names, 0, 0, "IRQ");
	expect(&names, 2, 1, "TRAP:WFx");
	expect(&names, 2, 0x24, "TRAP:DABT_LOW");
	expect(&names, 2, 0, "TRAP");
	expect(&names, 2, 0x3f, "TRAP");
	expect(&names, 7, 0, "0x7");
	expect(&names, 0xbadca11, 0, "HYP_GONE");
	exit_names_deinit(&names);
	assert_int_equal(exit_names_parse(BUILD_EXITS_ARM64_NEW, &names), 0);
	expect(&names, 2, 0x1a, "TRAP:ERET");
	expect(&names, 0, 0, "IRQ");
	exit_names_deinit(&names);
}

#define PRINT(text) "print fmt: \"%s\", " text "\n"

/* What is written in other ways is left out, or is no such text. */
static void test_odd(void **state)
{
	struct exit_names names;
	_cleanup_strbuf_ struct strbuf many = STRBUF_INIT;

	(void)state;
	assert_int_equal(exit_names_parse("name: kvm_exit\n", &names), -EBADMSG);
	assert_int_equal(exit_names_parse(PRINT("REC->exit_reason"), &names), 0);
	expect(&names, 3, 2, "0x3");
	exit_names_deinit(&names);
	/* Numbers that are not plain ones, and another field's table. */
	assert_int_equal(exit_names_parse(
		PRINT("__print_symbolic(REC->other, { 3, \"x\" }), __print_symbolic(REC->ret, "
		      "{ IRQ_NR, \"IRQ\" }, { 1 + 2, \"SUM\" }, { 4, \"four\" })"), &names), 0);
	expect(&names, 3, 0, "0x3");
	expect(&names, 4, 0, "four");
	exit_names_deinit(&names);
	assert_int_equal(exit_names_parse(
		PRINT("__print_symbolic(REC->ret, 3, \"x\")"), &names), -EBADMSG);
	assert_int_equal(exit_names_parse(
		PRINT("__print_symbolic(REC->ret, { 3, \"x }"), &names), -EBADMSG);
	strbuf_adds(&many, "print fmt: __print_symbolic(REC->ret");
	for (int i = 0; i < 5000; i++)
		strbuf_addf(&many, ", { %d, \"n%d\" }", i, i);
	strbuf_addc(&many, ')');
	assert_int_equal(exit_names_parse(strbuf_cstr(&many), &names), -E2BIG);
	strbuf_reset(&many);
	strbuf_adds(&many, "print fmt: ");
	for (int i = 0; i < 40; i++)
		strbuf_adds(&many, "__print_symbolic(REC->ret, { 1, \"a\" }), ");
	assert_int_equal(exit_names_parse(strbuf_cstr(&many), &names), -E2BIG);
}

/* Cut anywhere: an error, or names that all are whole ones. */
static void test_cut(void **state)
{
	static const char whole[] = BUILD_EXITS_X86;
	char text[sizeof(whole)], got[EXIT_NAME_LEN];

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		struct exit_names names;

		memcpy(text, whole, len);
		text[len] = '\0';
		if (exit_names_parse(text, &names))
			continue;
		exit_names_find(&names, 0x400, 2, got);
		assert_true(!strcmp(got, "npf") || !strcmp(got, "0x400"));
		exit_names_deinit(&names);
	}
}

static void test_fields(void **state)
{
	struct stat_fields fields = { .reason_at = 77 };

	(void)state;
	assert_int_equal(exit_fields_find(BUILD_EXITS_X86, &fields), 0);
	assert_int_equal(fields.reason_at, 8);
	assert_int_equal(fields.reason_size, 4);
	assert_int_equal(fields.detail_at, 24);
	assert_int_equal(fields.detail_size, 4);
	assert_int_equal(exit_fields_find(BUILD_EXITS_ARM64, &fields), 0);
	assert_int_equal(fields.detail_at, 12);
	/* No second number. */
	assert_int_equal(exit_fields_find(
		BUILD_EXITS_HEAD "\tfield:u32 exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n",
		&fields), 0);
	assert_int_equal(fields.detail_size, 0);
	assert_int_equal(exit_fields_find(BUILD_EXITS_HEAD, &fields), -EOPNOTSUPP);
	assert_int_equal(exit_fields_find(
		BUILD_EXITS_HEAD "\tfield:u64 exit_reason;\toffset:8;\tsize:8;\tsigned:0;\n",
		&fields), -EOPNOTSUPP);
	assert_int_equal(exit_fields_find("", &fields), -EBADMSG);
	assert_int_equal(fields.reason_at, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
