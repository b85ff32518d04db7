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
	char name[64];
	u64 configs[3];
	u64 period, freq;
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

/* The terms that need no PMU. */
static bool set_common(struct pmu *pmu, const char *name, u64 value)
{
	if (!strcmp(name, "config"))
		pmu->configs[0] |= value;
	else if (!strcmp(name, "config1"))
		pmu->configs[1] |= value;
	else if (!strcmp(name, "config2"))
		pmu->configs[2] |= value;
	else if (!strcmp(name, "period"))
		pmu->period = value;
	else if (!strcmp(name, "freq"))
		pmu->freq = value;
	else
		return false;
	return true;
}

static int parse_terms(struct pmu *pmu, char *terms, int depth);

/* NAME, or NAME=VALUE with @value. */
static int apply_term(struct pmu *pmu, const char *name, const char *value_text, int depth)
{
	_cleanup_free_ char *text = NULL;
	u64 value = 1;
	char *end;
	int err;

	if (value_text) {
		errno = 0;
		value = strtoull(value_text, &end, 0);
		if (errno || end == value_text || *end || *value_text == '-')
			return -EBADMSG;
		if (set_common(pmu, name, value))
			return 0;
	}
	err = read_pmu_file(pmu, "format/", name, &text);
	if (!err)
		return pmu_format_apply(text, value, pmu->configs);
	if (err != -ENOENT || value_text || depth >= PMU_ALIAS_DEPTH)
		return err;
	err = read_pmu_file(pmu, "events/", name, &text);
	return err ? err : parse_terms(pmu, text, depth + 1);
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

int pmu_event_parse(const char *sysfs, const char *text, struct capture_event *event)
{
	struct pmu pmu = { .sysfs = sysfs };
	size_t name_len = strcspn(text, "/");
	_cleanup_free_ char *terms = NULL;
	const char *end;
	int err;

	if (!text[name_len] || !name_len || name_len >= sizeof(pmu.name))
		return -EBADMSG;
	memcpy(pmu.name, text, name_len);
	end = strchr(text + name_len + 1, '/');
	if (!end || end[1])
		return -EBADMSG;
	err = read_type(&pmu, &event->type);
	if (err)
		return err;
	terms = strndup(text + name_len + 1, end - text - name_len - 1);
	if (!terms)
		return -ENOMEM;
	err = parse_terms(&pmu, terms, 1);
	if (err)
		return err;
	event->config = pmu.configs[0];
	event->config1 = pmu.configs[1];
	event->config2 = pmu.configs[2];
	event->period = pmu.period;
	if (pmu.freq)
		event->freq = pmu.freq;
	return 0;
}
