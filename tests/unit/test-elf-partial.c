/* SPDX-License-Identifier: GPL-2.0-only */
/* ELF files with holes: what is known of them, and what is made of that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "build-elf.h"
#include "build-folder.h"
#include "symbols/cache.h"
#include "symbols/elf-file.h"

#define PAGE FILE_IMAGE_PAGE
#define BASE 0x400000

static const struct build_elf_load load = { BASE, 0, 0x2000, 0x10000 };

/* What .symtab has; .dynsym has the first and the last. */
static const struct build_elf_symbol symbols[] = {
	{ "one", BASE + 0x1000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, BUILD_ELF_TEXT },
	{ "two", BASE + 0x1010, 0x10, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, BUILD_ELF_TEXT },
	{ "value", BASE + 0x2000, 8, ELF64_ST_INFO(STB_WEAK, STT_OBJECT), 0, BUILD_ELF_DATA },
	{ "elsewhere", 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF },
};
static const struct build_elf_symbol dynamic[] = {
	{ "one", BASE + 0x1000, 0x10, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, BUILD_ELF_TEXT },
	{ "elsewhere", 0, 0, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF },
};
static const struct build_elf spec = {
	.type = ET_DYN,
	.text_addr = BASE + 0x1000,
	.symbols = symbols,
	.nr_symbols = ARRAY_SIZE(symbols),
	.dynamic = dynamic,
	.nr_dynamic = ARRAY_SIZE(dynamic),
	.loads = &load,
	.nr_loads = 1,
	.build_id = { 20, { 0xab, 0xcd, 0xef } },
	.dynamic_segment = true,
};

/* An image of @file of which page i is known when bit i % 64 of @known is set. */
static struct file_image *image_of(const void *data, size_t size, u64 known)
{
	struct file_image *image = NULL;
	u8 page[PAGE];

	assert_int_equal(file_image_create(size, &image), 0);
	for (u64 at = 0; at < size; at += PAGE) {
		memset(page, 0, sizeof(page));
		memcpy(page, (const char *)data + at, MIN(size - at, (u64)PAGE));
		if (known >> (at / PAGE % 64) & 1)
			file_image_set_page(image, at, page);
	}
	return image;
}

