/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest kernel's image: where its mapping is, and its bytes.
 *
 * x86-64 Linux maps its image in the 1 GiB from __START_KERNEL_map on, and after early boot nothing
 * else there (cleanup_highmap()). Text, read-only data and data may lie in 2 MiB or 4 KiB pages;
 * gaps between them, and the init sections after boot, may be unmapped.
 *
 * arm64 Linux has its image anywhere among its modules and what vmalloc() gives out; but in
 * physical memory it lies in one piece. From 5.11 on (e2a073dde921 "arm64: omit [_text, _stext)
 * from permanent kernel mapping") its first 64 KiB are not mapped.
 *
 * i386 Linux runs in its mapping of all memory, 1 GiB from PAGE_OFFSET on in most builds. There
 * text and read-only data are what cannot be written (mark_rodata_ro()): that counts as the image
 * here. Addresses are sign-extended, so that they are in the upper half, as any kernel's.
 */
#ifndef GUEST_IMAGE_H
#define GUEST_IMAGE_H

#include "base/types.h"
#include "mem/reader.h"
#include "mmu/translate.h"

#define IMAGE_X86_BASE 0xffffffff80000000ULL	/* __START_KERNEL_map */
#define IMAGE_X86_SIZE (1ULL << 30)		/* KERNEL_IMAGE_SIZE with CONFIG_RANDOMIZE_BASE */
#define IMAGE_ALIGN (2ULL << 20)		/* least CONFIG_PHYSICAL_ALIGN on x86-64 */

#define IMAGE_ARM64_HEAD 0x10000ULL		/* _stext - _text, from 5.11 on */
#define IMAGE_I386_BASE 0xffffffffc0000000ULL	/* PAGE_OFFSET with CONFIG_VMSPLIT_3G */

#define IMAGE_MIN_SIZE (1ULL << 20)
#define IMAGE_MAX_SIZE (256ULL << 20)

struct image {
	u64 start;	/* guest address of the first byte: _text */
	u64 size;
	u64 missing;	/* bytes of it that are not mapped or could not be read: zeros */
	u8 word;	/* bytes of a long in it: 8, or 4 of i386 */
	u8 *data;	/* NULL until image_read() */
};

/*
 * Finds the image in @space: the group of mappings that holds @hint, when that is a kernel address
 * of the range, else the largest. -ENOENT when nothing as large as a kernel is mapped there: user
 * page tables of a guest with page-table isolation hold the entry code only.
 */
int image_find(const struct mmu_space *space, const struct mem_reader *mem, u64 hint,
	       struct image *ret);

/*
 * The same for arm64: the pages that lie to each other in physical memory as in the kernel's space,
 * around @hint, an address of its text or of its read-only data, between which there is no gap. The
 * start is the first page that is mapped.
 */
int image_find_arm64(const struct mmu_space *space, const struct mem_reader *mem, u64 hint,
		     struct image *ret);

/*
 * For want of such an address: the image holds the kernel's own table, swapper_pg_dir, which is the
 * upper half's. *@ret_hint: where that is mapped. -ENOENT: nowhere, so that @space has another.
 */
int image_find_arm64_table(const struct mmu_space *space, const struct mem_reader *mem,
			   u64 *ret_hint);

/* Reads all of it. -E2BIG over IMAGE_MAX_SIZE, or an error of @mem other than -EFAULT. */
int image_read(struct image *image, const struct mmu_space *space, const struct mem_reader *mem);

/*
 * Reads @size bytes at @offset of an image that was found but need not have been read. -EFAULT when
 * some of them are not there.
 */
int image_read_part(const struct image *image, const struct mmu_space *space,
		    const struct mem_reader *mem, u64 offset, u64 size, void *out);

void image_deinit(struct image *image);

/* Whether [@address, @address + @size) lies inside. */
static inline bool image_holds(const struct image *image, u64 address, u64 size)
{
	return address >= image->start && address - image->start <= image->size &&
	       size <= image->size - (address - image->start);
}

#endif
