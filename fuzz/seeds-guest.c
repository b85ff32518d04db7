/* SPDX-License-Identifier: GPL-2.0-only */
/* For each release of x86 and of arm64: no change, and one in each part of the image. */
#include <stdio.h>

#include "build-patches.h"
#include "seeds.h"

int write_seeds(void)
{
	static const u32 places[] = {
		BUILD_GUEST_BANNER + 14, BUILD_GUEST_NOTES, BUILD_GUEST_BTF + 8,
		BUILD_GUEST_BTF + 200, BUILD_GUEST_KALLSYMS, BUILD_GUEST_KALLSYMS + 5000,
		BUILD_GUEST_ORC_IP, BUILD_GUEST_ORC, BUILD_GUEST_MODULES, BUILD_GUEST_BOOT_PARAMS,
	};
	int err = 0;

	for (u8 release = 0; release < 2 * BUILD_KALLSYMS_RELEASES && !err; release++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		char name[32];

		put_u8(&out, release);
		snprintf(name, sizeof(name), "plain-%u", release);
		err = seed_write(name, out.data, out.len);
		for (size_t i = 0; i < ARRAY_SIZE(places); i++)
			build_patches_put(&out, places[i], "\377\377\377\177", 4);
		snprintf(name, sizeof(name), "patched-%u", release);
		err = err ?: strbuf_error(&out) ?: seed_write(name, out.data, out.len);
	}
	return err;
}
