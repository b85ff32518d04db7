/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes where the nodes of the array, the inode and the "struct page" are. */
#include <stdio.h>

#include "build-patches.h"
#include "seeds.h"

#define AREA 0x2000

static int write_form(u8 form)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	char name[32];
	int err;

	put_u8(&out, form);
	snprintf(name, sizeof(name), "plain-%u", form);
	err = seed_write(name, out.data, out.len);
	for (u32 part = 0; part < 8 && !err; part++) {
		strbuf_reset(&out);
		put_u8(&out, form);
		for (u32 at = part * 8; at < AREA; at += 0x148)
			build_patches_put(&out, at, part & 1 ? "\2\0\0\0\201\210\377\377" :
							       "\6\0\0\0\0\0\0\0", 8);
		snprintf(name, sizeof(name), "patched-%u-%u", form, part);
		err = strbuf_error(&out) ?: seed_write(name, out.data, out.len);
	}
	return err;
}

int write_seeds(void)
{
	static const u8 forms[] = { 0, 1, 2, 0x80, 0x81, 0x82 };
	int err = 0;

	for (size_t i = 0; i < sizeof(forms) && !err; i++)
		err = write_form(forms[i]);
	return err;
}
