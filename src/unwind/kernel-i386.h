/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel part of a chain on i386, by frame pointers. Used by unwind.c only.
 *
 * Addresses of such a kernel, and what of its stack is one, are sign-extended: 0xc1000000 is
 * 0xffffffffc1000000, in the upper half as any kernel's.
 */
#ifndef UNWIND_KERNEL_I386_H
#define UNWIND_KERNEL_I386_H

#include "unwind/kernel-x86.h"

/*
 * Adds frames to @chain, @max of them at most. Returns why it ended. find_row() may know better
 * than the frame pointer of the frame that was interrupted: a CFI_ROW_CALL by RSP, with words of 4
 * bytes.
 */
enum stop_reason unwind_kernel_i386(const struct unwinder *unwinder, const struct sample *sample,
				    unsigned int max, struct chain *chain,
				    struct kernel_end *ret_end);

#endif
