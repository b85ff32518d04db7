/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cache of kernel builds. A guest can put any build id into its memory, and must not be able to
 * give its own symbols to others that way: with each build goes a fingerprint of the bytes that it
 * was made of, and the same bytes are read and compared in every other guest before it is used.
 * The fingerprint's key is made at random and kept in the folder; guests never see it.
 */
#include "guest/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/errors.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "guest/build-file.h"

#define MAX_IN_MEMORY 32
#define MAX_FILES 32		/* about 12 MB each; the oldest goes */
#define KEY_NAME "key"
#define SUFFIX ".kernel"

struct known {
	struct kernel_build *build;
	struct fingerprint fingerprint;
};

struct guest_cache {
	char *dir;	/* NULL: memory only */
	struct fingerprint_key key;
	VEC(struct known) known;
};

static int make_path(const struct guest_cache *cache, const char *name, char path[PATH_MAX])
{
	int len = snprintf(path, PATH_MAX, "%s/%s", cache->dir, name);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* "<hex build id>.kernel" */
static void make_name(const struct guest_build_id *id, char name[64])
{
	size_t at = 0;

	for (unsigned int i = 0; i < id->size; i++)
		at += snprintf(name + at, 64 - at, "%02x", id->data[i]);
	snprintf(name + at, 64 - at, SUFFIX);
}

/* Reads the folder's key, or makes one. Who is second to make one reads the first's. */
static int open_key(struct guest_cache *cache, u8 random[16])
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int err = make_path(cache, KEY_NAME, path);

	if (err)
		return err;
	err = file_make_dirs(cache->dir);
	if (err)
		return err;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		err = fd_write_all(fd, random, 16);
		if (err)
			unlink(path);	/* half a key would be in the way for ever */
		return err;
	}
	if (errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	return read(fd, random, 16) == 16 ? 0 : -ENODATA;
}

/* A folder that cannot be used is no reason to fail. */
static void open_dir(struct guest_cache *cache, const char *dir, u8 random[16])
{
	int err;

	cache->dir = strdup(dir);
	err = cache->dir ? open_key(cache, random) : -ENOMEM;
	if (!err)
		return;
	log_debug("guest cache: %s is not used: %s", dir, error_text(err));
	free(cache->dir);
	cache->dir = NULL;
}

int guest_cache_create(const char *dir, struct guest_cache **ret)
{
	struct guest_cache *cache = calloc(1, sizeof(*cache));
	u8 random[16];

	if (!cache)
		return -ENOMEM;
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		free(cache);
		return -EIO;
	}
	if (dir)
		open_dir(cache, dir, random);
	cache->key = fingerprint_key_from(random);
	*ret = cache;
	return 0;
}

void guest_cache_destroy(struct guest_cache *cache)
{
	if (!cache)
		return;
	vec_for_each(&cache->known, known)
		kernel_build_put(known->build);
	vec_deinit(&cache->known);
	free(cache->dir);
	free(cache);
}

/* The image as it is in a guest now. */
struct subject {
	const struct image *image;
	const struct mmu_space *space;
	const struct mem_reader *mem;
};

static bool has_build_id(const struct subject *subject, u64 offset, const u8 *id, u8 size)
{
	u8 there[GUEST_BUILD_ID_MAX];

	return size && size <= sizeof(there) &&
	       !image_read_part(subject->image, subject->space, subject->mem, offset, size,
				there) &&
	       !memcmp(there, id, size);
}

/* Fingerprint of the bytes that @build was made of, as they are in the subject. */
static int take_fingerprint(const struct guest_cache *cache, const struct subject *subject,
			    const struct kernel_build *build, struct fingerprint *ret)
{
	struct fingerprint fingerprint = FINGERPRINT_INIT;

	for (unsigned int i = 0; i < SPAN_NR; i++) {
		const struct build_span *span = &build->spans[i];
		_cleanup_free_ u8 *bytes = malloc(span->size + 1);
		int err;

		if (!bytes)
			return -ENOMEM;
		err = image_read_part(subject->image, subject->space, subject->mem, span->offset,
				      span->size, bytes);
		if (err)
			return err;
		fingerprint_add(&fingerprint, &cache->key, bytes, span->size);
	}
	*ret = fingerprint;
	return 0;
}

static bool is_same(const struct guest_cache *cache, const struct subject *subject,
		    const struct known *known)
{
	struct fingerprint there;

	return !take_fingerprint(cache, subject, known->build, &there) &&
	       fingerprint_equal(&there, &known->fingerprint);
}

/* Takes over the reference to .build. The one that came first goes when there is no room. */
static int remember(struct guest_cache *cache, struct known known)
{
	if (cache->known.nr == MAX_IN_MEMORY) {
		kernel_build_put(cache->known.data[0].build);
		memmove(cache->known.data, cache->known.data + 1,
			--cache->known.nr * sizeof(known));
	}
	return vec_push(&cache->known, known);
}

