/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SFrame sections built here, broken ones, and what a real assembler and linker made of this
 * tree's fixture, where .eh_frame is the other opinion.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "build-cfi.h"
#include "build-sframe.h"
#include "unwind/cfi-table.h"
#include "unwind/sframe.h"

#define TEXT 0x10000ULL
#define PLACE 0x4000ULL		/* of the section */
#define MAX_ROWS 64
#define OFFSETS(...) (const s32[]){ __VA_ARGS__ }

struct rows {
	struct {
		u64 at;
		struct cfi_row row;
	} row[MAX_ROWS];
	unsigned int nr;
	int limit;	/* the row at which the callback fails; 0: none */
};

static int take_row(void *ctx, u64 at, const struct cfi_row *row)
{
	struct rows *rows = ctx;

	assert_true(rows->nr < MAX_ROWS);
	assert_true(!rows->nr || at > rows->row[rows->nr - 1].at);
	rows->row[rows->nr].at = at;
	rows->row[rows->nr++].row = *row;
	return rows->limit && (int)rows->nr == rows->limit ? -ENOMEM : 0;
}

/* Function @i's rows. */
static int run(const struct sframe *sframe, u32 i, struct rows *rows)
{
	struct sframe_function function;
	u64 budget = 1000;
	int err = sframe_function_read(sframe, i, &function);

	rows->nr = 0;
	rows->limit = 0;
	return err ? err : sframe_function_run(sframe, &function, &budget, take_row, rows);
}

struct world {
	struct build_sframe build;
	struct strbuf bytes;
	struct cfi_section section;
	struct sframe sframe;
	struct rows rows;
};

static int open_section(struct world *w)
{
	build_sframe_section(&w->build, PLACE, &w->bytes);
	w->section = (struct cfi_section){
		.data = (const u8 *)w->bytes.data, .size = w->bytes.len, .address = PLACE,
	};
	return sframe_open(&w->section, &w->sframe);
}

/* The section as it is now, and function 0's rows. */
static int run_first(struct world *w)
{
	int err = open_section(w);

	return err ? err : run(&w->sframe, 0, &w->rows);
}

static void world_deinit(struct world *w)
{
	build_sframe_deinit(&w->build);
	strbuf_deinit(&w->bytes);
}

/* @fp: 0 for unchanged. */
static void assert_row(const struct rows *rows, unsigned int i, u64 at, u8 reg, s32 cfa, s32 ra,
		       s32 fp)
{
	const struct cfi_row *row = &rows->row[i].row;

	assert_true(i < rows->nr);
	assert_int_equal(rows->row[i].at, at);
	assert_int_equal(row->kind, CFI_ROW_CALL);
	assert_false(row->interrupted);
	assert_int_equal(row->cfa.kind, CFI_REG_OFFSET);
	assert_int_equal(row->cfa.reg, reg);
	assert_int_equal(row->cfa.offset, cfa);
	assert_int_equal(row->ra.kind, CFI_AT_CFA);
	assert_int_equal(row->ra.offset, ra);
	assert_int_equal(row->bp.kind, fp ? CFI_AT_CFA : CFI_SAME);
	assert_int_equal(row->bp.offset, fp);
	for (unsigned int k = 0; k < CFI_SAVED_NR; k++)
		assert_int_equal(row->saved[k].kind, CFI_UNDEFINED);
}

static void assert_undefined(const struct rows *rows, unsigned int i, u64 at)
{
	assert_int_equal(rows->nr, i + 1);
	assert_int_equal(rows->row[i].at, at);
	assert_int_equal(rows->row[i].row.kind, CFI_ROW_UNDEFINED);
}

/* What compilers make, in each width of addresses and offsets. */
static void add_plain(struct build_sframe *build, u64 start, u8 address_bytes, u8 bytes)
{
	build_sframe_function(build, start, 0x40, address_bytes, 0);
	build_sframe_row(build, 0, BUILD_SFRAME_SP(1, bytes), OFFSETS(8));
	build_sframe_row(build, 1, BUILD_SFRAME_SP(2, bytes), OFFSETS(16, -16));
	build_sframe_row(build, 4, BUILD_SFRAME_FP(2, bytes), OFFSETS(16, -16));
	build_sframe_row(build, 0x3f, BUILD_SFRAME_SP(2, bytes), OFFSETS(8, -16));
}

