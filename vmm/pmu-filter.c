/* SPDX-License-Identifier: GPL-2.0-only */
#include "pmu-filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NR_FIXED 32

/* Moves *@text behind @word if it begins so. */
static bool take(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len) != 0)
		return false;
	*text += len;
	return true;
}

/* No sign and no space, which strtoull() would take. */
static int take_number(const char **text, uint64_t max, uint64_t *ret)
{
	uint64_t value;
	char *end;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	errno = 0;
	value = strtoull(*text, &end, 0);
	if (errno || value > max)
		return -EINVAL;
	*text = end;
	*ret = value;
	return 0;
}

static int take_event(const char **text, struct pmu_filter *filter)
{
	uint64_t value;

	if (take(text, "fixed")) {
		if (take_number(text, NR_FIXED - 1, &value))
			return -EINVAL;
		filter->filter.fixed_bitmap |= 1U << value;
		return 0;
	}
	if (take_number(text, UINT64_MAX, &value))
		return -EINVAL;
	if (filter->filter.nr == VPMU_FILTER_MAX)
		return -E2BIG;
	filter->events[filter->filter.nr++] = value;
	return 0;
}

static int parse(const char *text, struct pmu_filter *filter)
{
	int err;

	if (take(&text, "deny:"))
		filter->filter.action = VPMU_FILTER_DENY;
	else if (take(&text, "allow:"))
		filter->filter.action = VPMU_FILTER_ALLOW;
	else
		return -EINVAL;
	do
		err = take_event(&text, filter);
	while (!err && take(&text, ","));
	return err ?: *text ? -EINVAL : 0;
}

int pmu_filter_parse(const char *text, struct pmu_filter *ret)
{
	struct pmu_filter filter = { 0 };
	int err = parse(text, &filter);

	if (err)
		return err;
	*ret = filter;
	ret->filter.events = ret->events;
	return 0;
}
