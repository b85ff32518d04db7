/* SPDX-License-Identifier: GPL-2.0-only */
/* Call instructions of arm64. Encodings: Arm ARM (DDI 0487) C4.1, branches. */
#include "arch/arm64-call.h"

#include <string.h>

bool arm64_call_ends_at(const u8 *before, size_t n)
{
	u32 insn;

	if (n < sizeof(insn))
		return false;
	memcpy(&insn, before + n - sizeof(insn), sizeof(insn));
	return (insn & 0xfc000000) == 0x94000000 ||	/* BL */
	       (insn & 0xfffffc1f) == 0xd63f0000 ||	/* BLR */
	       (insn & 0xfffff81f) == 0xd63f081f ||	/* BLRAAZ, BLRABZ */
	       (insn & 0xfffff800) == 0xd73f0800;	/* BLRAA, BLRAB */
}
