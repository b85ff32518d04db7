/* SPDX-License-Identifier: GPL-2.0-only */
/* Call instructions of arm64: what a return address must follow. */
#ifndef ARCH_ARM64_CALL_H
#define ARCH_ARM64_CALL_H

#include "base/types.h"

#define ARM64_CALL_SIZE 4

/* Whether a call, plain or authenticated, is the last instruction of the @n bytes at @before. */
bool arm64_call_ends_at(const u8 *before, size_t n);

#endif
