/* SPDX-License-Identifier: GPL-2.0-only */
/* Call instructions of x86-64, seen from behind: what a return address must follow. */
#ifndef ARCH_X86_CALL_H
#define ARCH_X86_CALL_H

#include "base/types.h"

/*
 * Bytes before a return address that always suffice: FF /2 with ModRM, SIB and a 32-bit
 * displacement. Prefixes come before these and change neither the length nor the answer.
 */
#define X86_CALL_MAX 7

/*
 * Whether the encoding of some near call ends exactly at @before + @n, the return address. Looks at
 * the last X86_CALL_MAX of the @n bytes; with fewer it answers for the encodings that fit.
 */
bool x86_call_ends_at(const u8 *before, size_t n);

/* The same of a far call through memory, as 32-bit programs may have. */
bool x86_far_call_ends_at(const u8 *before, size_t n);

#endif
