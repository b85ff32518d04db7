/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel builds that are known already. The public part is in guest/guest.h. */
#ifndef GUEST_CACHE_H
#define GUEST_CACHE_H

#include "guest/kernel-build.h"

/*
 * The build that @image, found but not read, is of. The reference is the caller's. -ENOENT when
 * it is none that is known.
 */
int cache_find(struct guest_cache *cache, const struct image *image,
	       const struct mmu_space *space, const struct mem_reader *mem,
	       struct kernel_build **ret);

/*
 * Keeps @build, which was made of @image, in memory and in the folder. Builds without a build id,
 * with addresses that loading changes, or of which only a part was found are not kept. An error
 * says why the folder does not have it; the guest is none the worse.
 */
int cache_add(struct guest_cache *cache, const struct image *image, struct kernel_build *build);

#endif
