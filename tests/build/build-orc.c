/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds ORC tables of every format. */
#include "build-orc.h"

/* The type as it was numbered before 6.4; undefined and end have the number of a call. */
static unsigned int old_type(u8 type)
{
	return type > BUILD_ORC_TYPE_CALL ? type - BUILD_ORC_TYPE_CALL : 0;
}

static u16 upper_flags(enum orc_format format, const struct build_orc_entry *entry)
{
	bool end = entry->type == BUILD_ORC_TYPE_END;

	switch (format) {
	case ORC_FORMAT_END:
		return old_type(entry->type) | end << 2;
	case ORC_FORMAT_SIGNAL:
		return old_type(entry->type) | entry->signal << 2 | end << 3;
	default:
		return entry->type | entry->signal << 3;
	}
}

static void add_address(struct build_orc *build, u64 address)
{
	put_u32(&build->ip, address - (build->ip_base + 4ULL * build->nr));
	build->nr++;
}

/* ORC_FORMAT_REORDERED has other numbers. */
static u8 register_number(enum orc_format format, u8 reg)
{
	static const u8 reordered[] = {
		[BUILD_ORC_UNDEFINED] = 0, [BUILD_ORC_AX] = 1, [BUILD_ORC_DX] = 2,
		[BUILD_ORC_SP] = 3, [BUILD_ORC_BP] = 4, [BUILD_ORC_DI] = 5, [BUILD_ORC_R10] = 6,
		[BUILD_ORC_R13] = 7, [BUILD_ORC_PREV_SP] = 8, [BUILD_ORC_SP_INDIRECT] = 9,
		[BUILD_ORC_BP_INDIRECT] = 10,
	};

	return format == ORC_FORMAT_REORDERED ? reordered[reg] : reg;
}

void build_orc_add(struct build_orc *build, u64 address, const struct build_orc_entry *entry)
{
	add_address(build, address);
	put_u16(&build->entries, entry->sp_offset);
	put_u16(&build->entries, entry->bp_offset);
	put_u16(&build->entries, register_number(build->format, entry->sp_reg) |
		register_number(build->format, entry->bp_reg) << 4 |
		upper_flags(build->format, entry) << 8);
}

void build_orc_call(struct build_orc *build, u64 address, s16 cfa)
{
	build_orc_add(build, address, &(struct build_orc_entry){
		.sp_reg = BUILD_ORC_SP, .sp_offset = cfa, .type = BUILD_ORC_TYPE_CALL });
}

void build_orc_end(struct build_orc *build, u64 address)
{
	build_orc_add(build, address, &(struct build_orc_entry){ .type = BUILD_ORC_TYPE_END });
}

void build_orc_undefined(struct build_orc *build, u64 address)
{
	build_orc_add(build, address,
		      &(struct build_orc_entry){ .type = BUILD_ORC_TYPE_UNDEFINED });
}

void build_orc_raw(struct build_orc *build, u64 address, u16 flags)
{
	add_address(build, address);
	put_u16(&build->entries, 8);
	put_u16(&build->entries, -16);
	put_u16(&build->entries, flags);
}

int build_orc_table(const struct build_orc *build, struct orc_table **ret)
{
	return orc_table_create(build->format, build->ip_base, build->ip.data, build->entries.data,
				build->nr, ret);
}

void build_orc_deinit(struct build_orc *build)
{
	strbuf_deinit(&build->ip);
	strbuf_deinit(&build->entries);
}
