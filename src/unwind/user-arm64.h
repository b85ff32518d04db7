/* SPDX-License-Identifier: GPL-2.0-only */
/* The user part of a chain on arm64, by rules over a copy of the stack. Used by unwind.c only. */
#ifndef UNWIND_USER_ARM64_H
#define UNWIND_USER_ARM64_H

#include "unwind/user-x86.h"

/* Fills @ret from the first ARM64_PT_NR words of a struct pt_regs. */
void user_arm64_load(const u64 *pt_regs, struct user_regs *ret);

/*
 * The pt_regs of user mode at the end of the task's copied kernel stack, if they are the ones that
 * capture went by and not a 32-bit program's.
 */
bool user_arm64_find_pt_regs(const struct sample *sample, struct user_regs *ret);

/* As unwind_user_x86(). x29 is the frame pointer; an x29 of 0 marks the outermost frame. */
enum stop_reason unwind_user_arm64(const struct unwinder *unwinder, const struct sample *sample,
				   const struct user_regs *regs, unsigned int max,
				   struct chain *chain);

#endif