static void assert_plain(const struct rows *rows, u64 start)
{
	assert_int_equal(rows->nr, 4);
	assert_row(rows, 0, start, X86_RSP, 8, -8, 0);
	assert_row(rows, 1, start + 1, X86_RSP, 16, -8, -16);
	assert_row(rows, 2, start + 4, X86_RBP, 16, -8, -16);
	assert_row(rows, 3, start + 0x3f, X86_RSP, 8, -8, -16);
}

static void test_plain(void **state)
{
	(void)state;
	for (unsigned int form = 0; form < 2 * 2 * 2; form++) {
		u8 version = 1 + form % 2;
		struct world w = { 0 };
		u32 i = 0;

		build_sframe_init(&w.build, version);
		w.build.flags = 1 | (form & 2 ? 4 : 0);
		w.build.aux = form & 4 ? 5 : 0;
		for (u8 address_bytes = 1; address_bytes <= 4; address_bytes *= 2)
			for (u8 bytes = 1; bytes <= 4; bytes *= 2)
				add_plain(&w.build, TEXT + 0x40 * i++, address_bytes, bytes);
		assert_int_equal(open_section(&w), 0);
		assert_int_equal(w.sframe.nr_functions, 9);
		for (i = 0; i < w.sframe.nr_functions; i++) {
			assert_int_equal(run(&w.sframe, i, &w.rows), 0);
			assert_plain(&w.rows, TEXT + 0x40 * i);
		}
		assert_int_equal(run(&w.sframe, i, &w.rows), -EBADMSG);
		world_deinit(&w);
	}
}

/* Where a machine keeps return address and frame pointer may be said for all functions, or not. */
static void test_fixed_offsets(void **state)
{
	struct world w = { 0 };

	(void)state;
	build_sframe_init(&w.build, 2);
	w.build.fp_offset = -24;
	build_sframe_function(&w.build, TEXT, 0x1000, 2, 0);
	build_sframe_row(&w.build, 0, BUILD_SFRAME_SP(1, 4), OFFSETS(1 << 20));
	assert_int_equal(run_first(&w), 0);
	assert_row(&w.rows, 0, TEXT, X86_RSP, 1 << 20, -8, -24);
	world_deinit(&w);
	memset(&w, 0, sizeof(w));
	build_sframe_init(&w.build, 2);
	w.build.ra_offset = 0;
	build_sframe_function(&w.build, TEXT, 0x1000, 2, 0);
	build_sframe_row(&w.build, 0, BUILD_SFRAME_SP(2, 2), OFFSETS(300, -16));
	build_sframe_row(&w.build, 0x800, BUILD_SFRAME_SP(3, 2), OFFSETS(300, -16, -300));
	assert_int_equal(run_first(&w), 0);
	assert_row(&w.rows, 0, TEXT, X86_RSP, 300, -16, 0);
	assert_row(&w.rows, 1, TEXT + 0x800, X86_RSP, 300, -16, -300);
	world_deinit(&w);
}

/* A PLT: rows for each entry; in version 1 that has 16 bytes. */
static void test_repeated(void **state)
{
	(void)state;
	for (u8 version = 1; version <= 2; version++) {
		u32 piece = version == 1 ? 16 : 24;
		struct world w = { 0 };

		build_sframe_init(&w.build, version);
		build_sframe_function(&w.build, TEXT, 2 * piece + 11, 1, piece);
		build_sframe_row(&w.build, 0, BUILD_SFRAME_SP(1, 1), OFFSETS(8));
		build_sframe_row(&w.build, 11, BUILD_SFRAME_SP(1, 1), OFFSETS(16));
		assert_int_equal(run_first(&w), 0);
		assert_int_equal(w.rows.nr, 5);	/* there is no more of the last one */
		for (unsigned int i = 0; i < w.rows.nr; i++)
			assert_row(&w.rows, i, TEXT + i / 2 * piece + i % 2 * 11, X86_RSP,
				   i % 2 ? 16 : 8, -8, 0);
		world_deinit(&w);
	}
}

