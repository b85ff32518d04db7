/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ADRP x, page; ADD x, x, #offset; MRS y, TPIDR_EL1 (or _EL2, of a kernel that runs in EL2);
 * LDR x, [x, y]. Encodings: Arm ARM (DDI 0487) C4.1, C6.2.
 */
#include "arch/arm64-percpu.h"

#include <string.h>

#define MAX_INSNS 256

static bool is_load_of(const u32 *insn)
{
	u32 x = insn[0] & 31, y = insn[2] & 31;

	return (insn[0] & 0x9f000000) == 0x90000000 &&
	       (insn[1] & 0xffc003ff) == (0x91000000 | x << 5 | x) &&
	       ((insn[2] & ~31U) == 0xd538d080 || (insn[2] & ~31U) == 0xd53cd040) &&
	       insn[3] == (0xf8606800 | y << 16 | x << 5 | x);
}

bool arm64_find_percpu(const u8 *code, u64 size, u64 at, u64 *ret_offset)
{
	u32 insn[4];

	for (u64 i = 0; i < MAX_INSNS && (i + 4) * 4 <= size; i++) {
		s64 pages;

		memcpy(insn, code + i * 4, sizeof(insn));
		if (!is_load_of(insn))
			continue;
		pages = (insn[0] >> 5 & 0x7ffff) << 2 | (insn[0] >> 29 & 3);
		pages = (s64)((u64)pages << 43) >> 43;
		*ret_offset = ((at + i * 4) & ~4095ULL) + (u64)(pages * 4096) +
			      (insn[1] >> 10 & 0xfff);
		return true;
	}
	return false;
}
