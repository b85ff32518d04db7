/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF's records of 32 bits come out as those of 64, those of 64 as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "objfile/elf-widen.h"

static void test_header(void **state)
{
	const Elf32_Ehdr narrow = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB },
		.e_type = ET_DYN,
		.e_machine = EM_386,
		.e_version = 1,
		.e_entry = 0xfffff000,
		.e_phoff = 52,
		.e_shoff = 0x80000001,
		.e_flags = 3,
		.e_ehsize = sizeof(Elf32_Ehdr),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 7,
		.e_shentsize = sizeof(Elf32_Shdr),
		.e_shnum = 9,
		.e_shstrndx = 8,
	};
	Elf64_Ehdr wide, again;

	(void)state;
	assert_true(elf_is_narrow(narrow.e_ident));
	assert_int_equal(ELF_SIZE(true, Ehdr), 52);
	assert_int_equal(ELF_SIZE(false, Ehdr), 64);
	elf_widen_ehdr(true, &narrow, &wide);
	assert_memory_equal(wide.e_ident, narrow.e_ident, EI_NIDENT);
	assert_int_equal(wide.e_type, ET_DYN);
	assert_int_equal(wide.e_machine, EM_386);
	assert_int_equal(wide.e_version, 1);
	assert_int_equal(wide.e_entry, 0xfffff000);
	assert_int_equal(wide.e_phoff, 52);
	assert_int_equal(wide.e_shoff, 0x80000001);
	assert_int_equal(wide.e_flags, 3);
	assert_int_equal(wide.e_ehsize, 52);
	assert_int_equal(wide.e_phentsize, 32);
	assert_int_equal(wide.e_phnum, 7);
	assert_int_equal(wide.e_shentsize, 40);
	assert_int_equal(wide.e_shnum, 9);
	assert_int_equal(wide.e_shstrndx, 8);
	wide.e_ident[EI_CLASS] = ELFCLASS64;
	assert_false(elf_is_narrow(wide.e_ident));
	elf_widen_ehdr(false, &wide, &again);
	assert_memory_equal(&again, &wide, sizeof(wide));
}

static void test_segment(void **state)
{
	/* The flags are elsewhere in the long one. */
	const Elf32_Phdr narrow = { PT_LOAD, 1, 2, 3, 4, 5, PF_X, 0x1000 };
	Elf64_Phdr wide, again;

	(void)state;
	elf_widen_phdr(true, &narrow, &wide);
	assert_int_equal(wide.p_type, PT_LOAD);
	assert_int_equal(wide.p_offset, 1);
	assert_int_equal(wide.p_vaddr, 2);
	assert_int_equal(wide.p_paddr, 3);
	assert_int_equal(wide.p_filesz, 4);
	assert_int_equal(wide.p_memsz, 5);
	assert_int_equal(wide.p_flags, PF_X);
	assert_int_equal(wide.p_align, 0x1000);
	elf_widen_phdr(false, &wide, &again);
	assert_memory_equal(&again, &wide, sizeof(wide));
}

static void test_section(void **state)
{
	const Elf32_Shdr narrow = { 1, SHT_SYMTAB, 2, 3, 4, 5, 6, 7, 8, 16 };
	Elf64_Shdr wide, again;

	(void)state;
	elf_widen_shdr(true, &narrow, &wide);
	assert_int_equal(wide.sh_name, 1);
	assert_int_equal(wide.sh_type, SHT_SYMTAB);
	assert_int_equal(wide.sh_flags, 2);
	assert_int_equal(wide.sh_addr, 3);
	assert_int_equal(wide.sh_offset, 4);
	assert_int_equal(wide.sh_size, 5);
	assert_int_equal(wide.sh_link, 6);
	assert_int_equal(wide.sh_info, 7);
	assert_int_equal(wide.sh_addralign, 8);
	assert_int_equal(wide.sh_entsize, 16);
	elf_widen_shdr(false, &wide, &again);
	assert_memory_equal(&again, &wide, sizeof(wide));
}

static void test_symbol_and_dynamic(void **state)
{
	/* Value and size come before the rest in the short one. */
	const Elf32_Sym symbol = { 1, 0xc0001000, 3, 4, 5, 6 };
	const Elf32_Dyn entry = { DT_SYMTAB, { 0x80001000 } };
	Elf64_Sym wide, again;
	Elf64_Dyn wide_entry, same;

	(void)state;
	elf_widen_sym(true, &symbol, &wide);
	assert_int_equal(wide.st_name, 1);
	assert_int_equal(wide.st_value, 0xc0001000);
	assert_int_equal(wide.st_size, 3);
	assert_int_equal(wide.st_info, 4);
	assert_int_equal(wide.st_other, 5);
	assert_int_equal(wide.st_shndx, 6);
	elf_widen_sym(false, &wide, &again);
	assert_memory_equal(&again, &wide, sizeof(wide));
	elf_widen_dyn(true, &entry, &wide_entry);
	assert_int_equal(wide_entry.d_tag, DT_SYMTAB);
	assert_int_equal(wide_entry.d_un.d_ptr, 0x80001000);
	elf_widen_dyn(false, &wide_entry, &same);
	assert_memory_equal(&same, &wide_entry, sizeof(same));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_segment),
		cmocka_unit_test(test_section),
		cmocka_unit_test(test_symbol_and_dynamic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