/* Functions that begin without a row, or have none. */
static void test_gaps(void **state)
{
	struct world w = { 0 };

	(void)state;
	build_sframe_init(&w.build, 2);
	build_sframe_function(&w.build, TEXT, 0x40, 1, 0);
	assert_int_equal(run_first(&w), 0);
	assert_undefined(&w.rows, 0, TEXT);
	build_sframe_row(&w.build, 0x40, BUILD_SFRAME_SP(1, 1), OFFSETS(8));	/* behind its end */
	assert_int_equal(run_first(&w), 0);
	assert_undefined(&w.rows, 0, TEXT);
	strbuf_reset(&w.build.rows);
	w.build.functions[0].nr_rows = 0;
	build_sframe_row(&w.build, 8, BUILD_SFRAME_SP(1, 1), OFFSETS(8));
	build_sframe_row(&w.build, 0x40, BUILD_SFRAME_SP(1, 1), OFFSETS(8));
	assert_int_equal(run_first(&w), 0);
	assert_int_equal(w.rows.nr, 2);
	assert_int_equal(w.rows.row[0].at, TEXT);
	assert_int_equal(w.rows.row[0].row.kind, CFI_ROW_UNDEFINED);
	assert_row(&w.rows, 1, TEXT + 8, X86_RSP, 8, -8, 0);
	world_deinit(&w);
}

/* A good row, and one that is not. */
static void test_bad_rows(void **state)
{
	static const struct {
		u32 at;
		u8 info;
		int err;
	} bad[] = {
		{ 8, BUILD_SFRAME_SP(0, 1), -EBADMSG },
		{ 8, BUILD_SFRAME_SP(3, 1), -EBADMSG },
		{ 8, BUILD_SFRAME_SP(15, 4), -EBADMSG },
		{ 8, BUILD_SFRAME_SP(1, 1) | 0x60, -EBADMSG },
		{ 0, BUILD_SFRAME_SP(1, 1), -EBADMSG },		/* not behind the one before */
	};
	static const s32 offsets[15] = { 8, -16 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct world w = { 0 };

		build_sframe_init(&w.build, 2);
		build_sframe_function(&w.build, TEXT, 0x40, 1, 0);
		build_sframe_row(&w.build, 0, BUILD_SFRAME_SP(1, 1), OFFSETS(8));
		build_sframe_row(&w.build, bad[i].at, bad[i].info, offsets);
		/* In the last bytes of all, where nothing is behind. */
		assert_int_equal(run_first(&w), bad[i].err);
		assert_undefined(&w.rows, 1, TEXT + 1);
		assert_row(&w.rows, 0, TEXT, X86_RSP, 8, -8, 0);
		world_deinit(&w);
	}
}

static void poke(struct world *w, size_t at, u64 value, size_t size)
{
	memcpy(w->bytes.data + at, &value, size);
}

