/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel part of a chain on arm64, by frame records. Used by unwind.c only. */
#ifndef UNWIND_KERNEL_ARM64_H
#define UNWIND_KERNEL_ARM64_H

#include "unwind/kernel-x86.h"

/* Adds frames to @chain, @max of them at most. Returns why it ended. */
enum stop_reason unwind_kernel_arm64(const struct unwinder *unwinder, const struct sample *sample,
				     unsigned int max, struct chain *chain,
				     struct kernel_end *ret_end);

#endif
