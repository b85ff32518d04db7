/* SPDX-License-Identifier: GPL-2.0-only */
/* /proc/kallsyms' text format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "symbols/kallsyms-text.h"

static const char sample[] =
	"0000000000000000 A fixed_percpu_data\n"
	"ffffffff81000000 T _text\n"
	"ffffffff81000000 T _stext\n"
	"ffffffff81000070 T secondary_startup_64\n"
	"ffffffff81e00000 R __start_rodata\n"
	"ffffffff82000000 D init_task\n"
	"ffffffffc0201000 t ext4_read\t[ext4]\n"
	"ffffffffc0100000 T jbd2_start\t[jbd2]\n"
	"ffffffffc0201100 t ext4_write\t[ext4]\n"
	"ffffffffc0300000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static void test_sample(void **state)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *k = NULL;
	const struct symtab *kernel, *ext4;

	(void)state;
	assert_int_equal(kallsyms_text_read(sample, strlen(sample), 0, &k), 0);
	kernel = kallsyms_text_kernel(k);
	assert_int_equal(symtab_nr(kernel), 6);
	assert_string_equal(symtab_name(kernel, symtab_find(kernel, 0xffffffff81000000)), "_stext");
	assert_int_equal(symtab_find_name(kernel, "_text")->start, 0xffffffff81000000);
	assert_int_equal(symtab_find_name(kernel, "__start_rodata")->type, 'R');
	assert_int_equal(kallsyms_text_nr_modules(k), 3);
	assert_string_equal(kallsyms_text_module_name(k, 0), "ext4");
	assert_string_equal(kallsyms_text_module_name(k, 1), "jbd2");
	assert_string_equal(kallsyms_text_module_name(k, 2), "bpf");
	ext4 = kallsyms_text_module(k, 0);
	assert_int_equal(symtab_nr(ext4), 2);
	assert_string_equal(symtab_name(ext4, symtab_find(ext4, 0xffffffffc02010ff)), "ext4_read");
}

static void test_perf_filter(void **state)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *k = NULL;
	struct symtab *kernel;

	(void)state;
	assert_int_equal(kallsyms_text_read(sample, strlen(sample), KALLSYMS_PERF, &k), 0);
	kernel = kallsyms_text_take_kernel(k);
	assert_null(kallsyms_text_kernel(k));
	assert_int_equal(symtab_nr(kernel), 4);
	assert_null(symtab_find_name(kernel, "__start_rodata"));
	symtab_destroy(kernel);
}

static void test_hidden_addresses(void **state)
{
	static const char text[] = "0000000000000000 T _text\n0000000000000000 T _stext\n";
	struct kallsyms_text *k = NULL;

	(void)state;
	assert_int_equal(kallsyms_text_read(text, strlen(text), 0, &k), -EACCES);
	assert_null(k);
	assert_int_equal(kallsyms_text_read("", 0, 0, &k), 0);
	assert_int_equal(symtab_nr(kallsyms_text_kernel(k)), 0);
	kallsyms_text_destroy(k);
}

static void test_bad_lines(void **state)
{
	static const char *const lines[] = {
		"\n",
		" T name\n",
		"1\n",
		"1 T\n",
		"1 T \n",
		"1 Tname\n",
		"1  T name\n",
		"G T name\n",
		"12345678901234567 T name\n",
		"1 T name\t\n",
		"1 T name\t[\n",
		"1 T name\t[]\n",
		"1 T name\tmod]\n",
		"1 T name\t[mod\n",
		"1 T \t[mod]\n",
		"1 T n\t[a_module_name_of_more_bytes_than_any_kernel_allows_for_and_then_some]\n",
	};
	struct kallsyms_text *k = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(kallsyms_text_read(lines[i], strlen(lines[i]), 0, &k), -EBADMSG);
	assert_int_equal(kallsyms_text_read("1 T a\0b\n", 8, 0, &k), -EBADMSG);
}

static void test_truncated(void **state)
{
	size_t size = strlen(sample);

	(void)state;
	for (size_t cut = 0; cut <= size; cut++) {
		_cleanup_(kallsyms_text_destroy) struct kallsyms_text *k = NULL;
		/* On the heap, so that a read past the cut is seen by a sanitizer. */
		_cleanup_free_ char *copy = malloc(cut ? cut : 1);
		bool whole = !cut || sample[cut - 1] == '\n';
		bool hidden = whole && cut && cut < 40;
		int err;

		assert_non_null(copy);
		memcpy(copy, sample, cut);
		err = kallsyms_text_read(copy, cut, 0, &k);
		assert_int_equal(err, !whole ? -ENODATA : hidden ? -EACCES : 0);
	}
}

static void test_many_modules(void **state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *k = NULL;

	(void)state;
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&sb, "%x T f\t[m%d]\n", i + 1, i % 1000);
	assert_int_equal(kallsyms_text_read(sb.data, sb.len, 0, &k), 0);
	assert_int_equal(kallsyms_text_nr_modules(k), 1000);
	assert_int_equal(symtab_nr(kallsyms_text_module(k, 999)), 20);
	strbuf_reset(&sb);
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&sb, "%x T f\t[m%d]\n", i + 1, i);
	kallsyms_text_destroy(TAKE_PTR(k));
	assert_int_equal(kallsyms_text_read(sb.data, sb.len, 0, &k), -E2BIG);
}

/* The running kernel's, when it can be read. */
static void test_own_kernel(void **state)
{
	_cleanup_(kallsyms_text_destroy) struct kallsyms_text *k = NULL;
	_cleanup_free_ char *text = NULL;
	const struct symbol *symbol;
	size_t size;
	int err;

	(void)state;
	if (file_read(AT_FDCWD, "/proc/kallsyms", KALLSYMS_MAX_TEXT, &text, &size))
		skip();
	err = kallsyms_text_read(text, size, KALLSYMS_PERF, &k);
	if (err == -EACCES)
		skip();
	assert_int_equal(err, 0);
	symbol = symtab_find_name(kallsyms_text_kernel(k), "_text");
	assert_non_null(symbol);
	assert_non_null(symtab_find(kallsyms_text_kernel(k), symbol->start));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_perf_filter),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_many_modules),
		cmocka_unit_test(test_own_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
