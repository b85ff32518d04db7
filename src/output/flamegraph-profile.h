/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording as a flame graph. */
#ifndef OUTPUT_FLAMEGRAPH_PROFILE_H
#define OUTPUT_FLAMEGRAPH_PROFILE_H

#include "analyze/profile.h"
#include "output/flamegraph.h"

/*
 * Adds the call tree of @event, weighed by period, to an empty @graph. Functions are told apart by
 * name and object; code of which no function is known is merged into one "[unknown]" for each
 * object. 0, also when there are no samples, or -ENOMEM.
 */
int flamegraph_add_profile(struct flamegraph *graph, const struct profile *profile, size_t event,
			   enum profile_by by);

#endif
