/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ORC formats told apart by what nearly all entries of a kernel say: an ordinary function whose
 * frame is found from the stack pointer. That entry's flags are another number in most formats:
 *
 *	4.18, 6.3	0x005	type CALL is 0, SP is 5
 *	6.4		0x205	type CALL is 2
 *	7.1		0x203	SP is 3
 *
 * Those of 4.18 and 6.3 differ where a pt_regs lies: from 6.3 on most of them are marked as signal
 * frames, and the end mark has moved by one bit.
 */
#include "guest/orc-find.h"

#include <string.h>

struct counts {
	u32 old_call;
	u32 new_call;
	u32 reordered_call;
	u32 end;	/* marks as ORC_FORMAT_END has them */
	u32 signal;	/* and ORC_FORMAT_SIGNAL */
};

static void count(struct counts *counts, u16 flags)
{
	unsigned int marks = flags >> 8;

	if ((flags & 0xf0f) == 0x005)
		counts->old_call++;
	else if ((flags & 0xf0f) == 0x205)
		counts->new_call++;
	else if ((flags & 0xf0f) == 0x203)
		counts->reordered_call++;
	if (marks == 1 || marks == 2 || marks == 4)
		counts->end++;
	else if (marks == 5 || marks == 6 || marks == 8)
		counts->signal++;
}

enum orc_format orc_guess_format(const void *entries, u32 nr, enum orc_format hint)
{
	struct counts counts = { 0 };

	for (u32 i = 0; i < nr; i++) {
		u16 flags;

		memcpy(&flags, (const u8 *)entries + (size_t)i * ORC_ENTRY_SIZE + 4, sizeof(flags));
		count(&counts, flags);
	}
	if (counts.old_call + counts.new_call + counts.reordered_call < nr / 4)
		return hint;
	if (counts.new_call + counts.reordered_call > counts.old_call)
		return counts.reordered_call > counts.new_call ? ORC_FORMAT_REORDERED :
								 ORC_FORMAT_TYPES;
	if (hint == ORC_FORMAT_END || hint == ORC_FORMAT_SIGNAL)
		return hint;
	return counts.signal > counts.end ? ORC_FORMAT_SIGNAL : ORC_FORMAT_END;
}
