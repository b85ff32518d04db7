/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel part of a chain on x86-64. Used by unwind.c and kernel-arm64.h only. */
#ifndef UNWIND_KERNEL_X86_H
#define UNWIND_KERNEL_X86_H

#include "unwind/unwind.h"
#include "unwind/user-x86.h"

/* How the kernel part ended, beside its reason. */
struct kernel_end {
	bool user_regs;	/* at the registers of user mode: */
	struct user_regs user;
	bool at_entry;	/* in the first frame, which has no caller: entry or exit code */
};

/* Adds frames to @chain, @max of them at most. Returns why it ended. */
enum stop_reason unwind_kernel_x86(const struct unwinder *unwinder, const struct sample *sample,
				   unsigned int max, struct chain *chain,
				   struct kernel_end *ret_end);

#endif
