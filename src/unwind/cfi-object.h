/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an ELF file of x86-64, i386 or arm64 has its call frame information. Used by cfi-table.c
 * only.
 */
#ifndef UNWIND_CFI_OBJECT_H
#define UNWIND_CFI_OBJECT_H

#include "unwind/cfi-program.h"

#define CFI_MAX_LOADS 32

struct cfi_load {
	u64 address, mem_size;
	u64 offset, file_size;
	bool exec;
};

/* Sections point into the file; those that are not there have no size. */
struct cfi_object {
	struct cfi_load loads[CFI_MAX_LOADS];
	unsigned int nr_loads;
	struct cfi_section hdr;		/* .eh_frame_hdr */
	struct cfi_section eh_frame;
	struct cfi_section debug_frame;
	struct cfi_section sframe;
	void *debug_copy;		/* owned: what .debug_frame points at when it was packed */
	bool missing;			/* what would lead to a section lies in a hole */
	bool is_arm64;
};

/*
 * Looks into the file of @size bytes at @data, of which @image (may be NULL: all) knows the holes.
 * Packed sections are unpacked only where @trusted, through libelf. -ENODATA when the file's head
 * is not known or cut, -EBADMSG for no ELF file, -EOPNOTSUPP for another machine's, -E2BIG.
 */
int cfi_object_init(struct cfi_object *object, const u8 *data, u64 size,
		    const struct file_image *image, bool trusted);
void cfi_object_deinit(struct cfi_object *object);

/* The segment that @address is in, or NULL. */
const struct cfi_load *cfi_object_load(const struct cfi_object *object, u64 address);

#endif
