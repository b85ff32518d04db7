/* SPDX-License-Identifier: GPL-2.0-only */
/* perf's cache of symbols by build id. Layout: tools/perf/util/build-id.c of Linux 6.1. */
#include "symbols/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "symbols/kallsyms-text.h"

#define CONFIG_MAX (1 << 20)
#define KALLSYMS_DIR "[kernel.kallsyms]"
#define VDSO_DIR "[vdso]"

struct symcache {
	char dir[PATH_MAX];
};

static const char *const kind_names[] = {
	[SYMCACHE_ELF] = "elf",
	[SYMCACHE_DEBUG] = "debug",
	[SYMCACHE_VDSO] = "vdso",
	[SYMCACHE_KALLSYMS] = "kallsyms",
};

static int join(char *out, size_t size, const char *fmt, ...) __printf(3, 4);

static int join(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(out, size, fmt, ap);
	va_end(ap);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

/* The next line of @text without blanks around it; NULL at the end. Changes the text. */
static char *next_line(char **text)
{
	char *line, *end;

	line = strsep(text, "\n");
	if (!line)
		return NULL;
	line += strspn(line, " \t");
	end = line + strlen(line);
	while (end > line && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return line;
}

/* "dir = VALUE" in the section [buildid]; the last one counts, as with git's and perf's files. */
static bool find_dir(char *text, char *ret, size_t size)
{
	bool in_section = false, found = false;
	char *line;

	while ((line = next_line(&text))) {
		char *value = strchr(line, '=');

		if (*line == '[')
			in_section = !strcmp(line, "[buildid]");
		if (!in_section || !value || strncmp(line, "dir", 3) ||
		    strspn(line + 3, " \t") != (size_t)(value - line - 3))
			continue;
		value++;
		value += strspn(value, " \t");
		found = *value && !join(ret, size, "%s", value);
	}
	return found;
}

/* Somebody else's file in our home folder is not ours to believe. */
static bool is_ours(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (!st.st_uid || st.st_uid == geteuid());
}

static bool read_config(const char *path, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;

	if (!is_ours(path) || file_read(AT_FDCWD, path, CONFIG_MAX, &text, NULL))
		return false;
	return find_dir(text, ret, size);
}

int symcache_default_dir(char *ret, size_t size)
{
	const char *home = getenv("HOME"), *config = getenv("PERF_CONFIG");
	char path[PATH_MAX];

	if (config && read_config(config, ret, size))
		return 0;
	if (!config && home && !join(path, sizeof(path), "%s/.perfconfig", home) &&
	    read_config(path, ret, size))
		return 0;
	if (!config && read_config("/etc/perfconfig", ret, size))
		return 0;
	return home ? join(ret, size, "%s/.debug", home) : join(ret, size, ".debug");
}

int symcache_create(const char *dir, struct symcache **ret)
{
	struct symcache *cache = calloc(1, sizeof(*cache));
	int err;

	if (!cache)
		return -ENOMEM;
	err = dir ? join(cache->dir, sizeof(cache->dir), "%s", dir) :
		    symcache_default_dir(cache->dir, sizeof(cache->dir));
	if (err) {
		free(cache);
		return err;
	}
	*ret = cache;
	return 0;
}

void symcache_destroy(struct symcache *cache)
{
	free(cache);
}

const char *symcache_dir(const struct symcache *cache)
{
	return cache->dir;
}

static int link_path(const struct symcache *cache, const struct build_id *id, char *ret,
		     size_t size)
{
	char hex[BUILD_ID_HEX];

	if (id->size < 2 || id->size > BUILD_ID_MAX)
		return -EINVAL;
	build_id_hex(id, hex);
	return join(ret, size, "%s/.build-id/%.2s/%s", cache->dir, hex, hex + 2);
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* kallsyms has a fixed place; of old the link was to the object's file itself, not its folder. */
int symcache_find(const struct symcache *cache, const struct build_id *id,
		  enum symcache_kind kind, char *ret_path, size_t size)
{
	char link[PATH_MAX], path[PATH_MAX], hex[BUILD_ID_HEX];
	int err = link_path(cache, id, link, sizeof(link));

	if (err)
		return err == -EINVAL ? -ENOENT : err;
	build_id_hex(id, hex);
	if (kind == SYMCACHE_KALLSYMS)
		err = join(path, sizeof(path), "%s/" KALLSYMS_DIR "/%s/kallsyms", cache->dir, hex);
	else
		err = join(path, sizeof(path), "%s/%s", link, kind_names[kind]);
	if (!err && is_file(path))
		return join(ret_path, size, "%s", path);
	if (kind == SYMCACHE_ELF && is_file(link))
		return join(ret_path, size, "%s", link);
	return err ? err : -ENOENT;
}

/* Each component made safe: a guest's path must stay inside the cache. "/a/../b" → "a/_./b". */
static int safe_path(const char *path, char *out, size_t size)
{
	size_t used = 0;

	while (*path) {
		size_t len = strcspn(path, "/");
		char part[NAME_MAX + 1], safe[NAME_MAX + 1];

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(part, path, len);
		part[len] = '\0';
		path += len + (path[len] == '/');
		if (!len)
			continue;
		escape_path_component(part, safe, sizeof(safe));
		if (join(out + used, size - used, used ? "/%s" : "%s", safe))
			return -ENAMETOOLONG;
		used += strlen(out + used);
	}
	return used ? 0 : -EINVAL;
}

/* Where a link to the folder @name is to point, relative to .build-id/xx. */
static int set_link(const char *link, const char *name, const char *hex)
{
	char target[PATH_MAX], temp[PATH_MAX];
	int err = join(target, sizeof(target), "../../%s/%s", name, hex);

	if (err)
		return err;
	if (!symlink(target, link))
		return 0;
	if (errno != EEXIST)
		return -errno;
	/* A link that leads nowhere is no use to anybody. */
	if (!access(link, F_OK))
		return 0;
	err = join(temp, sizeof(temp), "%s.%ld", link, (long)getpid());
	if (err)
		return err;
	if (symlink(target, temp))
		return -errno;
	if (rename(temp, link)) {
		err = -errno;
		unlink(temp);
	}
	return err;
}

static int make_parent_of(const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	int err = join(parent, sizeof(parent), "%.*s", (int)(slash - path), path);

	return err ? err : file_make_dirs(parent);
}

/*
 * Writes the file into the folder that the build id is linked to, or into one of its own, @name,
 * to which the link is made last: what a link leads to is whole.
 */
static int add(const struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
	       const char *name, const void *data, size_t size)
{
	char link[PATH_MAX], path[PATH_MAX], hex[BUILD_ID_HEX];
	struct stat st;
	int err = link_path(cache, id, link, sizeof(link));

	if (err)
		return err;
	if (!symcache_find(cache, id, kind, path, sizeof(path)))
		return 0;
	build_id_hex(id, hex);
	if (kind != SYMCACHE_KALLSYMS && !stat(link, &st) && S_ISDIR(st.st_mode))
		err = join(path, sizeof(path), "%s/%s", link, kind_names[kind]);
	else
		err = join(path, sizeof(path), "%s/%s/%s/%s", cache->dir, name, hex,
			   kind_names[kind]);
	if (!err)
		err = file_write_atomic(path, data, size);
	if (!err)
		err = make_parent_of(link);
	return err ? err : set_link(link, name, hex);
}

static int keep_kernel_lines(const char *text, size_t size, struct strbuf *out)
{
	struct kallsyms_line line;
	struct cursor c;
	int err;

	if (size && memchr(text, '\0', size))
		return -EBADMSG;
	cursor_init(&c, text, size);
	for (;;) {
		const u8 *start = c.pos;

		err = kallsyms_text_next(&c, &line);
		if (err <= 0)
			break;
		if (!line.module)
			strbuf_add(out, start, c.pos - start);
	}
	return err ? err : strbuf_error(out);
}

int symcache_add_kallsyms(struct symcache *cache, const struct build_id *id, const char *text,
			  size_t size)
{
	_cleanup_strbuf_ struct strbuf kernel = STRBUF_INIT;
	int err = keep_kernel_lines(text, size, &kernel);

	if (err)
		return err;
	return add(cache, id, SYMCACHE_KALLSYMS, KALLSYMS_DIR, kernel.data, kernel.len);
}

int symcache_add_module(struct symcache *cache, const char *release, const char *name,
			const struct elf_synth *from)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	char part[128], safe_release[128], path[PATH_MAX];
	int err;

	if (!symcache_find(cache, &from->build_id, SYMCACHE_ELF, path, sizeof(path)))
		return 0;
	escape_path_component(name, part, sizeof(part));
	escape_path_component(release ? release : "unknown", safe_release, sizeof(safe_release));
	err = join(path, sizeof(path), "lib/modules/%s/%s.ko", safe_release, part);
	if (!err)
		err = elf_synth_module(from, &file);
	if (err)
		return err;
	return add(cache, &from->build_id, SYMCACHE_ELF, path, file.data, file.len);
}

int symcache_add_file(struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
		      const char *path, const void *data, size_t size)
{
	char folder[PATH_MAX];
	int err;

	if (kind == SYMCACHE_KALLSYMS)
		return -EINVAL;
	err = kind == SYMCACHE_VDSO ? join(folder, sizeof(folder), VDSO_DIR) :
				      safe_path(path, folder, sizeof(folder));
	return err ? err : add(cache, id, kind, folder, data, size);
}
