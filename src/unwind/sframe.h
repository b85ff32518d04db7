/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SFrame, the smaller brother of .eh_frame: functions with rows of the CFA, the return address and
 * the frame pointer, and of no other register. Versions 1 and 2 for x86-64, as "The SFrame Format"
 * has them (binutils 2.40 and 2.41, erratum 1 of version 2 in 2.45). The bytes may be a guest's:
 * all is checked, and what lies in a hole of the file (-ENODATA) is told from what is wrong.
 */
#ifndef UNWIND_SFRAME_H
#define UNWIND_SFRAME_H

#include "unwind/cfi-program.h"

/* What a section's header says; owns nothing, the section has to stay. */
struct sframe {
	const struct cfi_section *section;
	u8 version;
	bool start_pcrel;		/* functions' starts count from where they are written */
	s8 ra_offset;			/* of every return address, from the CFA; 0: rows say */
	s8 fp_offset;			/* the same of the frame pointer */
	u32 nr_functions;
	u64 functions;			/* offset of their records */
	u64 rows, rows_size;		/* of all */
};

struct sframe_function {
	u64 start, size;
	u64 rows;			/* offset of its rows in the section */
	u32 nr_rows;
	u8 address_bytes;		/* of a row's address */
	u32 repeat;			/* rows hold for each such piece of the function; 0: once */
};

/*
 * Reads the header. -ENODATA when it, or all it promises, is not inside or lies in a hole; -EBADMSG
 * for none; -EOPNOTSUPP for another version or machine.
 */
int sframe_open(const struct cfi_section *section, struct sframe *ret);

/* Function @i of .nr_functions. -ENODATA, -EBADMSG. */
int sframe_function_read(const struct sframe *sframe, u32 i, struct sframe_function *ret);

/*
 * Hands out the rows of @function, addresses ascending from its start and inside it; where it has
 * none, CFI_ROW_UNDEFINED, which is also the last one where a mistake breaks it off (-EBADMSG,
 * -ENODATA for a hole). Rows are taken off *@budget, 16 more for each piece; -E2BIG when it is used
 * up.
 */
int sframe_function_run(const struct sframe *sframe, const struct sframe_function *function,
			u64 *budget, cfi_row_fn fn, void *ctx);

#endif
