/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changes to a guest's memory as bytes: what a fuzzer mutates is a list of them, not megabytes of
 * memory. Each is a u32 offset, a u8 size and as many bytes.
 */
#ifndef BUILD_PATCHES_H
#define BUILD_PATCHES_H

#include "build-guest-image.h"

#define BUILD_PATCHES_MAX 64

struct build_patches {
	struct build_guest *guest;
	u64 start, size;	/* the guest addresses that offsets are taken in, wrapped around */
	unsigned int nr;
	struct {
		u64 gva;
		u8 size;
		u8 before[255];
	} undo[BUILD_PATCHES_MAX];
};

/* Applies as many as there are in @data. */
void build_patches_apply(struct build_patches *patches, const u8 *data, size_t size);
void build_patches_undo(struct build_patches *patches);

/* Appends one. */
void build_patches_put(struct strbuf *out, u32 offset, const void *bytes, u8 size);

#endif
