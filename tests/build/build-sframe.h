/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds .sframe sections of either version, row by row. */
#ifndef BUILD_BUILD_SFRAME_H
#define BUILD_BUILD_SFRAME_H

#include "build.h"

#define BUILD_SFRAME_MAX 16

struct build_sframe {
	u8 version;		/* 1 or 2, or hostile */
	u8 flags;
	s8 fp_offset, ra_offset;	/* of all functions; 0: rows say */
	u8 aux;			/* bytes between header and functions */
	struct strbuf rows;
	u32 nr_rows;
	unsigned int nr;
	struct {
		u64 start;
		u32 size, rows, nr_rows;
		u8 info, repeat;
	} functions[BUILD_SFRAME_MAX];
};

/* Info bytes of rows: by which register, how many offsets, of 1, 2 or 4 bytes. */
#define BUILD_SFRAME_SP(nr, bytes) (1 | (nr) << 1 | (bytes) / 2 << 5)
#define BUILD_SFRAME_FP(nr, bytes) ((nr) << 1 | (bytes) / 2 << 5)

/* As an x86-64 assembler has it. */
void build_sframe_init(struct build_sframe *build, u8 version);
void build_sframe_deinit(struct build_sframe *build);
/* Rows that are added are its own. @address_bytes: 1, 2 or 4; @repeat: 0, or bytes of a piece. */
void build_sframe_function(struct build_sframe *build, u64 start, u32 size, u8 address_bytes,
			   u8 repeat);
/* @offsets: as many as @info says. */
void build_sframe_row(struct build_sframe *build, u32 at, u8 info, const s32 *offsets);
/* The section, for a place at @address. */
void build_sframe_section(const struct build_sframe *build, u64 address, struct strbuf *out);

#endif
