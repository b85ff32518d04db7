/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of this folder know of an identified guest beyond guest/guest.h. */
#ifndef GUEST_GUEST_PRIVATE_H
#define GUEST_GUEST_PRIVATE_H

#include "guest/guest.h"
#include "guest/kernel-build.h"
#include "guest/kread.h"

struct guest_view {
	const struct mem_reader *mem;
	struct mmu_space space;			/* the kernel's */
	const struct kernel_layout *layout;	/* the guest's */
};

/* -ENOENT when the kernel is not identified. */
int guest_get_view(const struct guest *guest, struct guest_view *ret);

/* The address of a place of the kernel, 0 when it is not known. */
u64 guest_place(const struct guest *guest, enum build_place_id id);

#endif
