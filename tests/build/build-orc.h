/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds ORC tables of every format, entry by entry. */
#ifndef BUILD_BUILD_ORC_H
#define BUILD_BUILD_ORC_H

#include "build.h"
#include "unwind/orc.h"

/* The kernel's numbers, as they were before 7.1. */
enum {
	BUILD_ORC_UNDEFINED = 0,
	BUILD_ORC_PREV_SP = 1,
	BUILD_ORC_DX = 2,
	BUILD_ORC_DI = 3,
	BUILD_ORC_BP = 4,
	BUILD_ORC_SP = 5,
	BUILD_ORC_R10 = 6,
	BUILD_ORC_R13 = 7,
	BUILD_ORC_BP_INDIRECT = 8,
	BUILD_ORC_SP_INDIRECT = 9,
	BUILD_ORC_AX = 10,
};

enum build_orc_type {
	BUILD_ORC_TYPE_UNDEFINED,
	BUILD_ORC_TYPE_END,
	BUILD_ORC_TYPE_CALL,
	BUILD_ORC_TYPE_REGS,
	BUILD_ORC_TYPE_PARTIAL,
};

/* What an entry means, in any format. */
struct build_orc_entry {
	s16 sp_offset;
	s16 bp_offset;
	u8 sp_reg;
	u8 bp_reg;
	u8 type;
	bool signal;	/* not stored in ORC_FORMAT_END */
};

struct build_orc {
	enum orc_format format;
	u64 ip_base;		/* guest address of the table of addresses */
	u32 nr;
	struct strbuf ip;
	struct strbuf entries;
};

/* Entries must come in ascending order of @address; it is not checked, tests want bad ones too. */
void build_orc_add(struct build_orc *build, u64 address, const struct build_orc_entry *entry);
/* A function that has moved its stack pointer @cfa bytes down from its caller's. */
void build_orc_call(struct build_orc *build, u64 address, s16 cfa);
void build_orc_end(struct build_orc *build, u64 address);
void build_orc_undefined(struct build_orc *build, u64 address);
/* Any six bytes. */
void build_orc_raw(struct build_orc *build, u64 address, u16 flags);

int build_orc_table(const struct build_orc *build, struct orc_table **ret);
void build_orc_deinit(struct build_orc *build);

#endif
