/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of the files that a guest's processes have mapped, out of the guest's memory: its page
 * cache, and the pages of a process. What is not there is a hole, and never made up.
 */
#ifndef GUEST_FILE_H
#define GUEST_FILE_H

#include "guest/process.h"
#include "objfile/build-id.h"
#include "objfile/file-image.h"

#define GUEST_FILE_MAX_EAGER (64ULL << 20)	/* of larger ones only parts: file-ranges.h */
#define GUEST_VDSO_MAX_SIZE (64U << 10)

/* A file whose pages can be read. No resources are held: it is a note of where they are. */
struct guest_file {
	const struct guest *guest;
	struct guest_file_key key;
	u64 size;
	u64 mapping;	/* address of its struct address_space */
	u64 vmemmap;
	u32 page;	/* bytes of a page in the guest's page cache */
};

/*
 * Looks the file up again. -ESTALE: the inode is another's by now; -EOPNOTSUPP: this kernel's types
 * are not known, or the file system keeps no such pages (hugetlbfs); -ENODATA for an empty file or
 * what is none.
 */
int guest_file_open(const struct guest *guest, const struct guest_mapped_file *mapped,
		    struct guest_file *ret);

/*
 * Reads @size bytes at @offset. -ENODATA when they go beyond the file's end or some of them are not
 * in the page cache; @out is then undefined.
 */
int guest_file_read(const struct guest_file *file, u64 offset, void *out, size_t size);

/*
 * Puts what is cached of [@offset, @offset + @size), widened to pages, into @image, one of
 * file_image_create(file->size). Pages that @image has already are not read again. -ESTALE when the
 * file's size is not the image's.
 */
int guest_file_image_range(const struct guest_file *file, u64 offset, u64 size,
			   struct file_image *image);

/*
 * Fills holes of @image from @process's memory, by those of its mappings of the file that are
 * executable, private and read-only, and only pages that belong to the file and not to the process:
 * text of file systems that map a device's memory (DAX) instead of pages in the cache. @index is
 * the file's in @process->files. Nothing to do for any other.
 */
int guest_file_fill_from_process(const struct guest_file *file, const struct guest_process *process,
				 u32 index, struct file_image *image);

/*
 * The file @index of @process as far as it is in memory, by the two above; of one larger than
 * GUEST_FILE_MAX_EAGER what file_ranges_read() chooses. -E2BIG: larger than FILE_IMAGE_MAX_SIZE;
 * -ENODATA: not one page is there; the errors of guest_file_open().
 */
int guest_file_image(const struct guest *guest, const struct guest_process *process, u32 index,
		     struct file_image **ret);

/*
 * The build id in its ELF notes, from a few pages only. -ENOENT: there is none; -EBADMSG: not an
 * ELF file; -ENODATA: a page that is needed is not cached.
 */
int guest_file_build_id(const struct guest_file *file, struct build_id *ret);

/* The same in an image that was read, such as the vDSO's. */
int guest_image_build_id(const struct file_image *image, struct build_id *ret);

/*
 * The vDSO of @process, an ELF image: from the process's pages, or those that it has not touched
 * from the kernel's own copy, where that is known; else they are missing. -ENOENT: it has
 * none; -ENODATA: nothing of it is there.
 */
int guest_vdso_image(const struct guest *guest, const struct guest_process *process,
		     struct file_image **ret);

#endif
