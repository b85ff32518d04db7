/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries are found by their links in .build-id, and their folders opened with openat2() so that
 * no link inside the cache leads out of it.
 */
#include "symbols/cache-admin.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "symbols/cache-private.h"

#define MAX_ENTRIES (1U << 20)
#define LINKS ".build-id"

static void close_dir(DIR *dir)
{
	if (dir)
		closedir(dir);
}
DEFINE_CLEANUP(DIR *, close_dir)

void symcache_list_deinit(struct symcache_list *list)
{
	for (size_t i = 0; i < list->entries.nr; i++) {
		free(list->entries.data[i].path);
		free(list->entries.data[i].folder);
	}
	vec_deinit(&list->entries);
}

static int open_folder(int root, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The folder as a stream; NULL and errno on failure. */
static DIR *open_stream(int root, const char *path)
{
	int fd = open_folder(root, path);
	DIR *dir;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

static int open_root(const struct symcache *cache)
{
	int fd = open(cache->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int symcache_parse_id(const char *text, struct build_id *ret)
{
	size_t len = strlen(text);
	u8 bytes[BUILD_ID_MAX];

	if (len < 4 || len > 2 * BUILD_ID_MAX || len % 2 ||
	    strspn(text, "0123456789abcdef") != len)
		return -EINVAL;
	for (size_t i = 0; i < len; i += 2)
		bytes[i / 2] = digit(text[i]) << 4 | digit(text[i + 1]);
	*ret = build_id_make(bytes, len / 2);
	return ret->size ? 0 : -EINVAL;
}

static int link_of(const struct build_id *id, char *ret, size_t size)
{
	char hex[BUILD_ID_HEX];

	build_id_hex(id, hex);
	return snprintf(ret, size, LINKS "/%.2s/%s", hex, hex + 2) < (int)size ? 0 : -ENAMETOOLONG;
}

/* Of "../../NAME/HEX" the part that counts from the cache; NULL when it is not of that form. */
static char *folder_of_target(const char *target, const char *hex)
{
	const char *slash = strrchr(target, '/');

	if (strncmp(target, "../../", 6) || !slash || strcmp(slash + 1, hex) || slash < target + 6)
		return NULL;
	return strdup(target + 6);
}

static int set_names(int root, const char *link, struct symcache_entry *entry)
{
	char target[PATH_MAX], hex[BUILD_ID_HEX];
	ssize_t len = readlinkat(root, link, target, sizeof(target) - 1);
	const char *end;

	build_id_hex(&entry->id, hex);
	target[len < 0 ? 0 : len] = '\0';
	entry->folder = folder_of_target(target, hex);
	if (!entry->folder) {
		entry->path = strdup("");
		return entry->path ? 0 : -ENOMEM;
	}
	end = strrchr(entry->folder, '/');
	if (asprintf(&entry->path, "%s%.*s", *entry->folder == '[' ? "" : "/",
		     (int)(end - entry->folder), entry->folder) < 0)
		entry->path = NULL;
	return entry->path ? 0 : -ENOMEM;
}

static void count_file(const struct stat *st, const char *name, struct symcache_entry *entry)
{
	entry->size += st->st_size;
	entry->last_use = MAX(entry->last_use, (u64)MAX(st->st_atime, st->st_mtime));
	for (int kind = 0; kind < SYMCACHE_NR_KINDS; kind++)
		if (!strcmp(name, symcache_kind_name(kind)))
			entry->kinds |= 1U << kind;
	entry->ours |= !strcmp(name, SYMCACHE_MARK);
}

/* A folder that is not there has no files. */
static void count_folder(int root, const char *path, struct symcache_entry *entry)
{
	_cleanup_(close_dir) DIR *dir = open_stream(root, path);
	const struct dirent *file;
	struct stat st;

	while (dir && (file = readdir(dir)))
		if (!fstatat(dirfd(dir), file->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			count_file(&st, file->d_name, entry);
}

/* Where kallsyms is, also when the build id is linked to a vmlinux's folder. */
static void kallsyms_folder(const struct build_id *id, char *ret, size_t size)
{
	char hex[BUILD_ID_HEX];

	build_id_hex(id, hex);
	snprintf(ret, size, SYMCACHE_KALLSYMS_DIR "/%s", hex);
}

static int read_entry(int root, const struct build_id *id, struct symcache_entry *ret)
{
	struct symcache_entry entry = { .id = *id };
	char link[64], kallsyms[64];
	struct stat st;
	int err = link_of(id, link, sizeof(link));

	if (!err)
		err = set_names(root, link, &entry);
	if (err) {
		free(entry.folder);
		return err;
	}
	kallsyms_folder(id, kallsyms, sizeof(kallsyms));
	if (entry.folder)
		count_folder(root, entry.folder, &entry);
	if (!entry.folder || strcmp(entry.folder, kallsyms))
		count_folder(root, kallsyms, &entry);
	/* As very old perf did it: the object itself. */
	if (!fstatat(root, link, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		count_file(&st, symcache_kind_name(SYMCACHE_ELF), &entry);
	*ret = entry;
	return 0;
}

static int add_entry(int root, const char *high, const char *low, struct symcache_list *list)
{
	struct symcache_entry entry;
	struct build_id id;
	char hex[64];
	int err;

	if (snprintf(hex, sizeof(hex), "%s%s", high, low) >= (int)sizeof(hex) ||
	    symcache_parse_id(hex, &id))
		return 0;
	if (list->entries.nr >= MAX_ENTRIES)
		return -E2BIG;
	err = read_entry(root, &id, &entry);
	if (err)
		return err;
	err = vec_push(&list->entries, entry);
	if (err) {
		free(entry.path);
		free(entry.folder);
	}
	return err;
}

static int read_links(int root, const char *high, struct symcache_list *list)
{
	_cleanup_(close_dir) DIR *dir = NULL;
	const struct dirent *file;
	char path[32];
	int err = 0;

	snprintf(path, sizeof(path), LINKS "/%.2s", high);
	dir = open_stream(root, path);
	while (dir && !err && (file = readdir(dir)))
		err = add_entry(root, high, file->d_name, list);
	return err;
}

static int compare_use(const void *a, const void *b)
{
	const struct symcache_entry *x = a, *y = b;

	if (x->last_use != y->last_use)
		return x->last_use < y->last_use ? -1 : 1;
	return memcmp(x->id.data, y->id.data, sizeof(x->id.data));
}

static int list_root(int root, struct symcache_list *ret)
{
	_cleanup_(close_dir) DIR *dir = open_stream(root, LINKS);
	struct symcache_list list = { VEC_INIT };
	const struct dirent *file;
	int err = 0;

	while (dir && !err && (file = readdir(dir)))
		if (strlen(file->d_name) == 2)
			err = read_links(root, file->d_name, &list);
	if (err) {
		symcache_list_deinit(&list);
		return err;
	}
	if (list.entries.nr)
		qsort(list.entries.data, list.entries.nr, sizeof(*list.entries.data), compare_use);
	*ret = list;
	return 0;
}

int symcache_list(const struct symcache *cache, struct symcache_list *ret)
{
	_cleanup_close_ int root = open_root(cache);

	if (root == -ENOENT) {
		*ret = (struct symcache_list){ VEC_INIT };
		return 0;
	}
	return root < 0 ? root : list_root(root, ret);
}

/* Parents that are empty now; the cache's own folder has the lock in it. */
static void remove_empty(int root, const char *path)
{
	char copy[PATH_MAX], *slash;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		return;
	do {
		if (unlinkat(root, copy, AT_REMOVEDIR))
			return;
		slash = strrchr(copy, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
}

/* All files of the folder, then it and its empty parents. Folders in it are not perf's. */
static int remove_folder(int root, const char *path)
{
	_cleanup_(close_dir) DIR *dir = open_stream(root, path);
	const struct dirent *file;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV ?
			       0 : -errno;
	while ((file = readdir(dir))) {
		if (!strcmp(file->d_name, ".") || !strcmp(file->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), file->d_name, 0) && errno != ENOENT && errno != EISDIR)
			return -errno;
	}
	remove_empty(root, path);
	return 0;
}

/* The link goes first: what it leads to is whole as long as it is there. */
static int remove_entry(int root, const struct symcache_entry *entry)
{
	char path[64];
	int err = link_of(&entry->id, path, sizeof(path));

	if (err)
		return err;
	if (unlinkat(root, path, 0) && errno != ENOENT)
		return -errno;
	if (entry->folder)
		err = remove_folder(root, entry->folder);
	kallsyms_folder(&entry->id, path, sizeof(path));
	if (!err)
		err = remove_folder(root, path);
	return err;
}

int symcache_remove(struct symcache *cache, const struct build_id *id)
{
	_cleanup_close_ int lock = -1, root = -1;
	struct symcache_entry entry;
	struct stat st;
	char link[64];
	int err;

	root = open_root(cache);
	if (root < 0)
		return root;
	err = symcache_lock(cache, true, &lock);
	if (!err)
		err = link_of(id, link, sizeof(link));
	if (!err && fstatat(root, link, &st, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	if (!err)
		err = read_entry(root, id, &entry);
	if (err)
		return err;
	err = remove_entry(root, &entry);
	free(entry.path);
	free(entry.folder);
	return err;
}

static bool counts(const struct symcache_entry *entry, const struct symcache_limits *limits)
{
	return entry->ours || !limits->ours_only;
}

static int prune_list(const struct symcache *cache, int root, const struct symcache_list *list,
		      const struct symcache_limits *limits, struct symcache_pruned *ret)
{
	struct symcache_pruned pruned = { 0 };
	int err = 0;

	for (size_t i = 0; i < list->entries.nr; i++)
		if (counts(&list->entries.data[i], limits))
			pruned.left += list->entries.data[i].size;
	for (size_t i = 0; i < list->entries.nr && !err; i++) {
		const struct symcache_entry *entry = &list->entries.data[i];

		if (!counts(entry, limits) || symcache_is_pinned(cache, &entry->id) ||
		    (pruned.left <= limits->max_size && entry->last_use >= limits->used_since))
			continue;
		err = remove_entry(root, entry);
		if (err)
			break;
		pruned.nr++;
		pruned.bytes += entry->size;
		pruned.left -= entry->size;
	}
	*ret = pruned;
	return err;
}

int symcache_prune(struct symcache *cache, const struct symcache_limits *limits,
		   struct symcache_pruned *ret)
{
	_cleanup_close_ int lock = -1, root = -1;
	struct symcache_list list;
	int err;

	root = open_root(cache);
	if (root == -ENOENT) {
		*ret = (struct symcache_pruned){ 0 };
		return 0;
	}
	if (root < 0)
		return root;
	err = symcache_lock(cache, true, &lock);
	if (!err)
		err = list_root(root, &list);
	if (err)
		return err;
	err = prune_list(cache, root, &list, limits, ret);
	symcache_list_deinit(&list);
	return err;
}
