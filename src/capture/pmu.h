/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of the PMUs that sysfs describes: pmu/term,term=value/. */
#ifndef CAPTURE_PMU_H
#define CAPTURE_PMU_H

#include "capture/capture.h"

/*
 * Parses @text, "PMU/TERM,…/", under @sysfs ("/sys"): terms config, config1, config2, period and
 * freq; a field of the PMU's formats, =1 without a value; a name of its events. -ENOENT: no such
 * PMU or term; -EBADMSG: syntax, or a value too wide for its field.
 */
int pmu_event_parse(const char *sysfs, const char *text, struct capture_event *event);

/*
 * Puts @value into the bits that @format ("config:0-7,32-35", "config1:3") names, in order.
 * @configs are config, config1, config2. -E2BIG when it does not fit.
 */
int pmu_format_apply(const char *format, u64 value, u64 configs[3]);

#endif
