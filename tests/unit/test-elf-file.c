/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files: which symbols count and where, build ids, debug links; and the files that we make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lzma.h>
#include <stdio.h>

#include "build-elf.h"
#include "symbols/elf-file.h"
#include "symbols/elf-synth.h"

#define FUNC(binding) ELF64_ST_INFO(STB_##binding, STT_FUNC)
#define BASE 0x401000

static const struct build_id id = { 20, { 0xde, 0xad, 1, 2, 3, 4, 5, 6, 7, 8, 9 } };

static const struct build_elf_load loads[] = {
	{ BASE, BUILD_ELF_TEXT_OFFSET, 0x100, 0x100 },
	{ BASE + 0x1000, BUILD_ELF_TEXT_OFFSET + 0x1000, 0x100, 0x1100 },
};

static const struct build_elf_symbol symbols[] = {
	{ "main", BASE, 0x10, FUNC(GLOBAL), 0, BUILD_ELF_TEXT },
	{ "helper", BASE + 0x10, 0x10, FUNC(LOCAL), 0, BUILD_ELF_TEXT },
	{ "weak", BASE + 0x20, 0x10, FUNC(WEAK), 0, BUILD_ELF_TEXT },
	{ "resolver", BASE + 0x30, 8, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0,
	  BUILD_ELF_TEXT },
	{ "asm_label", BASE + 0x40, 0, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 0,
	  BUILD_ELF_TEXT },
	{ "hidden_label", BASE + 0x50, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), STV_HIDDEN,
	  BUILD_ELF_TEXT },
	{ "variable", BASE + 0x1000, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0,
	  BUILD_ELF_DATA },
	{ "zeroed", BASE + 0x2000, 8, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, BUILD_ELF_BSS },
	{ "external", 0, 0, FUNC(GLOBAL), 0, SHN_UNDEF },
	{ "absolute", 0x1234, 0, FUNC(GLOBAL), 0, SHN_ABS },
	{ "common", 8, 8, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, SHN_COMMON },
	{ "a_file.c", 0, 0, ELF64_ST_INFO(STB_LOCAL, STT_FILE), 0, BUILD_ELF_TEXT },
	{ "not_in_memory", 0, 0, FUNC(GLOBAL), 0, BUILD_ELF_COMMENT },
	{ "no_such_section", BASE, 0, FUNC(GLOBAL), 0, 99 },
	{ "", BASE + 0x60, 0x10, FUNC(GLOBAL), 0, BUILD_ELF_TEXT },
};

