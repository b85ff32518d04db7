/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One unwinding rule, whatever it was made from (ORC, DWARF CFI): how to get the caller's
 * registers from the callee's and its stack.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include "base/types.h"
#include "model/regs.h"

/* How the caller's value of something is found. */
enum cfi_rule_kind {
	CFI_SAME,		/* unchanged (callee-saved and not yet pushed) */
	CFI_UNDEFINED,		/* lost */
	CFI_CFA_OFFSET,		/* CFA + offset */
	CFI_AT_CFA,		/* memory at CFA + offset */
	CFI_REG_OFFSET,		/* register + offset */
	CFI_AT_REG,		/* memory at register + offset */
};

struct cfi_rule {
	u8 kind;	/* enum cfi_rule_kind */
	u8 reg;		/* DWARF number, for *_REG* */
	s32 offset;	/* bytes */
};

enum cfi_row_kind {
	CFI_ROW_CALL,		/* an ordinary function: the CFA's frame was entered by a call */
	CFI_ROW_REGS,		/* a whole pt_regs lies at the CFA */
	CFI_ROW_REGS_PARTIAL,	/* only the hardware's part (ip, cs, flags, sp, ss) lies there */
	CFI_ROW_END,		/* the outermost frame */
	CFI_ROW_UNDEFINED,	/* covered, but said to have no rule: do not guess one */
	CFI_ROW_SIGCONTEXT,	/* user code's: all registers lie in a struct sigcontext at .regs */
};

/* The callee-saved registers of x86-64 beside RBP, indexes of cfi_row.saved. */
enum cfi_saved {
	CFI_SAVED_RBX,
	CFI_SAVED_R12,
	CFI_SAVED_R13,
	CFI_SAVED_R14,
	CFI_SAVED_R15,
	CFI_SAVED_NR,
};

struct cfi_row {
	u8 kind;		/* enum cfi_row_kind */
	bool interrupted;	/* the caller was interrupted here, it did not call: ip is exact */
	struct cfi_rule cfa;	/* REG_OFFSET, or AT_REG then + cfa_add */
	s32 cfa_add;		/* added to the CFA after an AT_REG load (ORC's indirect forms) */
	struct cfi_rule ra;
	struct cfi_rule bp;	/* the frame pointer, the one register that ORC restores */
	struct cfi_rule regs;	/* of SIGCONTEXT: where it lies, a REG_OFFSET */
	struct cfi_rule saved[CFI_SAVED_NR];	/* what DWARF knows of user code; ORC: all SAME */
};

#endif
