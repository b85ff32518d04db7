/* SPDX-License-Identifier: GPL-2.0-only */
/* perf's cache of symbols by build id. Layout: tools/perf/util/build-id.c of Linux 6.1. */
#include "symbols/cache.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "symbols/cache-private.h"
#include "symbols/elf-file.h"
#include "symbols/kallsyms-text.h"

#define CONFIG_MAX (1 << 20)
#define VDSO_DIR "[vdso]"
#define LOCK_NAME ".kvmprof.lock"

static const char *const kind_names[] = {
	[SYMCACHE_ELF] = "elf",
	[SYMCACHE_DEBUG] = "debug",
	[SYMCACHE_VDSO] = "vdso",
	[SYMCACHE_KALLSYMS] = "kallsyms",
};

const char *symcache_kind_name(enum symcache_kind kind)
{
	return kind < SYMCACHE_NR_KINDS ? kind_names[kind] : "?";
}

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
	pthread_mutex_init(&cache->lock, NULL);
	*ret = cache;
	return 0;
}

void symcache_destroy(struct symcache *cache)
{
	if (!cache)
		return;
	hashmap_deinit(&cache->pins);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void symcache_limit_added(struct symcache *cache, u64 max)
{
	pthread_mutex_lock(&cache->lock);
	cache->max_added = max;
	cache->added = 0;
	pthread_mutex_unlock(&cache->lock);
}

int symcache_check(const struct symcache *cache)
{
	_cleanup_free_ char *path = strdup(cache->dir);
	char *slash;

	if (!path)
		return -ENOMEM;
	while (access(path, W_OK | X_OK)) {
		if (errno != ENOENT)
			return -errno;
		slash = strrchr(path, '/');
		if (!slash)
			return access(".", W_OK | X_OK) ? -errno : 0;
		slash[slash == path] = '\0';	/* of "/x" the root is left */
	}
	return 0;
}

const char *symcache_dir(const struct symcache *cache)
{
	return cache->dir;
}

int symcache_lock(const struct symcache *cache, bool exclusive, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int err = join(path, sizeof(path), "%s/" LOCK_NAME, cache->dir);

	if (!err)
		err = file_make_dirs(cache->dir);
	if (err)
		return err;
	fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	while (flock(fd, exclusive ? LOCK_EX : LOCK_SH))
		if (errno != EINTR)
			return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static u64 pin_key(const struct build_id *id)
{
	return hash_bytes(id->data, id->size);
}

bool symcache_is_pinned(const struct symcache *cache, const struct build_id *id)
{
	return hashmap_get(&cache->pins, pin_key(id));
}

void symcache_touch(const char *path)
{
	const struct timespec times[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };

	/* Somebody else's file, or a read-only one: then its turn comes earlier. */
	(void)!utimensat(AT_FDCWD, path, times, 0);
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
		err = join(path, sizeof(path), "%s/" SYMCACHE_KALLSYMS_DIR "/%s/kallsyms",
			   cache->dir, hex);
	else
		err = join(path, sizeof(path), "%s/%s", link, kind_names[kind]);
	if (!err && is_file(path))
		return join(ret_path, size, "%s", path);
	if (kind == SYMCACHE_ELF && is_file(link))
		return join(ret_path, size, "%s", link);
	return err ? err : -ENOENT;
}

/* Whether the cache itself has files or folders of that name where objects are. */
static bool is_taken(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++)
		if (kind_names[i] && !strcmp(name, kind_names[i]))
			return true;
	return false;
}

/*
 * Each component made safe: a guest's path must stay inside the cache, and out of the way of what
 * else is in it. "/a/../b" → "a/_./b", "/[vdso]/elf" → "_vdso]/elf_".
 */
static int safe_path(const char *path, char *out, size_t size)
{
	bool absolute = *path == '/';
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
		if (absolute && !used && safe[0] == '[')
			safe[0] = '_';
		if (join(out + used, size - used, used ? "/%s%s" : "%s%s", safe,
			 is_taken(safe) ? "_" : ""))
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

/* What a part of a file was made into yields to all of it, or to more of it. */
static bool is_better(const char *path, const struct strbuf *file)
{
	_cleanup_(elf_file_close) struct elf_file *old = NULL, *new = NULL;

	if (elf_file_open(path, &old) || !elf_file_is_partial(old))
		return false;
	if (elf_file_open_memory(file->data, file->len, &new))
		return false;
	return !elf_file_is_partial(new) || elf_file_nr_symbols(new) > elf_file_nr_symbols(old);
}

/* Says in a new folder of ours that it is ours. */
static int mark_folder(const char *file)
{
	char path[PATH_MAX];
	int err = join(path, sizeof(path), "%.*s/" SYMCACHE_MARK,
		       (int)(strrchr(file, '/') - file), file);

	return err ? err : file_write_atomic(path, "", 0);
}

static int write_counted(struct symcache *cache, const char *path, const struct strbuf *file,
			 bool limited)
{
	int err;

	limited &= cache->max_added != 0;
	if (limited && file->len > cache->max_added - cache->added)
		return -E2BIG;
	err = file_write_atomic(path, file->data ?: "", file->len);
	if (!err && limited)
		cache->added += file->len;
	return err;
}

/*
 * Writes the file into the folder that the build id is linked to, or into one of its own, @name,
 * to which the link is made last: what a link leads to is whole.
 */
static int add_locked(struct symcache *cache, const struct build_id *id,
		      enum symcache_kind kind, const char *name, const struct strbuf *file,
		      bool limited)
{
	char link[PATH_MAX], path[PATH_MAX], hex[BUILD_ID_HEX];
	bool is_new;
	struct stat st;
	int err = link_path(cache, id, link, sizeof(link));

	if (err)
		return err;
	if (!symcache_find(cache, id, kind, path, sizeof(path)) && !is_better(path, file)) {
		symcache_touch(path);
		return 0;
	}
	build_id_hex(id, hex);
	is_new = stat(link, &st);
	if (kind != SYMCACHE_KALLSYMS && !is_new && S_ISDIR(st.st_mode))
		err = join(path, sizeof(path), "%s/%s", link, kind_names[kind]);
	else
		err = join(path, sizeof(path), "%s/%s/%s/%s", cache->dir, name, hex,
			   kind_names[kind]);
	if (!err)
		err = write_counted(cache, path, file, limited);
	if (!err && is_new)
		err = mark_folder(path);
	if (!err)
		err = make_parent_of(link);
	return err ? err : set_link(link, name, hex);
}

static int pin_and_add(struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
		       const char *name, const struct strbuf *file, bool limited)
{
	_cleanup_close_ int lock = -1;
	int err = symcache_lock(cache, false, &lock);

	if (!err && !hashmap_put(&cache->pins, pin_key(id), NULL))
		err = -ENOMEM;
	return err ? err : add_locked(cache, id, kind, name, file, limited);
}

static int add(struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
	       const char *name, const struct strbuf *file, bool limited)
{
	int err;

	if (id->size < 2 || id->size > BUILD_ID_MAX)
		return -EINVAL;
	pthread_mutex_lock(&cache->lock);
	err = pin_and_add(cache, id, kind, name, file, limited);
	pthread_mutex_unlock(&cache->lock);
	return err;
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
	return add(cache, id, SYMCACHE_KALLSYMS, SYMCACHE_KALLSYMS_DIR, &kernel, false);
}

int symcache_add_module(struct symcache *cache, const char *release, const char *name,
			const struct elf_synth *from)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	char part[128], safe_release[128], path[PATH_MAX];
	int err;

	escape_path_component(name, part, sizeof(part));
	escape_path_component(release ? release : "unknown", safe_release, sizeof(safe_release));
	err = join(path, sizeof(path), "lib/modules/%s/%s.ko", safe_release, part);
	if (!err)
		err = elf_synth_module(from, &file);
	if (err)
		return err;
	return add(cache, &from->build_id, SYMCACHE_ELF, path, &file, false);
}

/* Whether @file is a whole ELF file of that build id. */
static int check_file(const struct build_id *id, const struct strbuf *file)
{
	_cleanup_(elf_file_close) struct elf_file *elf = NULL;
	struct build_id found;
	int err = elf_file_open_memory(file->data, file->len, &elf);

	if (err)
		return err;
	if (elf_file_build_id(elf, &found) || !build_id_equal(&found, id))
		return -EBADMSG;
	return elf_file_is_whole(elf) ? 0 : -EBADMSG;
}

/* A path of the guest's as a folder below the cache's own. */
static int guest_folder(enum symcache_kind kind, const char *path, char *ret, size_t size)
{
	return kind == SYMCACHE_VDSO ? join(ret, size, VDSO_DIR) : safe_path(path, ret, size);
}

int symcache_add_file(struct symcache *cache, const struct build_id *id, enum symcache_kind kind,
		      const char *path, const void *data, size_t size)
{
	/* Not to be freed, and not written to: see elf_file_open_memory(). */
	const struct strbuf file = { .data = (char *)data, .len = size };
	char folder[PATH_MAX];
	int err;

	if (kind == SYMCACHE_KALLSYMS)
		return -EINVAL;
	err = guest_folder(kind, path, folder, sizeof(folder));
	if (!err)
		err = check_file(id, &file);
	return err ? err : add(cache, id, kind, folder, &file, true);
}

static int add_partial(struct symcache *cache, const struct build_id *id, const char *folder,
		       const struct elf_partial *partial)
{
	_cleanup_strbuf_ struct strbuf file = STRBUF_INIT;
	int err;

	if (!partial->build_id.size)
		return -ENODATA;
	if (id && id->size && !build_id_equal(id, &partial->build_id))
		return -EBADMSG;
	err = elf_synth_program(partial, &file);
	return err ? err : add(cache, &partial->build_id, SYMCACHE_ELF, folder, &file, true);
}

/* @id or, when that is none, the one in the file. */
static int image_id(const struct build_id *id, const struct file_image *image,
		    struct build_id *ret)
{
	_cleanup_(elf_file_close) struct elf_file *file = NULL;
	int err;

	if (id && id->size) {
		*ret = *id;
		return 0;
	}
	err = elf_file_open_memory(image->data, image->size, &file);
	if (!err && elf_file_build_id(file, ret))
		err = -ENODATA;
	return err;
}

int symcache_add_image(struct symcache *cache, const struct build_id *id, const char *path,
		       const struct file_image *image, bool *ret_partial)
{
	bool is_partial = file_image_missing(image);
	struct elf_partial partial;
	struct build_id own;
	char folder[PATH_MAX];
	int err;

	if (!is_partial) {
		err = image_id(id, image, &own);
		if (!err)
			err = symcache_add_file(cache, &own, SYMCACHE_ELF, path, image->data,
						image->size);
	} else {
		err = guest_folder(SYMCACHE_ELF, path, folder, sizeof(folder));
		if (!err)
			err = elf_partial_init(&partial, image);
		if (err)
			return err;
		err = add_partial(cache, id, folder, &partial);
		elf_partial_deinit(&partial);
	}
	if (!err && ret_partial)
		*ret_partial = is_partial;
	return err;
}
