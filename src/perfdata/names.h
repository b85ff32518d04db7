/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of events whose file does not name them. */
#ifndef PERFDATA_NAMES_H
#define PERFDATA_NAMES_H

#include "base/types.h"

/* perf's name of a hardware or software event, "raw 0x…" and the like for the rest. */
void perfdata_event_name(u32 type, u64 config, char *out, size_t size);

#endif
