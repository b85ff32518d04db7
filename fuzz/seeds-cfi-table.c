/* SPDX-License-Identifier: GPL-2.0-only */
/* Files and sections with each kind of record and instruction. */
#include "build-cfi.h"
#include "build-sframe.h"
#include "seeds.h"

#define TEXT BUILD_CFI_TEXT

/* As a whole file, as one with a hole, and as a section alone. */
static int write_all(char name, const struct build_cfi *build)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT, sb = STRBUF_INIT;
	char names[] = "file-?";
	int err;

	names[5] = name;
	build_cfi_file(build, &file);
	put_u8(&sb, 0);
	put_u64(&sb, 0);
	strbuf_add(&sb, file.data, file.len);
	err = seed_write(names, sb.data, sb.len);
	if (err)
		return err;
	memcpy(names, "hole", 4);
	sb.data[1] = 2;
	err = seed_write(names, sb.data, sb.len);
	if (err)
		return err;
	memcpy(names, "sect", 4);
	strbuf_reset(&sb);
	put_u8(&sb, 1);
	put_u64(&sb, 0);
	strbuf_add(&sb, build->frame.data, build->frame.len);
	return strbuf_error(&sb) ? strbuf_error(&sb) : seed_write(names, sb.data, sb.len);
}

static void add_signal(struct build_cfi *build)
{
	static const u8 order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16 };
	_cleanup_strbuf_ struct strbuf program = STRBUF_INIT;

	strbuf_add(&program, CFI(0x0f, 4, 0x77, 0xa0, 1, 6));
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++) {
		unsigned int offset = 40 + 8 * i;

		strbuf_add(&program, CFI(0x10, order[i], 3, 0x77, offset | 0x80, offset >> 7));
	}
	build_cfi_cie(build, "zRS", BUILD_CFI_START);
	build_cfi_fde(build, TEXT + 0x1000, 0x10, (u8 *)program.data, program.len);
}

static void add_functions(struct build_cfi *build)
{
	build_cfi_cie(build, "zR", BUILD_CFI_START);
	build_cfi_fde(build, TEXT, 0x40,
		      CFI(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x42, 0x83, 3, 0x0a, 0x50, 0x0c,
			  7, 8, 0xc6, 0xc3, 0x41, 0x0b));
	build_cfi_fde(build, TEXT + 0x80, 0x60,
		      CFI(0x0e, 16, 0x46, 0x0e, 24, 0x4a, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a,
			  0x3b, 0x2a, 0x33, 0x24, 0x22));
	build_cfi_fde(build, TEXT + 0x100, 0x40,
		      CFI(0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0, 0x16, 3, 2, 0x7c, 8, 9, 12,
			  13, 0x14, 14, 2, 0x02, 4, 0x07, 16, 0x03, 9, 0, 0x2e, 16, 0x06, 6));
	build_cfi_fde(build, TEXT + 0x200, 0x40,
		      CFI(0x0f, 10, 0x77, 8, 0x23, 8, 6, 0x23, 0x80, 1, 0x34, 0x1c, 0x12, 7, 0x7f,
			  0x13, 0x7e, 0x11, 6, 2, 0x15, 3, 4, 0x2f, 12, 2, 0x05, 13, 5, 0x08, 14));
}

static void add_sframe(struct build_cfi *build)
{
	struct build_sframe sframe;

	build_sframe_init(&sframe, 2);
	build_sframe_function(&sframe, TEXT + 0x3000, 0x40, 1, 0);
	build_sframe_row(&sframe, 0, BUILD_SFRAME_SP(1, 1), (s32[]){ 8 });
	build_sframe_row(&sframe, 4, BUILD_SFRAME_FP(2, 1), (s32[]){ 16, -16 });
	build_sframe_function(&sframe, TEXT + 0x3040, 0x40, 1, 16);
	build_sframe_row(&sframe, 0, BUILD_SFRAME_SP(1, 1), (s32[]){ 8 });
	build_sframe_section(&sframe, BUILD_CFI_SFRAME, &build->sframe);
	build_sframe_deinit(&sframe);
}

/* A signed return address, an outermost function, the code that returns from signals. */
static int write_arm64(void)
{
	struct build_cfi build = { .is_arm64 = true };
	int err;

	build_cfi_cie(&build, "zRB", BUILD_CFI_START_ARM64);
	build_cfi_fde(&build, TEXT, 0x40,
		      CFI(0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x41, 0x0d, 29, 0x45, 0xde,
			  0xdd, 0x0c, 31, 0));
	build_cfi_fde(&build, TEXT + 0x40, 0x10, CFI(0x07, 30));
	build_cfi_fde(&build, TEXT + 0x50, 0x10, CFI(0x0c, 29, 0, 0x9d, 0, 0x11, 30, 0x7f));
	err = write_all('m', &build);
	build_cfi_deinit(&build);
	return err;
}

int write_seeds(void)
{
	struct build_cfi build = { 0 };
	int err;

	add_functions(&build);
	err = write_all('a', &build);
	add_signal(&build);
	if (!err)
		err = write_all('b', &build);
	build.no_hdr = true;
	if (!err)
		err = write_all('c', &build);
	build.no_hdr = false;
	add_sframe(&build);
	if (!err)
		err = write_all('e', &build);
	strbuf_reset(&build.sframe);
	/* Over a page. */
	build_cfi_cie(&build, "zR", BUILD_CFI_START);
	for (unsigned int i = 0; i < 50; i++) {
		_cleanup_strbuf_ struct strbuf program = STRBUF_INIT;

		for (unsigned int k = 0; k < 30; k++)
			strbuf_add(&program, CFI(0x41, 0x0e, 8 * (k % 16 + 1)));
		build_cfi_fde(&build, TEXT + 0x2000 + 0x40 * i, 0x40, (u8 *)program.data,
			      program.len);
	}
	if (!err)
		err = write_all('d', &build);
	build_cfi_deinit(&build);
	return err ? err : write_arm64();
}
