/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DWARF call frame information of x86-64, i386 and arm64: the records of .eh_frame and
 * .debug_frame, and the programs in them, run into rows. The bytes may be a guest's: all is
 * checked, and what lies in a hole of the file (-ENODATA) is told from what is wrong (-EBADMSG).
 *
 * Registers of i386 are known by their x86-64 numbers in everything that comes out of here: ESP is
 * X86_RSP.
 */
#ifndef UNWIND_CFI_PROGRAM_H
#define UNWIND_CFI_PROGRAM_H

#include "base/cursor.h"
#include "objfile/file-image.h"
#include "unwind/cfi.h"

#define CFI_NR_REGS 32		/* the general ones; on x86-64 the return address behind them */
#define CFI_REG_RA 16		/* x86-64; arm64: ARM64_LR */

/* Beside enum cfi_rule_kind, in a struct cfi_state. */
#define CFI_UNKNOWN 0xfe	/* what no rule here can say */

/*
 * A CFA in the lazy PLT, of a row from cfi_fde_run(): RSP + offset, and .cfa_add more from byte
 * .reg of each 16 on, where the entry has pushed its index.
 */
#define CFI_PLT 0xff

/* One section's bytes; owns nothing. */
struct cfi_section {
	const u8 *data;
	u64 size;
	u64 address;			/* of the first byte, in the object */
	const struct file_image *image;	/* that .data points into; NULL: all bytes are known */
	bool is_debug;			/* .debug_frame */
	bool is_sframe;
	bool is_32;			/* of i386: addresses have 4 bytes */
	bool is_arm64;
};

/* The rules at one address. */
struct cfi_state {
	struct cfi_rule cfa;		/* CFI_UNDEFINED: none yet */
	s32 cfa_add;			/* as in struct cfi_row */
	struct cfi_rule reg[CFI_NR_REGS];
};

/* A common record. */
struct cfi_cie {
	u64 code_align;
	s64 data_align;
	u8 encoding;			/* of its functions' addresses, DW_EH_PE_* */
	bool augmented;			/* augmentation data comes in its functions' records */
	bool is_signal;			/* the kernel called them, as it were */
	struct cfi_state initial;	/* after its program */
};

/* A function's record. */
struct cfi_fde {
	u64 start, size;		/* what it covers; size 0: not known */
	u64 program, program_size;	/* its instructions, by offset */
};

enum cfi_record {
	CFI_RECORD_END,
	CFI_RECORD_CIE,
	CFI_RECORD_FDE,
};

/* Whether [@offset, @offset + @size) is inside and known. */
bool cfi_section_has(const struct cfi_section *section, u64 offset, u64 size);

/*
 * Which enum cfi_record is at @offset, where the next one is and, for an FDE, where its CIE.
 * -ENODATA when it begins in a hole or ends outside, else -EBADMSG or -EOPNOTSUPP.
 */
int cfi_record_find(const struct cfi_section *section, u64 offset, u64 *ret_next, u64 *ret_cie);

/*
 * Reads the CIE at @offset and runs its program. -EOPNOTSUPP for a version, an augmentation or a
 * machine that is not known. Instructions are taken off *@budget; -E2BIG when it is used up.
 */
int cfi_cie_read(const struct cfi_section *section, u64 offset, u64 *budget, struct cfi_cie *ret);

/*
 * Reads the FDE at @offset, which has @cie. With -ENODATA, *@ret still says what it covers if that
 * is known.
 */
int cfi_fde_read(const struct cfi_section *section, u64 offset, const struct cfi_cie *cie,
		 struct cfi_fde *ret);

/* Takes the row that begins at @address. An error ends the run and is its result. */
typedef int (*cfi_row_fn)(void *ctx, u64 address, const struct cfi_row *row);

/*
 * Runs the program of @fde and hands out its rows, addresses ascending from its start and inside
 * it. Where a mistake breaks it off, the last row is CFI_ROW_UNDEFINED. @budget as above.
 */
int cfi_fde_run(const struct cfi_section *section, const struct cfi_fde *fde,
		const struct cfi_cie *cie, u64 *budget, cfi_row_fn fn, void *ctx);

/* Of the code that a signal's handler returns to on arm64: the kernel's frame is at SP. */
struct cfi_row cfi_row_of_sigreturn(void);

/* @encoding, an address as it is (DW_EH_PE_absptr) told by its width in @section. */
static inline u8 cfi_section_encoding(const struct cfi_section *section, u8 encoding)
{
	return section->is_32 && !(encoding & 0x0f) ? encoding | 0x03 : encoding;	/* udata4 */
}

/*
 * A pointer encoded as @encoding (DW_EH_PE_*); @c begins at @address, DW_EH_PE_datarel counts from
 * @data_base. Fails the cursor with -EOPNOTSUPP for an encoding that is not known.
 */
u64 cfi_read_pointer(struct cursor *c, u8 encoding, u64 address, u64 data_base);

#endif