static struct symtab *symbols_of(const struct file_image *image, bool offsets)
{
	struct symtab *symtab = NULL;
	struct elf_partial partial;

	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_partial_init(&partial, image), 0);
	assert_int_equal(elf_partial_add_symbols(&partial, offsets, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	elf_partial_deinit(&partial);
	return symtab;
}

static void test_whole(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	struct elf_partial partial;

	(void)state;
	build_elf(&spec, &file);
	image = image_of(file.data, file.len, UINT64_MAX);
	assert_int_equal(elf_partial_init(&partial, image), 0);
	assert_int_equal(partial.segments, ELF_PART_WHOLE);
	assert_int_equal(partial.sections, ELF_PART_WHOLE);
	assert_int_equal(partial.notes, ELF_PART_WHOLE);
	assert_int_equal(partial.symtab, ELF_PART_WHOLE);
	assert_int_equal(partial.dynsym, ELF_PART_WHOLE);
	assert_true(build_id_equal(&partial.build_id, &spec.build_id));
	elf_partial_deinit(&partial);
	symtab = symbols_of(image, true);
	assert_int_equal(symtab_nr(symtab), 3);
	assert_int_equal(symtab_find_name(symtab, "two")->start, 0x1010);
	assert_int_equal(symtab_find_name(symtab, "two")->type, 't');
	assert_int_equal(symtab_find_name(symtab, "one")->type, 'T');
	assert_int_equal(symtab_find_name(symtab, "value")->type, 'V');
}

static void test_not_elf(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(file_image_destroy) struct file_image *none = NULL, *text = NULL, *big = NULL;
	struct build_elf is_big = spec;
	struct elf_partial partial;
	char bytes[2 * PAGE] = "#!/bin/sh";

	(void)state;
	none = image_of(bytes, sizeof(bytes), 2);
	assert_int_equal(elf_partial_init(&partial, none), -ENODATA);
	text = image_of(bytes, sizeof(bytes), 1);
	assert_int_equal(elf_partial_init(&partial, text), -EBADMSG);
	is_big.is_big = true;
	build_elf(&is_big, &file);
	big = image_of(file.data, file.len, UINT64_MAX);
	assert_int_equal(elf_partial_init(&partial, big), -EOPNOTSUPP);
}

/* The same of 32 bits; without sections, too. */
static void test_32_bits(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct build_elf is_32 = spec;

	(void)state;
	is_32.is_32 = true;
	build_elf(&is_32, &file);
	for (unsigned int sections = 0; sections < 2; sections++) {
		_cleanup_(file_image_destroy) struct file_image *image = NULL;
		_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
		struct elf_partial partial;

		if (!sections)	/* e_shoff, e_shnum */
			memset(file.data + offsetof(Elf32_Ehdr, e_shoff), 0, 4);
		image = image_of(file.data, file.len, UINT64_MAX);
		assert_int_equal(elf_partial_init(&partial, image), 0);
		assert_true(partial.narrow);
		assert_int_equal(partial.segments, ELF_PART_WHOLE);
		assert_int_equal(partial.dynsym, ELF_PART_WHOLE);
		elf_partial_deinit(&partial);
		symtab = symbols_of(image, true);
		assert_int_equal(symtab_find_name(symtab, "one")->start, 0x1000);
	}
}

/* The table of sections is not there: what the dynamic segment leads to is. */
static void test_no_sections(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	struct elf_partial partial;
	size_t tables;

	(void)state;
	build_elf(&spec, &file);
	/* The header points at the sections behind all else: make that a page of its own. */
	tables = ALIGN_UP(file.len, PAGE);
	strbuf_add_zeros(&file, tables - file.len + 2 * PAGE);
	memcpy(file.data + offsetof(Elf64_Ehdr, e_shoff), &(u64){ tables }, sizeof(u64));
	image = image_of(file.data, file.len, (1ULL << tables / PAGE) - 1);
	assert_int_equal(elf_partial_init(&partial, image), 0);
	assert_int_equal(partial.sections, ELF_PART_HOLES);
	assert_int_equal(partial.symtab, ELF_PART_HOLES);
	assert_int_equal(partial.dynsym, ELF_PART_WHOLE);
	assert_true(build_id_equal(&partial.build_id, &spec.build_id));
	elf_partial_deinit(&partial);
	symtab = symbols_of(image, false);
	assert_int_equal(symtab_nr(symtab), 1);
	assert_int_equal(symtab_find_name(symtab, "one")->start, BASE + 0x1000);
}

/* Tables and strings over many pages: a name is known only when its page and its symbol's are. */
static void test_holes_in_tables(void **state)
{
	enum { NR = 2000 };
	_cleanup_free_ struct build_elf_symbol *many = calloc(NR, sizeof(*many));
	_cleanup_free_ char *names = malloc(NR * 16);
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct build_elf large = spec;
	size_t found = 0;

	(void)state;
	assert_non_null(many);
	assert_non_null(names);
	for (size_t i = 0; i < NR; i++) {
		snprintf(names + 16 * i, 16, "function_%zu", i);
		many[i] = symbols[0];
		many[i].name = names + 16 * i;
		many[i].value = BASE + 0x1000 + i;
	}
	large.symbols = many;
	large.nr_symbols = NR;
	build_elf(&large, &file);
	for (u64 hole = 1; hole < file.len / PAGE; hole++) {
		_cleanup_(file_image_destroy) struct file_image *image =
			image_of(file.data, file.len, ~(1ULL << hole));
		_cleanup_(symtab_destroy) struct symtab *symtab = symbols_of(image, false);

		found += symtab_nr(symtab);
		for (size_t i = 0; i < symtab_nr(symtab); i++) {
			const struct symbol *symbol = symtab_at(symtab, i);
			const char *name = symtab_name(symtab, symbol);

			/* Whole names only, at their own addresses. */
			if (strcmp(name, "one"))
				assert_string_equal(name,
						    names + 16 * (symbol->start - BASE - 0x1000));
		}
	}
	assert_true(found > NR * 10 && found < NR * file.len / PAGE);
}

/* This very program, by its .gnu.hash: the same symbols as through libelf. */
static void test_gnu_hash(void **state)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	_cleanup_free_ char *data = NULL;
	struct elf_partial partial;
	size_t size, nr;
	Elf64_Ehdr header;

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/proc/self/exe", 64 << 20, &data, &size), 0);
	memcpy(&header, data, sizeof(header));
	image = image_of(data, size, UINT64_MAX);
	assert_int_equal(elf_partial_init(&partial, image), 0);
	nr = partial.dynsym_table.size;
	elf_partial_deinit(&partial);
	/* Without the table of sections. */
	header.e_shoff = header.e_shnum = 0;
	memcpy(image->data, &header, sizeof(header));
	assert_int_equal(elf_partial_init(&partial, image), 0);
	assert_int_equal(partial.sections, ELF_PART_ABSENT);
	assert_int_equal(partial.dynsym, ELF_PART_WHOLE);
	assert_int_equal(partial.dynsym_table.size, nr);
	assert_int_equal(symtab_create(&symtab), 0);
	elf_partial_deinit(&partial);
}