/* Numbers in the header and in a function's record that are not so. */
static void test_bad_records(void **state)
{
	static const struct {
		size_t at, size;
		u64 value;
		int open, run;
	} bad[] = {
		{ 0, 2, 0xe2de, -EBADMSG, 0 },		/* another byte order's */
		{ 2, 1, 0, -EOPNOTSUPP, 0 },
		{ 2, 1, 3, -EOPNOTSUPP, 0 },
		{ 4, 1, 2, -EOPNOTSUPP, 0 },		/* arm64 */
		{ 7, 1, 255, -ENODATA, 0 },
		{ 8, 4, 2, -ENODATA, 0 },
		{ 8, 4, UINT32_MAX, -ENODATA, 0 },
		{ 16, 4, UINT32_MAX, -ENODATA, 0 },
		{ 20, 4, UINT32_MAX, -ENODATA, 0 },
		{ 24, 4, UINT32_MAX, -ENODATA, 0 },
		{ 28 + 8, 4, 14, 0, -EBADMSG },		/* rows begin behind all */
		{ 28 + 8, 4, UINT32_MAX, 0, -EBADMSG },
		{ 28 + 12, 4, UINT32_MAX, 0, -EBADMSG },	/* more rows than there are */
		{ 28 + 16, 1, 3, 0, -EBADMSG },		/* addresses of 8 bytes */
		{ 28 + 16, 1, 0x10, 0, -EBADMSG },	/* repeated, in pieces of no bytes */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct world w = { 0 };

		build_sframe_init(&w.build, 2);
		add_plain(&w.build, TEXT, 1, 1);
		assert_int_equal(run_first(&w), 0);
		poke(&w, bad[i].at, bad[i].value, bad[i].size);
		assert_int_equal(sframe_open(&w.section, &w.sframe), bad[i].open);
		if (!bad[i].open)
			assert_int_equal(run(&w.sframe, 0, &w.rows), bad[i].run);
		world_deinit(&w);
	}
}

/* Limits and errors that are the caller's own. */
static void test_limits(void **state)
{
	struct sframe_function function;
	struct world w = { 0 };

	(void)state;
	build_sframe_init(&w.build, 1);
	add_plain(&w.build, TEXT, 1, 1);
	assert_int_equal(open_section(&w), 0);
	assert_int_equal(sframe_function_read(&w.sframe, 0, &function), 0);
	for (u64 budget = 0; budget <= 21; budget++) {
		u64 left = budget;

		w.rows.nr = 0;
		assert_int_equal(sframe_function_run(&w.sframe, &function, &left, take_row,
						     &w.rows), budget < 20 ? -E2BIG : 0);
		assert_int_equal(w.rows.nr, budget < 16 ? 0 : MIN(budget - 16, 4U));
		assert_int_equal(left, budget < 16 ? budget : budget - 16 - w.rows.nr);
	}
	for (int limit = 1; limit <= 4; limit++) {
		u64 budget = 100;

		w.rows.nr = 0;
		w.rows.limit = limit;
		assert_int_equal(sframe_function_run(&w.sframe, &function, &budget, take_row,
						     &w.rows), -ENOMEM);
		assert_int_equal(w.rows.nr, limit);
	}
	/* Pieces without rows, 4 billions of them. */
	w.build.functions[0].size = UINT32_MAX;
	w.build.functions[0].info |= 0x10;
	w.build.functions[0].repeat = 1;
	w.build.functions[0].nr_rows = 0;
	w.build.version = 2;
	assert_int_equal(open_section(&w), 0);
	assert_int_equal(sframe_function_read(&w.sframe, 0, &function), 0);
	for (u64 budget = 0; budget < 1000; budget += 7) {
		u64 left = budget;

		w.rows.nr = w.rows.limit = 0;
		assert_int_equal(sframe_function_run(&w.sframe, &function, &left, take_row,
						     &w.rows), -E2BIG);
		assert_int_equal(w.rows.nr, budget / 16);
	}
	world_deinit(&w);
}

/* Cut after each byte: what is handed out is right. */
static void test_truncated(void **state)
{
	(void)state;
	for (u8 version = 1; version <= 2; version++) {
		struct world w = { 0 };

		build_sframe_init(&w.build, version);
		add_plain(&w.build, TEXT, 1, 2);
		build_sframe_function(&w.build, TEXT + 0x40, 0x40, 2, 16);
		build_sframe_row(&w.build, 0, BUILD_SFRAME_SP(1, 1), OFFSETS(8));
		assert_int_equal(open_section(&w), 0);
		for (u64 size = 0; size < w.bytes.len; size++) {
			_cleanup_free_ u8 *bytes = malloc(MAX(size, 1U));
			struct cfi_section cut = { .data = bytes, .size = size, .address = PLACE };
			struct sframe sframe;

			assert_non_null(bytes);
			memcpy(bytes, w.bytes.data, size);
			assert_int_equal(sframe_open(&cut, &sframe), -ENODATA);
			/* With a header that fits: the rows end early. */
			if (size < w.sframe.rows)
				continue;
			size = size < w.sframe.rows ? w.sframe.rows : size;
			memcpy(bytes + 16, &(u32){ size - w.sframe.rows }, sizeof(u32));
			assert_int_equal(sframe_open(&cut, &sframe), 0);
			for (u32 i = 0; i < 2; i++) {
				int err = run(&sframe, i, &w.rows);

				assert_true(err == 0 || err == -EBADMSG);
				assert_true(i == 0 || err == -EBADMSG);
				if (!i && !err)
					assert_plain(&w.rows, TEXT);
			}
		}
		world_deinit(&w);
	}
}

