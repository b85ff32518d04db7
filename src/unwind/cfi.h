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

/* What a rule comes to by itself. */
enum cfi_value_kind {
	CFI_VALUE_NONE,		/* nothing: it has none, or it needs a register that is not known */
	CFI_VALUE_IS,		/* the value */
	CFI_VALUE_AT,		/* the address that the value is at */
};

/*
 * The value of @rule, or where it is, over registers @gpr by DWARF number, of which those are known
 * whose bit is set in @known. CFI_SAME and CFI_UNDEFINED are the caller's business.
 */
static inline enum cfi_value_kind cfi_rule_value(const struct cfi_rule *rule, const u64 *gpr,
						 u32 known, u64 cfa, u64 *ret)
{
	bool of_reg = rule->kind == CFI_REG_OFFSET || rule->kind == CFI_AT_REG;

	if (of_reg && (rule->reg >= VCPU_NR_GPRS || !(known & 1U << rule->reg)))
		return CFI_VALUE_NONE;
	if (!of_reg && rule->kind != CFI_CFA_OFFSET && rule->kind != CFI_AT_CFA)
		return CFI_VALUE_NONE;
	*ret = (of_reg ? gpr[rule->reg] : cfa) + (s64)rule->offset;
	return rule->kind == CFI_AT_CFA || rule->kind == CFI_AT_REG ? CFI_VALUE_AT : CFI_VALUE_IS;
}

enum cfi_row_kind {
	CFI_ROW_CALL,		/* an ordinary function: the CFA's frame was entered by a call */
	CFI_ROW_REGS,		/* a whole pt_regs lies at the CFA */
	CFI_ROW_REGS_PARTIAL,	/* only the hardware's part (ip, cs, flags, sp, ss) lies there */
	CFI_ROW_END,		/* the outermost frame */
	CFI_ROW_UNDEFINED,	/* covered, but said to have no rule: do not guess one */
	CFI_ROW_SIGCONTEXT,	/* user code's: all registers lie in a struct sigcontext at .regs */
};

/* The callee-saved registers beside RBP, indexes of cfi_row.saved; those of i386 are below. */
enum cfi_saved {
	CFI_SAVED_RBX,
	CFI_SAVED_R12,
	CFI_SAVED_R13,
	CFI_SAVED_R14,
	CFI_SAVED_R15,
	CFI_SAVED_NR,
	CFI_SAVED_NONE = 0xff,	/* no more of them */
};

/* Which register each is, in 64-bit and in 32-bit code. */
static const u8 cfi_saved_64[CFI_SAVED_NR] = { X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15 };
static const u8 cfi_saved_32[CFI_SAVED_NR] = { X86_RBX, X86_RSI, X86_RDI, CFI_SAVED_NONE };

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
