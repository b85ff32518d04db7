/* SPDX-License-Identifier: GPL-2.0-only */
/* C++ and Rust names as people write them. */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#include "base/types.h"

#define DEMANGLE_MAX 16384	/* bytes; a name can expand without bound */

/*
 * @name demangled, without parameters, as perf shows it; free() it. NULL when it is not mangled,
 * makes no sense, expands beyond DEMANGLE_MAX or memory is short: then use @name itself.
 */
char *demangle(const char *name);

#endif