/* Any one page of a section is missing. */
static void test_holes(void **state)
{
	struct world w = { 0 };
	unsigned int whole = 0, missing = 0;

	(void)state;
	build_sframe_init(&w.build, 2);
	for (u32 i = 0; i < BUILD_SFRAME_MAX; i++) {
		build_sframe_function(&w.build, TEXT + i * 0x10000, 0x10000, 2, 0);
		for (u32 row = 0; row < 50; row++)
			build_sframe_row(&w.build, row, BUILD_SFRAME_SP(2, 4), OFFSETS(8, -16));
	}
	assert_int_equal(open_section(&w), 0);
	for (u64 hole = 0; hole < w.bytes.len; hole += FILE_IMAGE_PAGE) {
		_cleanup_(file_image_destroy) struct file_image *image = NULL;
		struct sframe sframe;

		assert_int_equal(build_cfi_image(&w.bytes, w.bytes.len, &image), 0);
		image->present[0] &= ~(1ULL << hole / FILE_IMAGE_PAGE);
		memset(image->data + hole, 0, MIN(w.bytes.len - hole, FILE_IMAGE_PAGE + 0ULL));
		w.section.data = image->data;
		w.section.image = image;
		if (!hole) {
			assert_int_equal(sframe_open(&w.section, &sframe), -ENODATA);
			continue;
		}
		assert_int_equal(sframe_open(&w.section, &sframe), 0);
		for (u32 i = 0; i < BUILD_SFRAME_MAX; i++) {
			int err = run(&sframe, i, &w.rows);
			unsigned int nr = w.rows.nr - !!err;

			assert_true(err == 0 || err == -ENODATA);
			for (unsigned int k = 0; k < nr; k++)
				assert_row(&w.rows, k, TEXT + i * 0x10000 + k, X86_RSP, 8, -8, -16);
			if (err)
				assert_undefined(&w.rows, nr, TEXT + i * 0x10000 + nr);
			whole += !err;
			missing += err == -ENODATA;
		}
	}
	assert_true(whole > 5 && missing > 5);
	world_deinit(&w);
}

/* A file with .eh_frame for one function, and SFrame for that and the one behind. */
static void build_file(struct strbuf *file)
{
	struct build_cfi build = { 0 };
	struct build_sframe sframe;

	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	build_cfi_fde(&build, TEXT, 0x40, CFI(0x0e, 24));
	build_sframe_init(&sframe, 2);
	add_plain(&sframe, TEXT, 1, 1);
	add_plain(&sframe, TEXT + 0x40, 1, 1);
	build_sframe_section(&sframe, BUILD_CFI_SFRAME, &build.sframe);
	build_cfi_file(&build, file);
	build_sframe_deinit(&sframe);
	build_cfi_deinit(&build);
}

/* What .eh_frame has comes first. */
static void test_in_file(void **state)
{
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct cfi_row row;

	(void)state;
	build_file(&file);
	assert_int_equal(cfi_table_from_memory(file.data, file.len, false, &table), 0);
	assert_int_equal(table->nr_functions, 2);
	assert_int_equal(table->nr_bad + table->nr_missing, 0);
	assert_int_equal(cfi_table_find(table, TEXT + 4, &row), 0);
	assert_int_equal(row.cfa.offset, 24);
	assert_int_equal(cfi_table_find(table, TEXT + 0x44, &row), 0);
	assert_int_equal(row.cfa.reg, X86_RBP);
	assert_int_equal(cfi_table_find(table, TEXT + 0x7f, &row), 0);
	assert_int_equal(cfi_table_find(table, TEXT + 0x80, &row), -ENOENT);
}