static int find_in_memory(struct guest_cache *cache, const struct subject *subject,
			  struct kernel_build **ret)
{
	vec_for_each(&cache->known, known) {
		const struct kernel_build *build = known->build;

		if (!has_build_id(subject, build->build_id_offset, build->build_id.data,
				  build->build_id.size) ||
		    !is_same(cache, subject, known))
			continue;
		*ret = kernel_build_get(known->build);
		return 0;
	}
	return -ENOENT;
}

static int read_header(int dirfd, const char *name, struct build_file_header *ret)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	u8 bytes[sizeof(*ret)];
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read(fd, bytes, sizeof(bytes));
	return got < 0 ? -errno : build_file_read_header(bytes, got, ret);
}

/* The file's build when it is the subject's. */
static int try_file(struct guest_cache *cache, const struct subject *subject, int dirfd,
		    const char *name, struct kernel_build **ret)
{
	struct build_file_header header;
	struct known known;
	_cleanup_free_ char *data = NULL;
	size_t size;
	int err = read_header(dirfd, name, &header);

	if (err)
		return err;
	if (!has_build_id(subject, header.build_id_offset, header.build_id, header.build_id_size))
		return -ENOENT;
	err = file_read(dirfd, name, BUILD_FILE_MAX, &data, &size);
	if (!err)
		err = build_file_read(data, size, &known.build);
	if (err)
		return err;
	known.fingerprint = header.fingerprint;
	if (is_same(cache, subject, &known))
		err = remember(cache, known);
	else
		err = -ENOENT;
	if (err) {
		kernel_build_put(known.build);
		return err;
	}
	*ret = kernel_build_get(known.build);
	return 0;
}

static bool is_build_file(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(SUFFIX) && !strcmp(name + len - strlen(SUFFIX), SUFFIX);
}

static int find_in_dir(struct guest_cache *cache, const struct subject *subject,
		       struct kernel_build **ret)
{
	const struct dirent *entry;
	int err = -ENOENT;
	DIR *dir;

	if (!cache->dir)
		return -ENOENT;
	dir = opendir(cache->dir);
	if (!dir)
		return -errno;
	while (err && (entry = readdir(dir)))
		if (is_build_file(entry->d_name))
			err = try_file(cache, subject, dirfd(dir), entry->d_name, ret);
	closedir(dir);
	return err;
}

int cache_find(struct guest_cache *cache, const struct image *image,
	       const struct mmu_space *space, const struct mem_reader *mem,
	       struct kernel_build **ret)
{
	struct subject subject = { .image = image, .space = space, .mem = mem };

	if (!find_in_memory(cache, &subject, ret))
		return 0;
	return find_in_dir(cache, &subject, ret) ? -ENOENT : 0;
}

/* Makes room for one more file. */
static void drop_oldest(const struct guest_cache *cache)
{
	char oldest[NAME_MAX + 1] = "";
	const struct dirent *entry;
	struct timespec when = { 0 };
	unsigned int nr = 0;
	struct stat st;
	DIR *dir = opendir(cache->dir);

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (!is_build_file(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (!nr++ || st.st_mtim.tv_sec < when.tv_sec) {
			when = st.st_mtim;
			snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
		}
	}
	if (nr >= MAX_FILES)
		unlinkat(dirfd(dir), oldest, 0);
	closedir(dir);
}

static int write_file(const struct guest_cache *cache, const struct known *known)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	char name[64], path[PATH_MAX];
	int err;

	if (!cache->dir)
		return 0;
	make_name(&known->build->build_id, name);
	err = make_path(cache, name, path);
	if (!err)
		err = build_file_write(known->build, &known->fingerprint, &out);
	if (err)
		return err;
	drop_oldest(cache);
	return file_write_atomic(path, out.data, out.len);
}

/* The same from an image in memory. */
static struct fingerprint fingerprint_of(const struct guest_cache *cache,
					 const struct image *image,
					 const struct kernel_build *build)
{
	struct fingerprint fingerprint = FINGERPRINT_INIT;

	for (unsigned int i = 0; i < SPAN_NR; i++)
		fingerprint_add(&fingerprint, &cache->key, image->data + build->spans[i].offset,
				build->spans[i].size);
	return fingerprint;
}

int cache_add(struct guest_cache *cache, const struct image *image, struct kernel_build *build)
{
	struct known known = { .build = build };
	int err;

	/* A part that was not found has no bytes to compare: what says it is missing elsewhere? */
	if (!build->build_id.size || build->partial ||
	    build->symbols->addressing == KALLSYMS_ABSOLUTE)
		return 0;
	known.fingerprint = fingerprint_of(cache, image, build);
	kernel_build_get(build);
	err = remember(cache, known);
	if (err) {
		kernel_build_put(build);
		return err;
	}
	return write_file(cache, &known);
}
