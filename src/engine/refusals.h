/* SPDX-License-Identifier: GPL-2.0-only */
/* Which VMs could not be followed, so that each is told of once, and only if it stays so. */
#ifndef ENGINE_REFUSALS_H
#define ENGINE_REFUSALS_H

#include <sys/types.h>

#include "base/types.h"
#include "base/vec.h"

struct refusal {
	u64 kvm;		/* struct vm's */
	pid_t pid;
	unsigned int times;	/* in a row */
	bool noted;		/* since the last refusals_next_round() */
	bool told;
};

struct refusals {
	VEC(struct refusal) list;
};

/*
 * The VM could not be followed in this round. True once: when that has been so for @rounds in a
 * row. False also when out of memory.
 */
bool refusals_note(struct refusals *refusals, u64 kvm, pid_t pid, unsigned int rounds);

/* Forgets the VMs that were not noted in the round that ends: they are followed now, or gone. */
void refusals_next_round(struct refusals *refusals);

void refusals_deinit(struct refusals *refusals);

#endif
