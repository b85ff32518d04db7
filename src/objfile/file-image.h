/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file's bytes as far as they are known: what a guest's page cache holds, or a whole file. Bytes
 * that are not known read as zeros and are known as missing, page by page.
 */
#ifndef OBJFILE_FILE_IMAGE_H
#define OBJFILE_FILE_IMAGE_H

#include "base/types.h"

#define FILE_IMAGE_PAGE 4096
#define FILE_IMAGE_MAX_SIZE (1ULL << 30)	/* holes take no memory */

struct file_image {
	u8 *data;	/* owned; .size bytes, zeros where nothing is known */
	u64 size;
	u64 *present;	/* owned; a bit for each page, the last one may be partial */
};

/* All missing at first. -E2BIG over FILE_IMAGE_MAX_SIZE, -EINVAL for size 0. */
int file_image_create(u64 size, struct file_image **ret);
void file_image_destroy(struct file_image *image);
DEFINE_CLEANUP(struct file_image *, file_image_destroy)

/* Makes the page that begins at @offset known: FILE_IMAGE_PAGE bytes, at the end what is left. */
void file_image_set_page(struct file_image *image, u64 offset, const void *page);

/* Whether all of [@offset, @offset + @size) is inside and known. */
bool file_image_has(const struct file_image *image, u64 offset, u64 size);

/* Pages that are not known. */
u64 file_image_missing(const struct file_image *image);

#endif
