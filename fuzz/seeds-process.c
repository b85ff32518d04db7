/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes where the task, the mappings, the names and the tree's nodes are. */
#include <stdio.h>

#include "build-patches.h"
#include "seeds.h"

#define AREA 0x4000	/* about as much as the structures take */

static int write_form(u8 form)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	char name[32];
	int err;

	put_u8(&out, form);
	snprintf(name, sizeof(name), "plain-%u", form);
	err = seed_write(name, out.data, out.len);
	/* A few words each, all over the area, in seeds of their own. */
	for (u32 part = 0; part < 16 && !err; part++) {
		const char *word = part & 1 ? "\0\0\0\0\201\210\377\377" :
					      "\377\377\377\377\377\377\377\177";

		strbuf_reset(&out);
		put_u8(&out, form);
		for (u32 at = part * 8; at < AREA; at += 0x438)
			build_patches_put(&out, at, word, 8);
		snprintf(name, sizeof(name), "patched-%u-%u", form, part);
		err = strbuf_error(&out) ?: seed_write(name, out.data, out.len);
	}
	return err;
}

int write_seeds(void)
{
	int err = 0;

	for (u8 form = 0; form < 3 && !err; form++)
		err = write_form(form);
	return err;
}
