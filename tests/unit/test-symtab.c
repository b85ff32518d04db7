/* SPDX-License-Identifier: GPL-2.0-only */
/* The symbol table: order, ends, duplicates, nesting, look-up by address and by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "symbols/symtab.h"

static struct symtab *start_table(void)
{
	struct symtab *symtab = NULL;

	assert_int_equal(symtab_create(&symtab), 0);
	return symtab;
}

static void add(struct symtab *symtab, u64 start, u64 size, char type, const char *name)
{
	assert_int_equal(symtab_add(symtab, start, size, type, name), 0);
}

/* "-" for no symbol. */
static void expect(const struct symtab *symtab, u64 addr, const char *name)
{
	const struct symbol *symbol = symtab_find(symtab, addr);

	assert_string_equal(symbol ? symtab_name(symtab, symbol) : "-", name);
	if (symbol)
		assert_true(symbol->start <= addr && addr < symbol->end);
}

static void test_empty(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_nr(symtab), 0);
	expect(symtab, 0, "-");
	expect(symtab, UINT64_MAX, "-");
	assert_null(symtab_find_name(symtab, "x"));
	symtab_destroy(NULL);
}

static void test_misuse(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	assert_int_equal(symtab_add(symtab, 1, 0, 'T', ""), -EINVAL);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_add(symtab, 1, 0, 'T', "late"), -EINVAL);
	assert_int_equal(symtab_finish(symtab), -EINVAL);
}

static void test_ends(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x3000, 0, 'T', "third");
	add(symtab, 0x1000, 0, 't', "first");
	add(symtab, 0x2000, 0x10, 'T', "sized");
	assert_int_equal(symtab_finish(symtab), 0);
	expect(symtab, 0xfff, "-");
	expect(symtab, 0x1000, "first");
	expect(symtab, 0x1fff, "first");
	expect(symtab, 0x2000, "sized");
	expect(symtab, 0x200f, "sized");
	expect(symtab, 0x2010, "-");
	expect(symtab, 0x3000, "third");
	/* The last one reaches to the end of the next page. */
	expect(symtab, 0x3fff, "third");
	expect(symtab, 0x4000, "-");
	assert_int_equal(symtab_at(symtab, 1)->flags, SYMBOL_F_SIZED);
	assert_int_equal(symtab_at(symtab, 0)->end, 0x2000);
}

/* Per-CPU symbols lie near 0, the kernel at the top: the last of them does not own the hole. */
static void test_hole(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x34000, 0, 'A', "__per_cpu_end");
	add(symtab, 0xffffffff81000000, 0, 'T', "_text");
	add(symtab, UINT64_MAX, 0, 'T', "top");
	assert_int_equal(symtab_finish(symtab), 0);
	expect(symtab, 0x34fff, "__per_cpu_end");
	expect(symtab, 0x35000, "-");
	expect(symtab, 0x7f0000000000, "-");
	expect(symtab, 0xffffffff81000fff, "_text");
	expect(symtab, 0xffffffff81001000, "-");
	expect(symtab, UINT64_MAX, "-");
}

static void test_huge_size(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x1000, UINT64_MAX, 'T', "endless");
	assert_int_equal(symtab_finish(symtab), 0);
	expect(symtab, 0xfff, "-");
	expect(symtab, UINT64_MAX - 1, "endless");
}

static void test_code_preferred(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x1000, 0x1000, 'D', "table");
	add(symtab, 0x1100, 0x100, 't', "thunk");
	add(symtab, 0x1180, 0x10, 'D', "literal");
	add(symtab, 0x1000, 0, 'A', "mark");
	assert_int_equal(symtab_finish(symtab), 0);
	expect(symtab, 0x1000, "table");
	expect(symtab, 0x1100, "thunk");
	expect(symtab, 0x1180, "thunk");
	expect(symtab, 0x1200, "table");
	expect(symtab, 0x2000, "-");
}

static void test_best_of_one_address(void **state)
{
	static const struct {
		const char *better, *worse;
		char better_type, worse_type;
		u64 better_size, worse_size;
	} cases[] = {
		{ "code", "_data_longer", 't', 'D', 0, 0x10 },
		{ "local", "weak_longer", 't', 'W', 8, 8 },
		{ "global", "local_longer", 'T', 't', 8, 8 },
		{ "a", "_a_longer", 'T', 'T', 8, 8 },
		{ "longer", "short", 'T', 'T', 8, 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases) * 2; i++) {
		_cleanup_(symtab_destroy) struct symtab *symtab = start_table();
		size_t c = i / 2;

		if (i & 1)
			add(symtab, 8, cases[c].worse_size, cases[c].worse_type, cases[c].worse);
		add(symtab, 8, cases[c].better_size, cases[c].better_type, cases[c].better);
		if (!(i & 1))
			add(symtab, 8, cases[c].worse_size, cases[c].worse_type, cases[c].worse);
		assert_int_equal(symtab_finish(symtab), 0);
		expect(symtab, 8, cases[c].better);
		assert_int_equal(symtab_nr(symtab), 2);
		assert_string_equal(symtab_name(symtab, symtab_at(symtab, 0)), cases[c].better);
	}
}

/* The last to come of those without a size counts as sized; it may lose by another rule. */
static void test_best_of_unsized(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x10, 0, 'T', "first_and_longest");
	add(symtab, 0x10, 0, 't', "last");
	add(symtab, 0x20, 8, 't', "sized");
	add(symtab, 0x20, 0, 'T', "behind");
	add(symtab, 0x30, 0, 'T', "before");
	add(symtab, 0x30, 8, 't', "__sized");
	add(symtab, 0x40, 0, 'T', "code");
	add(symtab, 0x40, 0, 'D', "data");
	assert_int_equal(symtab_finish(symtab), 0);
	expect(symtab, 0x10, "last");
	expect(symtab, 0x20, "behind");
	expect(symtab, 0x30, "__sized");
	expect(symtab, 0x40, "code");
	assert_int_equal(symtab_at(symtab, 0)->flags, 0);
}

