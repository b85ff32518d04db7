/* SPDX-License-Identifier: GPL-2.0-only */
/* Writing a seed corpus. */
#ifndef FUZZ_SEEDS_H
#define FUZZ_SEEDS_H

#include "base/types.h"

/* Defined by seeds-NAME.c: calls seed_write() for each seed. 0 or negative errno. */
int write_seeds(void);

/* Writes one seed as the file @name of the folder that the generator was given. */
int seed_write(const char *name, const void *data, size_t size);

#endif
