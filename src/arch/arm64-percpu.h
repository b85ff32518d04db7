/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a per-CPU variable of an arm64 kernel is, by code that loads it. */
#ifndef ARCH_ARM64_PERCPU_H
#define ARCH_ARM64_PERCPU_H

#include "base/types.h"

/*
 * The variable that is first loaded (ldr_this_cpu, arch/arm64/include/asm/assembler.h) in the @size
 * bytes of code at @code, which lie at @at in the image: its offset there, to which a CPU adds what
 * is in its TPIDR_EL1. False when none is within the first instructions.
 */
bool arm64_find_percpu(const u8 *code, u64 size, u64 at, u64 *ret_offset);

#endif
