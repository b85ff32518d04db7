/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user part of a chain on x86, of 64-bit and 32-bit programs, by rules over a copy of the
 * stack. Used by unwind.c only.
 */
#ifndef UNWIND_USER_X86_H
#define UNWIND_USER_X86_H

#include "unwind/unwind.h"

#define USER_NR_GPRS (X86_R15 + 1)
#define USER_ALL_GPRS ((1U << USER_NR_GPRS) - 1)
/* Those that a function keeps for its caller, by the psABIs, and the stack pointer. */
#define USER_KEPT_GPRS (1U << X86_RSP | 1U << X86_RBP | 1U << X86_RBX | 1U << X86_R12 | \
			1U << X86_R13 | 1U << X86_R14 | 1U << X86_R15)
#define USER_KEPT_GPRS_32 (1U << X86_RSP | 1U << X86_RBP | 1U << X86_RBX | 1U << X86_RSI | \
			   1U << X86_RDI)

/* Where user mode was left. */
struct user_regs {
	u64 pc;
	u64 gpr[VCPU_NR_GPRS];	/* by DWARF number */
	u32 known;		/* bit n: gpr[n] holds; the stack pointer always does */
	bool is_32;		/* of a 32-bit program */
};

/* Whether @sample holds a copy of a user stack. */
bool user_x86_has_stack(const struct sample *sample);

/* The registers of a struct pt_regs (X86_PT_NR words) by their DWARF numbers. */
void user_x86_load_gprs(const u64 *pt_regs, u64 *gpr);

/*
 * The pt_regs of user mode at the end of the task's copied kernel stack, if they are the ones that
 * capture went by.
 */
bool user_x86_find_pt_regs(const struct sample *sample, struct user_regs *ret);

/*
 * Adds frames to @chain from @regs on, the interrupted one first, until it has @max, more than it
 * has at first. Needs find_user_row(). Returns why it ended:
 *
 *   STOP_COMPLETE     the rule says that there is no caller (_start, clone), or the return address
 *                     is 0 and so is RBP, as the psABI has it for the outermost frame, or
 *                     makecontext() began here
 *   STOP_NO_RULE      no rule, and RBP leads to no return address either; or the rule needs a
 *                     register that the callee's rules have lost
 *   STOP_RULE_UNKNOWN whether there is a rule, or which, could not be read
 *   STOP_STACK_CUT    the frame is above the copy, which has a limit, or on a stack that was not
 *                     copied; without a rule, the frame that RBP seems to point at is
 *   STOP_NOT_PRESENT  the same, above the copy or in a hole of it, where a page was not mapped
 *   STOP_BAD_POINTER  the stack pointer goes down, is no user address, or is above the stack's end
 *   STOP_BAD_RETURN   the return address is after no call
 *   STOP_NOT_LOADED   find_user_row() does not know the rule yet
 *   STOP_DEPTH
 */
enum stop_reason unwind_user_x86(const struct unwinder *unwinder, const struct sample *sample,
				 const struct user_regs *regs, unsigned int max,
				 struct chain *chain);

#endif