static void test_duplicates(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x10, 0, 't', "twice");
	add(symtab, 0x10, 0, 'T', "twice");
	add(symtab, 0x10, 0, 't', "other");
	add(symtab, 0x20, 0, 't', "twice");
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_nr(symtab), 3);
	assert_int_equal(symtab_find_name(symtab, "twice")->start, 0x10);
	assert_int_equal(symtab_find_name(symtab, "twice")->type, 'T');
	assert_int_equal(symtab_find_name(symtab, "other")->start, 0x10);
}

static void test_many_of_one_address(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();
	char name[32];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "a_rather_long_name_%04d", i % 1000);
		add(symtab, 0x10, 0, i % 3 ? 't' : 'T', name);
	}
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_nr(symtab), 1000);
	assert_int_equal(symtab_find_name(symtab, "a_rather_long_name_0000")->type, 'T');
}

static void test_nesting(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

	(void)state;
	add(symtab, 0x100, 0x100, 'T', "outer");
	add(symtab, 0x120, 0x60, 't', "middle");
	add(symtab, 0x140, 0x40, 't', "inner");	/* ends with middle */
	add(symtab, 0x1f0, 0x40, 'T', "across");	/* beyond outer's end */
	assert_int_equal(symtab_finish(symtab), 0);
	expect(symtab, 0x11f, "outer");
	expect(symtab, 0x13f, "middle");
	expect(symtab, 0x17f, "inner");
	expect(symtab, 0x180, "outer");
	expect(symtab, 0x1ef, "outer");
	expect(symtab, 0x1f0, "across");
	expect(symtab, 0x22f, "across");
	expect(symtab, 0x230, "-");
}

static void test_long_name(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();
	char name[SYMBOL_NAME_MAX + 2];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	add(symtab, 1, 0, 'T', name);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(strlen(symtab_name(symtab, symtab_at(symtab, 0))), SYMBOL_NAME_MAX);
	assert_true(symtab_memory(symtab) > SYMBOL_NAME_MAX);
}

/* All symbols of a small file can have the same long name. */
static void test_many_long_names(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *symtab = start_table();
	char name[SYMBOL_NAME_MAX + 1];
	size_t nr = 0;
	int err = 0;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	while (!err && nr <= 65536) {
		err = symtab_add(symtab, nr, 1, 'T', name);
		nr += !err;
	}
	assert_int_equal(err, -E2BIG);
	assert_int_equal(nr, 65536);
}

/* What symtab_find() promises, spelt out slowly. */
static const struct symbol *find_slowly(const struct symtab *symtab, u64 addr)
{
	const struct symbol *best = NULL;

	for (size_t i = 0; i < symtab_nr(symtab); i++) {
		const struct symbol *s = symtab_at(symtab, i);
		const struct symbol *before = i ? symtab_at(symtab, i - 1) : NULL;

		if (addr < s->start || addr >= s->end)
			continue;
		/* Only the best of its address and kind counts. */
		if (before && before->start == s->start &&
		    symbol_type_is_code(before->type) == symbol_type_is_code(s->type))
			continue;
		if (!best || symbol_type_is_code(s->type) >= symbol_type_is_code(best->type))
			best = s;
	}
	return best;
}

static void test_random_against_slow(void **state)
{
	static const char types[] = "TtDdWbiA";
	u64 seed = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		_cleanup_(symtab_destroy) struct symtab *symtab = start_table();

		for (int i = 0; i < 40; i++) {
			char name[16];
			u64 r = seed = hash_u64(seed + 1);

			snprintf(name, sizeof(name), "s%d", (int)(r >> 40 & 63));
			add(symtab, r & 255, (r >> 8) & 3 ? (r >> 16 & 63) : 0,
			    types[r >> 24 & 7], name);
		}
		assert_int_equal(symtab_finish(symtab), 0);
		for (u64 addr = 0; addr < 400; addr++)
			assert_ptr_equal(symtab_find(symtab, addr), find_slowly(symtab, addr));
	}
}

/* As many as a kernel has, in and out of order. */
static void test_kernel_sized(void **state)
{
	enum { NR = 170000 };

	(void)state;
	for (int reversed = 0; reversed < 2; reversed++) {
		_cleanup_(symtab_destroy) struct symtab *symtab = start_table();
		char name[32];

		for (u32 i = 0; i < NR; i++) {
			u32 n = reversed ? NR - 1 - i : i;

			snprintf(name, sizeof(name), "function_%u", n);
			add(symtab, 0xffffffff81000000 + n * 64, 0, 'T', name);
		}
		assert_int_equal(symtab_finish(symtab), 0);
		assert_int_equal(symtab_nr(symtab), NR);
		for (u32 i = 0; i < NR; i += 997) {
			snprintf(name, sizeof(name), "function_%u", i);
			expect(symtab, 0xffffffff81000000 + i * 64 + 63, name);
			assert_ptr_equal(symtab_find_name(symtab, name), symtab_at(symtab, i));
		}
		assert_null(symtab_find_name(symtab, "function_"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_huge_size),
		cmocka_unit_test(test_code_preferred),
		cmocka_unit_test(test_best_of_one_address),
		cmocka_unit_test(test_best_of_unsized),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_many_of_one_address),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_many_long_names),
		cmocka_unit_test(test_random_against_slow),
		cmocka_unit_test(test_kernel_sized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
