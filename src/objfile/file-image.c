/* SPDX-License-Identifier: GPL-2.0-only */
/* A file's bytes as far as they are known. */
#include "objfile/file-image.h"

#include <string.h>

static u64 nr_pages(const struct file_image *image)
{
	return (image->size + FILE_IMAGE_PAGE - 1) / FILE_IMAGE_PAGE;
}

static bool page_known(const struct file_image *image, u64 page)
{
	return image->present[page / 64] >> (page % 64) & 1;
}

int file_image_create(u64 size, struct file_image **ret)
{
	_cleanup_(file_image_destroy) struct file_image *image = NULL;

	if (!size)
		return -EINVAL;
	if (size > FILE_IMAGE_MAX_SIZE)
		return -E2BIG;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->size = size;
	/* Zeroed by the kernel as it is touched: holes cost nothing. */
	image->data = calloc(1, size);
	image->present = calloc((nr_pages(image) + 63) / 64, sizeof(*image->present));
	if (!image->data || !image->present)
		return -ENOMEM;
	*ret = TAKE_PTR(image);
	return 0;
}

void file_image_destroy(struct file_image *image)
{
	if (!image)
		return;
	free(image->data);
	free(image->present);
	free(image);
}

void file_image_set_page(struct file_image *image, u64 offset, const void *page)
{
	u64 nr = offset / FILE_IMAGE_PAGE;

	if (offset % FILE_IMAGE_PAGE || nr >= nr_pages(image))
		return;
	memcpy(image->data + offset, page, MIN(image->size - offset, (u64)FILE_IMAGE_PAGE));
	image->present[nr / 64] |= 1ULL << (nr % 64);
}

bool file_image_has(const struct file_image *image, u64 offset, u64 size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	for (u64 at = offset / FILE_IMAGE_PAGE; size && at * FILE_IMAGE_PAGE < offset + size; at++)
		if (!page_known(image, at))
			return false;
	return true;
}

u64 file_image_missing(const struct file_image *image)
{
	u64 missing = 0;

	for (u64 at = 0; at < nr_pages(image); at++)
		missing += !page_known(image, at);
	return missing;
}
