/* SPDX-License-Identifier: GPL-2.0-only */
/* Folded chains: one line for each, "command;outermost;…;innermost samples", sorted. */
#ifndef OUTPUT_FOLDED_H
#define OUTPUT_FOLDED_H

#include "analyze/profile.h"
#include "output/outbuf.h"

/* All events together, as stackcollapse-perf.pl makes it of perf script. 0 or -ENOMEM. */
int folded_write(const struct profile *profile, struct outbuf *out);

#endif
