/* SPDX-License-Identifier: GPL-2.0-only */
/* Small tables of each format. */
#include "build-orc.h"
#include "seeds.h"

#define TEXT 0xffffffff81000000ULL
#define TABLE 0xffffffff82400000ULL

static int write_table(const char *name, const struct build_orc *build)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT;

	put_u8(&sb, build->format);
	put_u64(&sb, build->ip_base);
	strbuf_add(&sb, build->ip.data, build->ip.len);
	strbuf_add(&sb, build->entries.data, build->entries.len);
	return strbuf_error(&sb) ? strbuf_error(&sb) : seed_write(name, sb.data, sb.len);
}

static int write_format(const char *name, enum orc_format format)
{
	struct build_orc build = { .format = format, .ip_base = TABLE };
	int err;

	for (unsigned int i = 0; i < 10; i++) {
		build_orc_add(&build, TEXT + i * 24, &(struct build_orc_entry){
			.sp_reg = i, .sp_offset = 8, .bp_reg = i & 1, .bp_offset = -16,
			.type = i % 5, .signal = i & 1 });
	}
	build_orc_undefined(&build, TEXT + 0x1000);
	build_orc_call(&build, TEXT + 0x1000, 8);
	build_orc_end(&build, TEXT + 0x80000);
	err = write_table(name, &build);
	build_orc_deinit(&build);
	return err;
}

int write_seeds(void)
{
	int err;

	err = write_format("end", ORC_FORMAT_END);
	if (!err)
		err = write_format("signal", ORC_FORMAT_SIGNAL);
	if (!err)
		err = write_format("types", ORC_FORMAT_TYPES);
	return err ? err : write_format("reordered", ORC_FORMAT_REORDERED);
}
