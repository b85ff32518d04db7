/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes where the modules' structures, symbols and tables are. */
#include <stdio.h>

#include "build-patches.h"
#include "seeds.h"

int write_seeds(void)
{
	int err = 0;

	for (u8 release = 0; release < 2 && !err; release++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		char name[32];

		put_u8(&out, release);
		snprintf(name, sizeof(name), "plain-%u", release);
		err = seed_write(name, out.data, out.len);
		/* Things lie at the starts of pages here, every second page being a hole. */
		for (u32 page = 0; page < 24; page++)
			build_patches_put(&out, page * 4096 + (page % 5) * 8,
					  "\377\377\377\377\377\377\377\177", 8);
		snprintf(name, sizeof(name), "patched-%u", release);
		err = err ?: strbuf_error(&out) ?: seed_write(name, out.data, out.len);
	}
	return err;
}
