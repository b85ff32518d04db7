/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples that wait for what their chains need. Copies, in one area of memory of a fixed size that
 * takes memory only while there are any. They hold the guest's stacks: they are written nowhere and
 * left out of core dumps. (They are not locked: swapping can bring them to a disk.)
 */
#ifndef ENGINE_PARKED_H
#define ENGINE_PARKED_H

#include "model/sample.h"

#define PARKED_MAX_BYTES (64U << 20)	/* some thousand samples with long stacks */

struct parked;

int parked_create(struct parked **ret);
void parked_destroy(struct parked *parked);
DEFINE_CLEANUP(struct parked *, parked_destroy)

/* Copies @sample, which waits for @what and keeps @held, its owner's. -ENOBUFS: no room. */
int parked_add(struct parked *parked, const struct sample *sample, const void *what, void *held);

size_t parked_nr(const struct parked *parked);

/* The time of the oldest; UINT64_MAX: there is none. */
u64 parked_oldest(const struct parked *parked);

/*
 * Calls @fn with each in the order that they came in. @fn returns what the sample waits for from
 * then on; NULL: for nothing, it is done with and not valid any more. May not add any.
 */
typedef const void *parked_fn(void *ctx, const struct sample *sample, const void *what, void *held);
void parked_for_each(struct parked *parked, parked_fn *fn, void *ctx);

#endif
