/* SPDX-License-Identifier: GPL-2.0-only */
/* Sections of both versions with every width, flag and kind of function. */
#include "build-sframe.h"
#include "seeds.h"

#define PLACE 0x4000ULL

static void add_function(struct build_sframe *build, u64 start, u8 address_bytes, u8 bytes,
			 u8 repeat)
{
	static const s32 offsets[] = { 16, -16, -24 };

	build_sframe_function(build, start, 0x40, address_bytes, repeat);
	build_sframe_row(build, 0, BUILD_SFRAME_SP(1, bytes), offsets);
	build_sframe_row(build, 1, BUILD_SFRAME_SP(2, bytes), offsets);
	build_sframe_row(build, 4, BUILD_SFRAME_FP(2, bytes), offsets);
	build_sframe_row(build, 11, BUILD_SFRAME_SP(3, bytes), offsets);
}

static int write_section(const struct build_sframe *build, char name, u8 missing)
{
	_cleanup_strbuf_ struct strbuf section = STRBUF_INIT, sb = STRBUF_INIT;
	char names[] = "section-?";

	names[8] = name;
	build_sframe_section(build, PLACE, &section);
	put_u8(&sb, missing);
	strbuf_add(&sb, section.data, section.len);
	return strbuf_error(&sb) ? strbuf_error(&sb) : seed_write(names, sb.data, sb.len);
}

int write_seeds(void)
{
	int err = 0;

	for (unsigned int form = 0; form < 16 && !err; form++) {
		struct build_sframe build;
		u32 i = 0;

		build_sframe_init(&build, 1 + form % 2);
		build.flags = form & 2 ? 5 : 1;
		build.ra_offset = form & 4 ? 0 : -8;
		build.fp_offset = form & 8 ? -16 : 0;
		build.aux = form & 8;
		for (u8 address_bytes = 1; address_bytes <= 4; address_bytes *= 2)
			for (u8 bytes = 1; bytes <= 4; bytes *= 2, i++)
				add_function(&build, 0x10000 + 0x40 * i, address_bytes, bytes,
					     i & 1 ? 16 : 0);
		err = write_section(&build, 'a' + form, 0);
		/* Over a page, and without one. */
		for (u32 row = 0; row < 600 && form == 0; row++)
			build_sframe_row(&build, row, BUILD_SFRAME_SP(2, 4), (s32[]){ 8, -16 });
		if (!err && form == 0)
			err = write_section(&build, 'x', 2);
		build_sframe_deinit(&build);
	}
	return err;
}
