/* SPDX-License-Identifier: GPL-2.0-only */
/* .sframe sections. */
#include "build-sframe.h"

#include <assert.h>

#define MAGIC 0xdee2
#define ABI_AMD64 3
#define F_START_PCREL 4

void build_sframe_init(struct build_sframe *build, u8 version)
{
	memset(build, 0, sizeof(*build));
	build->version = version;
	build->ra_offset = -8;
}

void build_sframe_deinit(struct build_sframe *build)
{
	strbuf_deinit(&build->rows);
}

void build_sframe_function(struct build_sframe *build, u64 start, u32 size, u8 address_bytes,
			   u8 repeat)
{
	assert(build->nr < BUILD_SFRAME_MAX);
	build->functions[build->nr].start = start;
	build->functions[build->nr].size = size;
	build->functions[build->nr].rows = build->rows.len;
	build->functions[build->nr].info = address_bytes / 2 | (repeat ? 0x10 : 0);
	build->functions[build->nr].repeat = repeat;
	build->nr++;
}

static void put_bytes(struct strbuf *out, u32 value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++, value >>= 8)
		put_u8(out, value);
}

void build_sframe_row(struct build_sframe *build, u32 at, u8 info, const s32 *offsets)
{
	put_bytes(&build->rows, at, 1 << (build->functions[build->nr - 1].info & 15));
	put_u8(&build->rows, info);
	for (unsigned int i = 0; i < (info >> 1 & 15U); i++)
		put_bytes(&build->rows, offsets[i], 1 << (info >> 5 & 3));
	build->functions[build->nr - 1].nr_rows++;
	build->nr_rows++;
}

static void put_function(const struct build_sframe *build, unsigned int i, u64 address,
			 struct strbuf *out)
{
	u64 base = address + (build->flags & F_START_PCREL ? out->len : 0);

	put_u32(out, build->functions[i].start - base);
	put_u32(out, build->functions[i].size);
	put_u32(out, build->functions[i].rows);
	put_u32(out, build->functions[i].nr_rows);
	put_u8(out, build->functions[i].info);
	if (build->version == 1)
		return;
	put_u8(out, build->functions[i].repeat);
	put_u16(out, 0);
}

void build_sframe_section(const struct build_sframe *build, u64 address, struct strbuf *out)
{
	strbuf_reset(out);
	put_u16(out, MAGIC);
	put_u8(out, build->version);
	put_u8(out, build->flags);
	put_u8(out, ABI_AMD64);
	put_u8(out, build->fp_offset);
	put_u8(out, build->ra_offset);
	put_u8(out, build->aux);
	put_u32(out, build->nr);
	put_u32(out, build->nr_rows);
	put_u32(out, build->rows.len);
	put_u32(out, 0);
	put_u32(out, build->nr * (build->version == 1 ? 17 : 20));
	strbuf_add_zeros(out, build->aux);
	for (unsigned int i = 0; i < build->nr; i++)
		put_function(build, i, address, out);
	strbuf_add(out, build->rows.data, build->rows.len);
}
