/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which parts of a large ELF file matter to who unwinds its code and names its functions: headers,
 * notes, call frame information, symbols. A browser's library has 200 MiB, and what is said here is
 * a tenth of it.
 */
#ifndef GUEST_FILE_RANGES_H
#define GUEST_FILE_RANGES_H

#include "guest/file.h"

#define FILE_RANGES_MAX (64ULL << 20)	/* bytes that are read of one file */

/*
 * Puts those parts of @file into @image, one of file_image_create(file->size), as far as they are
 * cached and FILE_RANGES_MAX allows; the rest are holes. What leads to them may be a lie: then they
 * are other parts. Not an error for what is no 64-bit ELF file: its first page is there. The errors
 * of guest_file_image_range().
 */
int file_ranges_read(const struct guest_file *file, struct file_image *image);

#endif
