/* SPDX-License-Identifier: GPL-2.0-only */
/* No change, and each word of the first entries made one that leads elsewhere. */
#include <stdio.h>

#include "build-ksyms.h"
#include "build-patches.h"
#include "seeds.h"

int write_seeds(void)
{
	static const u64 words[] = { 0, ~0ULL, BUILD_OBJECTS, 0xdead000000000100ULL };
	int err = seed_write("plain", "", 0);

	for (u32 at = 0; at < 2 * BUILD_KSYM_BYTES && !err; at += 24) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		char name[32];

		build_patches_put(&out, at, &words[at / 24 % ARRAY_SIZE(words)], 8);
		snprintf(name, sizeof(name), "at-%03x", at);
		err = strbuf_error(&out) ?: seed_write(name, out.data, out.len);
	}
	return err;
}
