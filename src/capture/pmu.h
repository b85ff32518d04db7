/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of the PMUs that sysfs describes: pmu/term,term=value/. */
#ifndef CAPTURE_PMU_H
#define CAPTURE_PMU_H

#include "capture/capture.h"

bool pmu_exists(const char *sysfs, const char *name);

/*
 * Parses PMU/TERMS/ under @sysfs ("/sys"), "TERM,TERM=VALUE,…": config, config1, config2, period,
 * freq and name; a field of the PMU's formats, =1 without a value; a name of its events. -ENOENT:
 * no such PMU or term; -EBADMSG: syntax; -E2BIG: a value too wide for its field, a name too long.
 */
int pmu_event_parse(const char *sysfs, const char *name, const char *terms,
		    struct capture_event *event);

/* The terms that every event takes: period, freq and name. Errors as above. */
int pmu_common_parse(const char *terms, struct capture_event *event);

/*
 * Puts @value into the bits that @format ("config:0-7,32-35", "config1:3") names, in order.
 * @configs are config, config1, config2. -E2BIG when it does not fit.
 */
int pmu_format_apply(const char *format, u64 value, u64 configs[3]);

#endif