static const struct build_elf program = {
	.type = ET_EXEC,
	.text_addr = BASE,
	.symbols = symbols,
	.nr_symbols = ARRAY_SIZE(symbols),
	.loads = loads,
	.nr_loads = ARRAY_SIZE(loads),
	.build_id = { 20, { 0xde, 0xad, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
};

struct made {
	struct strbuf image;
	struct elf_file *file;
};

static void make(const struct build_elf *spec, struct made *ret)
{
	*ret = (struct made){ .image = STRBUF_INIT };
	build_elf(spec, &ret->image);
	assert_int_equal(elf_file_open_memory(ret->image.data, ret->image.len, &ret->file), 0);
}

static void unmake(struct made *made)
{
	elf_file_close(made->file);
	strbuf_deinit(&made->image);
}

static struct symtab *read_symbols(const struct elf_file *file, const struct elf_file *runtime)
{
	struct symtab *symtab;

	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_file_add_symbols(file, runtime, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	return symtab;
}

static void expect(const struct symtab *symtab, const char *name, u64 start, u8 type)
{
	const struct symbol *symbol = symtab_find_name(symtab, name);

	assert_non_null(symbol);
	assert_int_equal(symbol->start, start);
	assert_int_equal(symbol->type, type);
}

static void expect_program(const struct symtab *symtab)
{
	expect(symtab, "main", 0x1000, 'T');
	expect(symtab, "helper", 0x1010, 't');
	expect(symtab, "weak", 0x1020, 'W');
	expect(symtab, "resolver", 0x1030, 'T');
	expect(symtab, "asm_label", 0x1040, 'T');
	expect(symtab, "variable", 0x2000, 'D');
	expect(symtab, "zeroed", 0x3000, 'd');
	assert_int_equal(symtab_nr(symtab), 7);
	assert_string_equal(symtab_name(symtab, symtab_find(symtab, 0x102f)), "weak");
}

static void test_program(void **state)
{
	struct build_elf spec = program;

	(void)state;
	for (int form = 0; form < 4; form++) {
		struct build_id found = { 0 };
		struct symtab *symtab;
		struct made made;

		spec.is_32 = form & 1;
		spec.is_big = form & 2;
		make(&spec, &made);
		symtab = read_symbols(made.file, made.file);
		expect_program(symtab);
		assert_int_equal(elf_file_build_id(made.file, &found), 0);
		assert_true(build_id_equal(&found, &id));
		assert_true(elf_file_has_symtab(made.file));
		assert_false(elf_file_has_dynsym(made.file));
		assert_int_equal(elf_file_text_offset(made.file), BUILD_ELF_TEXT_OFFSET);
		symtab_destroy(symtab);
		unmake(&made);
	}
}

static void test_build_id_places(void **state)
{
	struct build_elf spec = program;
	struct build_id found = { 0 };
	struct made made;

	(void)state;
	spec.note_in_segment = true;
	make(&spec, &made);
	assert_int_equal(elf_file_build_id(made.file, &found), 0);
	assert_true(build_id_equal(&found, &id));
	unmake(&made);
	spec.build_id.size = 0;
	make(&spec, &made);
	assert_int_equal(elf_file_build_id(made.file, &found), -ENOENT);
	unmake(&made);
}

/* A debug file's sections have no contents and its segments lie; the program's file knows. */
static void test_debug_file(void **state)
{
	const struct build_elf_load wrong = { BASE, 0, 0x100, 0x100 };
	struct build_elf stripped = program, debug = program;
	struct symtab *symtab;
	struct made made, made_debug;

	(void)state;
	stripped.nr_symbols = 0;
	stripped.debuglink = "program.debug";
	debug.is_debug = true;
	debug.loads = &wrong;
	debug.nr_loads = 1;
	make(&stripped, &made);
	make(&debug, &made_debug);
	symtab = read_symbols(made_debug.file, made.file);
	expect_program(symtab);
	symtab_destroy(symtab);
	unmake(&made);
	unmake(&made_debug);
}

static void test_debuglink(void **state)
{
	static const struct {
		const char *link;
		int err;
	} cases[] = {
		{ "program.debug", 0 },
		{ NULL, -ENOENT },
		{ "", -EBADMSG },
		{ "../../etc/shadow", -EBADMSG },
		{ "far_too_long_for_the_buffer_that_it_is_to_go_into", -ENAMETOOLONG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct build_elf spec = { .type = ET_DYN, .debuglink = cases[i].link };
		struct made made;
		char name[32];

		make(&spec, &made);
		assert_int_equal(elf_file_debuglink(made.file, name, sizeof(name)), cases[i].err);
		if (!cases[i].err)
			assert_string_equal(name, cases[i].link);
		unmake(&made);
	}
}

static const char *name_at(const struct symtab *symtab, u64 addr)
{
	const struct symbol *symbol = symtab_find(symtab, addr);

	assert_non_null(symbol);
	return symtab_name(symtab, symbol);
}

static void test_dynamic_and_plt(void **state)
{
	static const struct build_elf_symbol dynamic[] = {
		{ "puts", 0, 0, FUNC(GLOBAL), 0, SHN_UNDEF },
		{ "malloc", 0, 0, FUNC(GLOBAL), 0, SHN_UNDEF },
		{ "exported", BASE + 0x80, 0x10, FUNC(GLOBAL), 0, BUILD_ELF_TEXT },
	};
	struct build_elf spec = program;
	struct symtab *symtab;
	struct made made;
	u64 plt;

	(void)state;
	spec.machine = EM_X86_64;
	spec.nr_symbols = 0;
	spec.dynamic = dynamic;
	spec.nr_dynamic = ARRAY_SIZE(dynamic);
	spec.nr_plt = 2;
	plt = build_elf_plt_offset(&spec);
	make(&spec, &made);
	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_file_add_symbols(made.file, made.file, symtab), 0);
	assert_int_equal(elf_file_add_plt(made.file, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_nr(symtab), 3);
	expect(symtab, "exported", 0x1080, 'T');
	expect(symtab, "puts@plt", plt + 16, 'T');
	expect(symtab, "malloc@plt", plt + 32, 'T');
	symtab_destroy(symtab);
	unmake(&made);
}

/* Of a function that is chosen at run time only the one that chooses is known. */
static void test_chosen(void **state)
{
	static const struct build_elf_symbol dynamic[] = {
		{ "puts", 0, 0, FUNC(GLOBAL), 0, SHN_UNDEF },
		{ "_copy", BASE + 0x40, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0,
		  BUILD_ELF_TEXT },
		{ "copy", BASE + 0x40, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), 0,
		  BUILD_ELF_TEXT },
		{ "choose", BASE + 0x40, 0x10, FUNC(GLOBAL), 0, BUILD_ELF_TEXT },
	};
	static const u64 choosers[] = { BASE + 0x40, BASE + 0x50 };
	struct build_elf spec = program;
	struct symtab *symtab;
	struct made made;
	u64 plt;

	(void)state;
	spec.machine = EM_X86_64;
	spec.nr_symbols = 0;
	spec.dynamic = dynamic;
	spec.nr_dynamic = ARRAY_SIZE(dynamic);
	spec.nr_plt = 1;
	spec.choosers = choosers;
	spec.nr_choosers = ARRAY_SIZE(choosers);
	plt = build_elf_plt_offset(&spec);
	make(&spec, &made);
	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_file_add_plt(made.file, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_string_equal(name_at(symtab, plt + 16), "puts@plt");
	assert_string_equal(name_at(symtab, plt + 32), "copy@plt");
	assert_string_equal(name_at(symtab, plt + 48), "@plt");
	symtab_destroy(symtab);
	unmake(&made);
}

/* Calls go to the second stubs; the order is that of what they jump by. */
static void test_second_plt(void **state)
{
	static const struct build_elf_symbol dynamic[] = {
		{ "puts", 0, 0, FUNC(GLOBAL), 0, SHN_UNDEF },
		{ "malloc", 0, 0, FUNC(GLOBAL), 0, SHN_UNDEF },
	};
	struct build_elf spec = program;
	struct symtab *symtab;
	struct made made;
	u64 plt;

	(void)state;
	spec.machine = EM_X86_64;
	spec.nr_symbols = 0;
	spec.dynamic = dynamic;
	spec.nr_dynamic = spec.nr_plt = 2;
	spec.second_plt = spec.last_first = true;
	plt = build_elf_plt_offset(&spec);
	make(&spec, &made);
	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_file_add_plt(made.file, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_nr(symtab), 4);
	assert_string_equal(name_at(symtab, plt + 16), "malloc@plt");
	assert_string_equal(name_at(symtab, plt + 32 + 15), "puts@plt");
	assert_string_equal(name_at(symtab, plt + 48), "malloc@plt");
	assert_string_equal(name_at(symtab, plt + 64), "puts@plt");
	assert_null(symtab_find(symtab, plt + 80));
	symtab_destroy(symtab);
	unmake(&made);
}

static void test_relocatable(void **state)
{
	static const struct build_elf_symbol module[] = {
		{ "init", 0x10, 8, FUNC(LOCAL), 0, BUILD_ELF_TEXT },
		{ "state", 0, 8, ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), 0, BUILD_ELF_DATA },
	};
	const struct build_elf spec = { .type = ET_REL, .symbols = module, .nr_symbols = 2 };
	struct symtab *symtab;
	struct made made;

	(void)state;
	make(&spec, &made);
	assert_true(elf_file_is_relocatable(made.file));
	symtab = read_symbols(made.file, made.file);
	assert_int_equal(symtab_nr(symtab), 1);
	expect(symtab, "init", BUILD_ELF_TEXT_OFFSET + 0x10, 't');
	symtab_destroy(symtab);
	unmake(&made);
}

static void test_arm_marks(void **state)
{
	static const struct build_elf_symbol arm[] = {
		{ "$x", BASE, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, BUILD_ELF_TEXT },
		{ "$d.2", BASE, 0, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, BUILD_ELF_TEXT },
		{ "$dollar", BASE, 4, FUNC(GLOBAL), 0, BUILD_ELF_TEXT },
	};
	struct build_elf spec = program;
	struct symtab *symtab;
	struct made made;

	(void)state;
	spec.machine = EM_AARCH64;
	spec.symbols = arm;
	spec.nr_symbols = ARRAY_SIZE(arm);
	make(&spec, &made);
	symtab = read_symbols(made.file, made.file);
	assert_int_equal(symtab_nr(symtab), 1);
	expect(symtab, "$dollar", 0x1000, 'T');
	symtab_destroy(symtab);
	unmake(&made);
}

/* Cut anywhere: an error or fewer symbols, never a read outside. */
static void test_truncated(void **state)
{
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	size_t step = 1;

	(void)state;
	build_elf(&program, &image);
	for (size_t cut = 0; cut < image.len; cut += step) {
		_cleanup_(elf_file_close) struct elf_file *file = NULL;
		_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
		_cleanup_free_ char *copy = malloc(cut ? cut : 1);
		struct build_id found;

		/* The padding between header and code is all the same. */
		step = cut > 64 && cut < BUILD_ELF_TEXT_OFFSET + 0x2000 ? 61 : 1;
		assert_non_null(copy);
		memcpy(copy, image.data, cut);
		if (elf_file_open_memory(copy, cut, &file))
			continue;
		assert_int_equal(symtab_create(&symtab), 0);
		elf_file_build_id(file, &found);
		elf_file_add_symbols(file, file, symtab);
		elf_file_add_plt(file, symtab);
	}
}

static void test_not_elf(void **state)
{
	char text[] = "#!/bin/sh\necho this is no ELF file, whatever its name may be\n";
	struct elf_file *file = NULL;

	(void)state;
	assert_int_equal(elf_file_open_memory(text, sizeof(text), &file), -EBADMSG);
	assert_int_equal(elf_file_open_memory(text, 0, &file), -EBADMSG);
	assert_int_equal(elf_file_open("/proc/self/status", &file), -EBADMSG);
	assert_int_equal(elf_file_open_copy("/proc/self/status", &file), -EBADMSG);
	assert_int_equal(elf_file_open("/dev/null", &file), -EBADMSG);
	assert_int_equal(elf_file_open_copy("/dev/null", &file), -EBADMSG);
	assert_int_equal(elf_file_open("/tmp", &file), -EBADMSG);
	assert_int_equal(elf_file_open("/nonexistent", &file), -ENOENT);
	assert_int_equal(elf_file_open_copy("/nonexistent", &file), -ENOENT);
	assert_null(file);
}

static struct symtab *module_symbols(void)
{
	struct symtab *symtab;

	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(symtab_add(symtab, 0xffffffffc0100fff, 0, 'T', "before"), 0);
	assert_int_equal(symtab_add(symtab, 0xffffffffc0101000, 0, 't', "first"), 0);
	assert_int_equal(symtab_add(symtab, 0xffffffffc0101040, 0, 'T', "second"), 0);
	assert_int_equal(symtab_add(symtab, 0xffffffffc0101080, 0, 'W', "third"), 0);
	assert_int_equal(symtab_add(symtab, 0xffffffffc01010c0, 0, 'd', "data"), 0);
	assert_int_equal(symtab_add(symtab, 0xffffffffc0102000, 0, 'T', "behind"), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	return symtab;
}

static void test_synth(void **state)
{
	_cleanup_(symtab_destroy) struct symtab *from = module_symbols(), *symtab = NULL;
	_cleanup_free_ char *text = calloc(1, 0x1000);

	(void)state;
	assert_non_null(text);
	for (int with_text = 0; with_text < 2; with_text++) {
		const struct elf_synth spec = { from, 0xffffffffc0101000, 0x1000, EM_X86_64, id,
						with_text ? text : NULL };
		_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
		_cleanup_(elf_file_close) struct elf_file *file = NULL;
		struct build_id found;
		u64 at;

		assert_int_equal(elf_synth_module(&spec, &image), 0);
		assert_int_equal(elf_file_open_memory(image.data, image.len, &file), 0);
		assert_int_equal(elf_file_build_id(file, &found), 0);
		assert_true(build_id_equal(&found, &id));
		at = elf_file_text_offset(file);
		symtab_destroy(TAKE_PTR(symtab));
		symtab = read_symbols(file, file);
		assert_int_equal(symtab_nr(symtab), 3);
		expect(symtab, "first", at, 't');
		expect(symtab, "second", at + 0x40, 'T');
		expect(symtab, "third", at + 0x80, 'W');
		assert_int_equal(symtab_at(symtab, 2)->end, at + 0xc0);
	}
}

static void pack(const struct strbuf *from, struct strbuf *to)
{
	size_t len = 0;

	assert_int_equal(strbuf_grow(to, lzma_stream_buffer_bound(from->len)), 0);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, (u8 *)from->data,
						 from->len, (u8 *)to->data, &len, to->alloc),
			 LZMA_OK);
	to->len = len;
}

/* Opens what is packed in a file with @contents in .gnu_debugdata. */
static int open_packed(const struct strbuf *contents, struct elf_file **ret)
{
	const struct build_elf spec = { .type = ET_DYN, .debugdata = contents };
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;
	_cleanup_(elf_file_close) struct elf_file *file = NULL;

	build_elf(&spec, &image);
	assert_int_equal(elf_file_open_memory(image.data, image.len, &file), 0);
	return elf_file_open_debugdata(file, ret);
}

static void test_debugdata(void **state)
{
	static const struct build_elf_symbol symbol = {
		"hidden", 0x401000, 16, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, BUILD_ELF_TEXT
	};
	const struct build_elf inner = {
		.type = ET_DYN, .is_debug = true, .symbols = &symbol, .nr_symbols = 1,
	};
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT, packed = STRBUF_INIT;
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;

	(void)state;
	build_elf(&inner, &image);
	pack(&image, &packed);
	assert_int_equal(open_packed(&packed, &file), 0);
	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_file_add_symbols(file, NULL, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_find_name(symtab, "hidden")->start, 0x401000);
	for (size_t size = packed.len - 1; size; size--) {
		struct elf_file *none = NULL;

		packed.len = size;
		assert_int_equal(open_packed(&packed, &none), -EBADMSG);
	}
}

/* Not there, not packed, not ELF inside, and a bomb. */
static void test_bad_debugdata(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, packed = STRBUF_INIT;
	const struct build_elf plain = { .type = ET_DYN };
	_cleanup_strbuf_ struct strbuf image = STRBUF_INIT, bomb = STRBUF_INIT;
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	struct elf_file *none = NULL;

	(void)state;
	build_elf(&plain, &image);
	assert_int_equal(elf_file_open_memory(image.data, image.len, &file), 0);
	assert_int_equal(elf_file_open_debugdata(file, &none), -ENOENT);
	strbuf_adds(&text, "no ELF file, and not packed");
	assert_int_equal(open_packed(&text, &none), -EBADMSG);
	pack(&text, &packed);
	assert_int_equal(open_packed(&packed, &none), -EBADMSG);
	strbuf_reset(&packed);
	strbuf_add_zeros(&bomb, 200 << 20);
	pack(&bomb, &packed);
	assert_int_equal(open_packed(&packed, &none), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_build_id_places),
		cmocka_unit_test(test_debug_file),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_dynamic_and_plt),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_second_plt),
		cmocka_unit_test(test_relocatable),
		cmocka_unit_test(test_arm_marks),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_synth),
		cmocka_unit_test(test_debugdata),
		cmocka_unit_test(test_bad_debugdata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
