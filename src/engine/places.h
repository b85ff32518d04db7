/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chains of what is not the guest's own system, as a reader is told of them: one frame with the
 * name of the place, in a record of its own before the first of each (perfdata/place.h).
 */
#ifndef ENGINE_PLACES_H
#define ENGINE_PLACES_H

#include "model/sample.h"
#include "perfdata/writer.h"

#define PLACES_MAX_IPS 3

struct places {
	u32 written;	/* bit n: there is a record of the place of stop reason n */
};

_Static_assert(STOP_NR <= 32, "a bit for each in struct places");

/*
 * Lays @chain, of a sample with this @wire, out as the kernel does when it is at such a place:
 * @ips has room for PLACES_MAX_IPS, *@ret_nr are used. Else *@ret_nr is 0 and there is nothing to
 * be said of it here. The writer's errors.
 */
int places_lay_out(struct places *places, struct perfdata_writer *writer,
		   const struct wire_sample *wire, const struct chain *chain, u64 *ips,
		   u32 *ret_nr);

#endif
