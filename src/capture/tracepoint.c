/* SPDX-License-Identifier: GPL-2.0-only */
/* The host kernel's tracepoints. */
#include "capture/tracepoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/errors.h"
#include "base/file.h"

#define FORMAT_MAX (1UL << 20)

const char *tracefs_dir(void)
{
	return access("/sys/kernel/tracing/events", F_OK) ? "/sys/kernel/debug/tracing" :
							    "/sys/kernel/tracing";
}

bool tracepoint_is_pattern(const char *text)
{
	return strpbrk(text, "*?[");
}

/* @text into its two parts, @ret_system with room for TRACEPOINT_NAME_MAX. */
static int split(const char *text, char *ret_system, const char **ret_name)
{
	const char *colon = strchr(text, ':');

	if (strlen(text) >= TRACEPOINT_NAME_MAX)
		return -E2BIG;
	if (!colon || colon == text || !colon[1] || strchr(text, '/') || strstr(text, ".."))
		return -EBADMSG;
	memcpy(ret_system, text, colon - text);
	ret_system[colon - text] = '\0';
	*ret_name = colon + 1;
	return 0;
}

static int read_id(const char *tracefs, const char *system, const char *name, u64 *ret_id)
{
	_cleanup_free_ char *data = NULL;
	char path[PATH_MAX];
	char *end;
	u64 id;
	int err;

	if (snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs, system, name) >=
	    (int)sizeof(path))
		return -ENOENT;
	err = file_read(AT_FDCWD, path, 64, &data, NULL);
	if (err)
		return err == -ENOTDIR ? -ENOENT : err;
	id = strtoull(data, &end, 10);
	if (end == data)
		return -ENOENT;
	*ret_id = id;
	return 0;
}

bool tracepoint_exists(const char *tracefs, const char *text)
{
	char system[TRACEPOINT_NAME_MAX];
	const char *name;
	u64 id;

	return !split(text, system, &name) && !read_id(tracefs, system, name, &id);
}

int tracepoint_format(const char *tracefs, const char *text, char **ret)
{
	char system[TRACEPOINT_NAME_MAX], path[PATH_MAX];
	const char *name;
	int err = split(text, system, &name);

	if (err)
		return err;
	if (snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, system, name) >=
	    (int)sizeof(path))
		return -ENOENT;
	return file_read(AT_FDCWD, path, FORMAT_MAX, ret, NULL);
}

/* The names in @folder that @pattern matches, sorted; to be freed with free_names(). */
struct names {
	struct dirent **list;
	int nr;
};

static int list_names(const char *folder, struct names *ret)
{
	struct dirent **list;
	int nr = scandir(folder, &list, NULL, alphasort);

	if (nr < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	*ret = (struct names){ list, nr };
	return 0;
}

static void free_names(struct names *names)
{
	for (int i = 0; i < names->nr; i++)
		free(names->list[i]);
	free(names->list);
}

static bool matches(const char *pattern, const char *name)
{
	return name[0] != '.' && !fnmatch(pattern, name, 0);
}

/* All of one subsystem. */
static int find_in_system(const char *tracefs, const char *system, const char *pattern,
			  tracepoint_fn fn, void *arg, bool *found)
{
	char path[PATH_MAX], full[TRACEPOINT_NAME_MAX];
	struct names names = { 0 };
	int err;

	snprintf(path, sizeof(path), "%s/events/%s", tracefs, system);
	err = list_names(path, &names);
	if (err)
		return err == -ENOENT ? 0 : err;
	for (int i = 0; i < names.nr && !err; i++) {
		const char *name = names.list[i]->d_name;
		u64 id;

		/* Beside events there are files; and events for ftrace alone have no number. */
		if (!matches(pattern, name) || read_id(tracefs, system, name, &id) ||
		    snprintf(full, sizeof(full), "%s:%s", system, name) >= (int)sizeof(full))
			continue;
		*found = true;
		err = fn(full, id, arg);
	}
	free_names(&names);
	return err;
}

static int find_one(const char *tracefs, const char *text, const char *system, const char *name,
		    tracepoint_fn fn, void *arg)
{
	u64 id;
	int err = read_id(tracefs, system, name, &id);

	return err ? err : fn(text, id, arg);
}

int tracepoints_find(const char *tracefs, const char *pattern, tracepoint_fn fn, void *arg)
{
	char system[TRACEPOINT_NAME_MAX], path[PATH_MAX];
	const char *name;
	struct names systems = { 0 };
	bool found = false;
	int err = split(pattern, system, &name);

	if (err)
		return err;
	if (!tracepoint_is_pattern(pattern))
		return find_one(tracefs, pattern, system, name, fn, arg);
	snprintf(path, sizeof(path), "%s/events", tracefs);
	err = list_names(path, &systems);
	if (err)
		return err;
	for (int i = 0; i < systems.nr && !err; i++) {
		if (matches(system, systems.list[i]->d_name))
			err = find_in_system(tracefs, systems.list[i]->d_name, name, fn, arg,
					     &found);
	}
	free_names(&systems);
	return err || found ? err : -ENOENT;
}
