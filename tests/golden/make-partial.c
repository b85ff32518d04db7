/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * make-partial FILE CACHE FIRST NR: puts into the cache folder CACHE what is known of FILE when NR
 * of its pages, from number FIRST on, are not. Prints whether it was stored as a part.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/errors.h"
#include "base/file.h"
#include "symbols/cache.h"

#define MAX_FILE (256 << 20)

static int read_image(const char *path, u64 first, u64 nr, struct file_image **ret)
{
	_cleanup_free_ char *data = NULL;
	u8 page[FILE_IMAGE_PAGE];
	size_t size;
	int err = file_read(AT_FDCWD, path, MAX_FILE, &data, &size);

	if (!err)
		err = file_image_create(size, ret);
	for (u64 at = 0; !err && at < size; at += sizeof(page)) {
		u64 number = at / sizeof(page);

		memset(page, 0, sizeof(page));
		memcpy(page, data + at, MIN(size - at, sizeof(page)));
		if (number < first || number - first >= nr)
			file_image_set_page(*ret, at, page);
	}
	return err;
}

int main(int argc, char **argv)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;
	_cleanup_(symcache_destroy) struct symcache *cache = NULL;
	bool partial = false;
	char *path;
	int err;

	if (argc != 5)
		return 2;
	path = realpath(argv[1], NULL);
	err = path ? read_image(path, strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0),
				&image) : -ENOENT;
	if (!err)
		err = symcache_create(argv[2], &cache);
	if (!err)
		err = symcache_add_image(cache, NULL, path, image, &partial);
	free(path);
	puts(err ? error_text(err) : partial ? "a part" : "whole");
	return err ? 1 : 0;
}
