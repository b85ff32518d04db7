/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the caller of an interrupted function is, by the function's instructions: compilers that
 * keep frame records (-fno-omit-frame-pointer) make them with one pair of instructions and undo
 * them with another. For code without other rules, as arm64's kernel.
 */
#ifndef ARCH_ARM64_FRAME_H
#define ARCH_ARM64_FRAME_H

#include "base/types.h"

enum arm64_frame {
	ARM64_FRAME_RECORD,	/* its record is the one that x29 points to */
	ARM64_FRAME_AT_SP,	/* it has stored its record at SP, x29 is still its caller's */
	ARM64_FRAME_LR,		/* it has none now: x30 is the return address, x29 its caller's */
};

#define ARM64_FRAME_AHEAD 32	/* instructions from the interrupted one on that it looks at */

/*
 * @code holds @nr instructions from the function's start on, the interrupted one is number @at.
 * *@ret_offset is what to add to SP, of ARM64_FRAME_AT_SP.
 */
enum arm64_frame arm64_frame_at(const u32 *code, size_t nr, size_t at, u32 *ret_offset);

#endif