/* What was made of parts is an ELF file with the same symbols at the same places. */
static void test_synth(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT, made = STRBUF_INIT;
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(symtab_destroy) struct symtab *symtab = NULL;
	_cleanup_(elf_file_close) struct elf_file *elf = NULL;
	const struct symbol *symbol;
	struct elf_partial partial;
	struct build_id id;

	(void)state;
	build_elf(&spec, &file);
	image = image_of(file.data, file.len, ~2ULL);
	assert_int_equal(elf_partial_init(&partial, image), 0);
	assert_int_equal(elf_synth_program(&partial, &made), 0);
	elf_partial_deinit(&partial);
	assert_int_equal(elf_file_open_memory(made.data, made.len, &elf), 0);
	assert_true(elf_file_is_partial(elf));
	assert_false(elf_file_is_debug(elf));
	assert_int_equal(elf_file_build_id(elf, &id), 0);
	assert_true(build_id_equal(&id, &spec.build_id));
	assert_int_equal(symtab_create(&symtab), 0);
	assert_int_equal(elf_file_add_symbols(elf, elf, symtab), 0);
	assert_int_equal(symtab_finish(symtab), 0);
	assert_int_equal(symtab_nr(symtab), 3);
	symbol = symtab_find(symtab, 0x1015);
	assert_string_equal(symtab_name(symtab, symbol), "two");
	assert_int_equal(symbol->start, 0x1010);
	assert_int_equal(symbol->end, 0x1020);
	assert_int_equal(symbol->type, 't');
	assert_int_equal(symtab_find_name(symtab, "value")->type, 'V');
	assert_int_equal(symtab_find_name(symtab, "value")->start, 0x2000);
}

static bool is_partial(const struct symcache *cache, size_t *ret_nr)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	char path[PATH_MAX];

	assert_int_equal(symcache_find(cache, &spec.build_id, SYMCACHE_ELF, path, sizeof(path)), 0);
	assert_int_equal(elf_file_open(path, &file), 0);
	*ret_nr = elf_file_nr_symbols(file);
	return elf_file_is_partial(file);
}

/* More of a file takes the place of less, all of it that of a part, and never the other way. */
static void test_cache(void **state)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	_cleanup_(file_image_destroy) struct file_image *whole = NULL, *part = NULL, *less = NULL;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	const struct build_id other = { 20, { 1 } };
	char dir[] = BUILD_FOLDER, path[PATH_MAX];
	struct build_elf few = spec;
	bool partial = false;
	size_t nr;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(symcache_create(dir, &cache), 0);
	few.nr_symbols = 1;
	build_elf(&few, &file);
	less = image_of(file.data, file.len, ~2ULL);
	strbuf_reset(&file);
	build_elf(&spec, &file);
	part = image_of(file.data, file.len, ~2ULL);
	whole = image_of(file.data, file.len, UINT64_MAX);

	assert_int_equal(symcache_add_image(cache, &other, "/x", part, &partial), -EBADMSG);
	assert_int_equal(symcache_add_image(cache, &other, "/x", whole, &partial), -EBADMSG);
	assert_int_equal(symcache_find(cache, &spec.build_id, SYMCACHE_ELF, path, sizeof(path)),
			 -ENOENT);
	assert_int_equal(symcache_add_image(cache, &spec.build_id, "/x", less, &partial), 0);
	assert_true(partial && is_partial(cache, &nr));
	assert_int_equal(nr, 2);
	assert_int_equal(symcache_add_image(cache, NULL, "/x", part, &partial), 0);
	assert_true(partial && is_partial(cache, &nr));
	assert_int_equal(nr, 4);
	assert_int_equal(symcache_add_image(cache, NULL, "/x", less, &partial), 0);
	assert_true(is_partial(cache, &nr));
	assert_int_equal(nr, 4);
	assert_int_equal(symcache_add_image(cache, NULL, "/x", whole, &partial), 0);
	assert_false(partial || is_partial(cache, &nr));
	assert_int_equal(symcache_add_image(cache, NULL, "/x", part, &partial), 0);
	assert_false(is_partial(cache, &nr));
	assert_int_equal(build_folder_remove(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_32_bits),
		cmocka_unit_test(test_no_sections),
		cmocka_unit_test(test_holes_in_tables),
		cmocka_unit_test(test_gnu_hash),
		cmocka_unit_test(test_synth),
		cmocka_unit_test(test_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
