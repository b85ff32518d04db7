/* SPDX-License-Identifier: GPL-2.0-only */
/* A program that has no more memory, for a while. */
#ifndef TESTS_BUILD_STARVE_H
#define TESTS_BUILD_STARVE_H

#include "base/types.h"

/* From here on malloc() fails, whatever the size. False where that cannot be had: with ASan. */
bool starve_begin(void);
void starve_end(void);

#endif
