/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PMUs in sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices-*): `type` is the number
 * for perf_event_open, `format/FIELD` says which bits a field has, `events/NAME` are terms.
 */
#include "capture/pmu.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/file.h"

#define PMU_FILE_MAX 4096
#define PMU_ALIAS_DEPTH 2	/* an event of events/ is made of terms, not of events */

struct pmu {
	const char *sysfs;
	const char *name;	/* NULL: none, and no terms but the common ones */
	u64 configs[3];
	struct capture_event *event;
};

/* One number range "A" or "A-B" of a format; moves *@text behind it and a comma. */
static int parse_range(const char **text, unsigned int *ret_first, unsigned int *ret_last)
{
	char *end;
	unsigned long first = strtoul(*text, &end, 10), last = first;

	if (end == *text)
		return -EBADMSG;
	if (*end == '-') {
		const char *second = end + 1;

		last = strtoul(second, &end, 10);
		if (end == second)
			return -EBADMSG;
	}
	if (first > last || last > 63)
		return -EBADMSG;
	if (*end == ',')
		end++;
	*text = end;
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static int format_config(const char **format)
{
	static const char *const names[] = { "config:", "config1:", "config2:" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(*format, names[i], strlen(names[i]))) {
			*format += strlen(names[i]);
			return i;
		}
	}
	return -EOPNOTSUPP;
}

int pmu_format_apply(const char *format, u64 value, u64 configs[3])
{
	int config = format_config(&format);
	u64 bits = 0;

	if (config < 0)
		return config;
	while (*format && *format != '\n') {
		unsigned int first, last, width;
		int err = parse_range(&format, &first, &last);
		u64 mask;

		if (err)
			return err;
		width = last - first + 1;
		mask = width == 64 ? ~0ULL : (1ULL << width) - 1;
		bits |= (value & mask) << first;
		value = width == 64 ? 0 : value >> width;
	}
	if (value)
		return -E2BIG;
	configs[config] |= bits;
	return 0;
}

static int read_pmu_file(const struct pmu *pmu, const char *folder, const char *name, char **ret)
{
	char path[PATH_MAX];

	if (strchr(name, '/') || !strcmp(name, "..") || !strcmp(name, "."))
		return -EBADMSG;
	if (snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/%s%s", pmu->sysfs,
		     pmu->name, folder, name) >= (int)sizeof(path))
		return -ENOENT;
	return file_read(AT_FDCWD, path, PMU_FILE_MAX, ret, NULL);
}

/* Of the config words. */
static bool set_config(struct pmu *pmu, const char *name, u64 value)
{
	static const char *const names[] = { "config", "config1", "config2" };

	for (size_t i = 0; pmu->name && i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i])) {
			pmu->configs[i] |= value;
			return true;
		}
	}
	return false;
}

/* How often, which goes before what is asked for all events. As with perf the last one counts. */
static int set_rate(struct capture_event *event, const char *name, u64 value)
{
	bool period = !strcmp(name, "period");

	if (!period && strcmp(name, "freq"))
		return -ENOENT;
	if (!value)
		return -EBADMSG;
	event->period = period ? value : 0;
	event->freq = period ? 0 : value;
	event->rated = true;
	return 0;
}

static int set_name(struct capture_event *event, const char *name)
{
	if (!*name)
		return -EBADMSG;
	if (strlen(name) >= sizeof(event->name))
		return -E2BIG;
	memcpy(event->name, name, strlen(name) + 1);
	return 0;
}

static int parse_value(const char *text, u64 *ret)
{
	char *end;
	u64 value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		return -EBADMSG;
	*ret = value;
	return 0;
}

static int parse_terms(struct pmu *pmu, char *terms, int depth);

/* A field of the PMU's, or, without a value, one of its events. */
static int apply_field(struct pmu *pmu, const char *name, const u64 *given, int depth)
{
	_cleanup_free_ char *text = NULL;
	int err = read_pmu_file(pmu, "format/", name, &text);

	if (!err)
		return pmu_format_apply(text, given ? *given : 1, pmu->configs);
	if (err != -ENOENT || given || depth >= PMU_ALIAS_DEPTH)
		return err;
	err = read_pmu_file(pmu, "events/", name, &text);
	return err ? err : parse_terms(pmu, text, depth + 1);
}

/* NAME, or NAME=VALUE with @value_text. */
static int apply_term(struct pmu *pmu, const char *name, const char *value_text, int depth)
{
	u64 value = 0;
	int err;

	if (value_text && !strcmp(name, "name"))
		return set_name(pmu->event, value_text);
	if (value_text) {
		err = parse_value(value_text, &value);
		if (err || set_config(pmu, name, value))
			return err;
		err = set_rate(pmu->event, name, value);
		if (err != -ENOENT)
			return err;
	}
	return pmu->name ? apply_field(pmu, name, value_text ? &value : NULL, depth) : -ENOENT;
}

static int parse_terms(struct pmu *pmu, char *terms, int depth)
{
	char *save = NULL;

	terms[strcspn(terms, "\n")] = '\0';
	for (char *term = strtok_r(terms, ",", &save); term; term = strtok_r(NULL, ",", &save)) {
		char *value = strchr(term, '=');
		int err;

		if (value)
			*value++ = '\0';
		err = apply_term(pmu, term, value, depth);
		if (err)
			return err;
	}
	return 0;
}

static int read_type(const struct pmu *pmu, u32 *ret_type)
{
	_cleanup_free_ char *text = NULL;
	unsigned long type;
	char *end;
	int err = read_pmu_file(pmu, "", "type", &text);

	if (err)
		return err;
	type = strtoul(text, &end, 10);
	if (end == text || type > UINT_MAX)
		return -EBADMSG;
	*ret_type = type;
	return 0;
}

bool pmu_exists(const char *sysfs, const char *name)
{
	const struct pmu pmu = { .sysfs = sysfs, .name = name };
	u32 type;

	return !strchr(name, '/') && strcmp(name, "..") && strcmp(name, ".") &&
	       !read_type(&pmu, &type);
}

static int parse_copy(struct pmu *pmu, const char *terms)
{
	_cleanup_free_ char *copy = strdup(terms);

	return copy ? parse_terms(pmu, copy, 1) : -ENOMEM;
}

int pmu_event_parse(const char *sysfs, const char *name, const char *terms,
		    struct capture_event *event)
{
	struct pmu pmu = { .sysfs = sysfs, .name = name, .event = event };
	int err = read_type(&pmu, &event->type);

	if (!err)
		err = parse_copy(&pmu, terms);
	if (err)
		return err;
	event->config = pmu.configs[0];
	event->config1 = pmu.configs[1];
	event->config2 = pmu.configs[2];
	return 0;
}

int pmu_common_parse(const char *terms, struct capture_event *event)
{
	struct pmu pmu = { .event = event };

	return parse_copy(&pmu, terms);
}
