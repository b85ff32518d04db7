/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call instructions of x86, seen from behind. In 64-bit mode there are two near calls: E8 rel32 and
 * FF /2. Programs of 32 bits enter other segments by far ones: FF /3 through memory is known here.
 * What it pushes first is CS, so that from below a frame looks the same. Encodings: Intel SDM
 * volume 2A, CALL and tables 2-2 and 2-3.
 */
#include "arch/x86-call.h"

#define CALL_REL32_SIZE 5
#define NEAR 2		/* of FF */
#define FAR 3

/* Bytes of FF, ModRM, SIB and displacement, as ModRM and the byte after it (@sib) ask for. */
static unsigned int indirect_size(u8 modrm, u8 sib)
{
	unsigned int mod = modrm >> 6, rm = modrm & 7, size = 2;

	if (mod == 3)
		return size;
	if (rm == 4) {
		size++;
		if (mod == 0 && (sib & 7) == 5)
			return size + 4;	/* no base register, disp32 */
	}
	if (mod == 0)
		return rm == 5 ? size + 4 : size;	/* rm 5: RIP-relative */
	return size + (mod == 1 ? 1 : 4);
}

/* FF /@reg of @size bytes. */
static bool indirect_ends_at(const u8 *end, unsigned int size, u8 reg)
{
	const u8 *insn = end - size;
	u8 sib = size > 2 ? insn[2] : 0;

	return insn[0] == 0xff && ((insn[1] >> 3) & 7) == reg &&
	       indirect_size(insn[1], sib) == size;
}

bool x86_call_ends_at(const u8 *before, size_t n)
{
	const u8 *end = before + n;

	if (n >= CALL_REL32_SIZE && end[-CALL_REL32_SIZE] == 0xe8)
		return true;
	for (unsigned int size = 2; size <= MIN(n, X86_CALL_MAX); size++) {
		if (indirect_ends_at(end, size, NEAR))
			return true;
	}
	return false;
}

bool x86_far_call_ends_at(const u8 *before, size_t n)
{
	const u8 *end = before + n;

	for (unsigned int size = 2; size <= MIN(n, X86_CALL_MAX); size++) {
		/* Not by a register, which could not hold it. */
		if (indirect_ends_at(end, size, FAR) && end[1 - (int)size] >> 6 != 3)
			return true;
	}
	return false;
}
