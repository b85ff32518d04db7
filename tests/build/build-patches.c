/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes to a guest's memory, applied and taken back. */
#include "build-patches.h"

#include <string.h>

#include "base/cursor.h"

static bool apply(struct build_patches *patches, u64 gva, const u8 *bytes, u8 size)
{
	struct mmu_space space = build_pagetable_space(&patches->guest->pages);
	u8 *before = patches->undo[patches->nr].before;

	/* Holes stay holes. */
	if (mmu_read(&space, mem_fake_reader(patches->guest->mem), GVA(gva), before, size))
		return false;
	patches->undo[patches->nr].gva = gva;
	patches->undo[patches->nr].size = size;
	build_guest_poke(patches->guest, gva, bytes, size);
	return true;
}

void build_patches_apply(struct build_patches *patches, const u8 *data, size_t size)
{
	struct cursor c;

	cursor_init(&c, data, size);
	patches->nr = 0;
	while (patches->nr < BUILD_PATCHES_MAX) {
		u32 offset = cursor_u32(&c);
		u8 part = cursor_u8(&c);
		const u8 *bytes = cursor_bytes(&c, part);

		if (cursor_error(&c))
			break;
		if (apply(patches, patches->start + offset % patches->size, bytes, part))
			patches->nr++;
	}
}

void build_patches_undo(struct build_patches *patches)
{
	while (patches->nr) {
		patches->nr--;
		build_guest_poke(patches->guest, patches->undo[patches->nr].gva,
				 patches->undo[patches->nr].before,
				 patches->undo[patches->nr].size);
	}
}

void build_patches_put(struct strbuf *out, u32 offset, const void *bytes, u8 size)
{
	put_u32(out, offset);
	put_u8(out, size);
	strbuf_add(out, bytes, size);
}
