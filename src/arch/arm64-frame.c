/* SPDX-License-Identifier: GPL-2.0-only */
/* Frame records by instructions. Encodings: Arm ARM (DDI 0487) C4.1. */
#include "arch/arm64-frame.h"

#define STP_PRE 0xa9807bfd	/* stp x29, x30, [sp, #n]! */
#define STP_OFFSET 0xa9007bfd	/* stp x29, x30, [sp, #n] */
#define LDP_POST 0xa8c07bfd	/* ldp x29, x30, [sp], #n */
#define LDP_OFFSET 0xa9407bfd	/* ldp x29, x30, [sp, #n] */
#define PAIR_MASK 0xffc07fff

static bool is_store(u32 insn, u32 *ret_offset)
{
	if ((insn & PAIR_MASK) == STP_PRE) {
		*ret_offset = 0;
		return true;
	}
	*ret_offset = (insn >> 15 & 0x7f) * 8;
	return (insn & PAIR_MASK) == STP_OFFSET && !(insn >> 21 & 1);
}

static bool is_load(u32 insn)
{
	return (insn & PAIR_MASK) == LDP_POST || (insn & PAIR_MASK) == LDP_OFFSET;
}

/* mov x29, sp; add x29, sp, #n */
static bool is_set(u32 insn)
{
	return (insn & 0xffc003ff) == 0x910003fd;
}

/* RET, RETAA, RETAB, BR, BRAA and their like */
static bool is_leave(u32 insn)
{
	return (insn & 0xfffffc1f) == 0xd65f0000 || (insn & 0xfffffbff) == 0xd65f0bff ||
	       (insn & 0xfffffc1f) == 0xd61f0000 || (insn & 0xfefff800) == 0xd61f0800;
}

static bool is_jump(u32 insn)
{
	return (insn & 0xfc000000) == 0x14000000;
}

/* Whether a jump at number @i stays in the function, of which @nr instructions are known. */
static bool stays(u32 insn, size_t i, size_t nr)
{
	s64 to = (s64)i + ((s32)(insn << 6) >> 6);

	return to >= 0 && to < (s64)nr;
}

/* Whether the function is left before its record is undone. */
static bool is_undone(const u32 *code, size_t nr, size_t at)
{
	for (size_t i = at; i < nr; i++) {
		if (is_load(code[i]))
			return false;
		if (is_leave(code[i]))
			return true;
		if (is_jump(code[i]))
			return !stays(code[i], i, nr);
	}
	return false;
}

enum arm64_frame arm64_frame_at(const u32 *code, size_t nr, size_t at, u32 *ret_offset)
{
	bool set = false;

	for (size_t i = at; i-- > 0;) {
		set |= is_set(code[i]);
		if (!is_store(code[i], ret_offset))
			continue;
		if (!set)
			return ARM64_FRAME_AT_SP;
		return is_undone(code, nr, at) ? ARM64_FRAME_LR : ARM64_FRAME_RECORD;
	}
	return ARM64_FRAME_LR;
}
