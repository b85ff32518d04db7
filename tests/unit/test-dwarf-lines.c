/* SPDX-License-Identifier: GPL-2.0-only */
/* Source lines and inlined functions, of this very program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "build-elf.h"
#include "symbols/dwarf-lines.h"
#include "symbols/elf-file.h"

static volatile u64 here;

/* Its own address, in whatever it is inlined into. */
static inline __attribute__((always_inline)) void inner(void)
{
	u64 ip;

	asm volatile("lea 0(%%rip), %0" : "=r"(ip));
	here = ip;
}

static inline __attribute__((always_inline)) void middle(void)
{
	inner();
}

static __attribute__((noinline)) int outer(void)
{
	middle();
	return __LINE__;
}

static int take_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(u64 *)arg = info->dlpi_addr;
	return 1;	/* the program comes first */
}

static void test_this_program(void **state)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	_cleanup_(dwarf_lines_destroy) struct dwarf_lines *lines = NULL;
	struct dwarf_inline inlines[DWARF_LINES_MAX_INLINES];
	struct dwarf_line line;
	u64 base = 0;

	(void)state;
	assert_int_equal(elf_file_open("/proc/self/exe", &file), 0);
	if (!elf_file_has_dwarf(file))
		skip();
	outer();
	dl_iterate_phdr(take_base, &base);
	assert_int_equal(dwarf_lines_create(elf_file_elf(file), &lines), 0);
	assert_int_equal(dwarf_lines_inlines(lines, here - base, inlines), 2);
	assert_string_equal(inlines[0].function, "inner");
	assert_string_equal(inlines[1].function, "middle");
	assert_int_equal(dwarf_lines_find(lines, here - base, &line), 0);
	assert_string_equal(line.file, "test-dwarf-lines.c");
	assert_true(line.line > 20 && line.line < 40);
	/* Nothing is there. */
	assert_int_equal(dwarf_lines_find(lines, 0, &line), -ENOENT);
	assert_int_equal(dwarf_lines_find(lines, UINT64_MAX, &line), -ENOENT);
	assert_int_equal(dwarf_lines_inlines(lines, UINT64_MAX, inlines), 0);
}

static void test_none(void **state)
{
	const struct build_elf spec = { .type = ET_DYN };
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	struct dwarf_lines *lines = NULL;

	(void)state;
	build_elf(&spec, &image);
	assert_int_equal(elf_file_open_memory(image.data, image.len, &file), 0);
	assert_false(elf_file_has_dwarf(file));
	assert_int_equal(dwarf_lines_create(elf_file_elf(file), &lines), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