/* Where its page is missing, what is not covered is not known; of another version, it is none. */
static void test_not_in_file(void **state)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(cfi_table_destroy) struct cfi_table *table = NULL, *other = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	struct cfi_row row;

	(void)state;
	build_file(&file);
	assert_int_equal(build_cfi_image(&file, file.len, &image), 0);
	image->present[0] &= ~(1ULL << BUILD_CFI_SFRAME / FILE_IMAGE_PAGE);
	memset(image->data + BUILD_CFI_SFRAME, 0, image->size - BUILD_CFI_SFRAME);
	assert_int_equal(cfi_table_from_image(image, &table), 0);
	assert_int_equal(cfi_table_find(table, TEXT, &row), 0);
	assert_int_equal(cfi_table_find(table, TEXT + 0x40, &row), -ENODATA);
	file.data[BUILD_CFI_SFRAME + 2] = 3;
	assert_int_equal(cfi_table_from_memory(file.data, file.len, false, &other), 0);
	assert_int_equal(other->nr_bad, 1);
	assert_int_equal(cfi_table_find(other, TEXT, &row), 0);
	assert_int_equal(cfi_table_find(other, TEXT + 0x40, &row), -ENOENT);
}

/* The fixture, as assembled and linked with both. */

static bool read_fixture(struct strbuf *out)
{
	char path[PATH_MAX], buffer[65536];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int fd;

	assert_true(len > 0);
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	strcat(path, "/libcfi-fixture-sframe.so");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((len = read(fd, buffer, sizeof(buffer))) > 0)
		strbuf_add(out, buffer, len);
	close(fd);
	assert_int_equal(strbuf_error(out), 0);
	return true;
}

/* Takes away what leads to .eh_frame. */
static void hide_eh_frame(struct strbuf *file)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)file->data;
	Elf64_Phdr *segments = (Elf64_Phdr *)(file->data + header->e_phoff);
	bool found = false;

	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	for (unsigned int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_GNU_EH_FRAME)
			continue;
		segments[i].p_type = PT_NULL;
		found = true;
	}
	assert_true(found);
}

static bool same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->kind == b->kind && (a->kind == CFI_SAME || a->kind == CFI_UNDEFINED ||
				      (a->reg == b->reg && a->offset == b->offset));
}

static void test_fixture(void **state)
{
	_cleanup_(cfi_table_destroy) struct cfi_table *both = NULL, *alone = NULL;
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	unsigned int same = 0;

	(void)state;
	if (!read_fixture(&file)) {
		print_message("the assembler has no --gsframe\n");
		skip();
	}
	assert_int_equal(cfi_table_from_memory(file.data, file.len, false, &both), 0);
	hide_eh_frame(&file);
	assert_int_equal(cfi_table_from_memory(file.data, file.len, false, &alone), 0);
	assert_int_equal(alone->nr_bad + alone->nr_missing, 0);
	assert_true(alone->nr_functions >= 4);
	for (u64 pc = alone->start; pc < alone->start + alone->offset[alone->nr - 1]; pc++) {
		struct cfi_row a, b;

		if (cfi_table_find(alone, pc, &a))
			continue;
		assert_int_equal(cfi_table_find(both, pc, &b), 0);
		assert_int_equal(a.kind, CFI_ROW_CALL);
		assert_int_equal(b.kind, CFI_ROW_CALL);
		assert_true(same_rule(&a.cfa, &b.cfa));
		assert_true(same_rule(&a.ra, &b.ra));
		assert_true(same_rule(&a.bp, &b.bp));
		same++;
	}
	assert_true(same > 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_fixed_offsets),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_bad_rows),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_in_file),
		cmocka_unit_test(test_not_in_file),
		cmocka_unit_test(test_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
