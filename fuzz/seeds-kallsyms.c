/* SPDX-License-Identifier: GPL-2.0-only */
/* One small table of each layout. */
#include "build-kallsyms.h"
#include "seeds.h"

int write_seeds(void)
{
	static const u64 start = 0xffffffff81000000;
	static const struct build_ksym symbols[] = {
		{ .address = 0xffffffff81000000, .type = 'T', .name = "_text" },
		{ .address = 0xffffffff81000040, .type = 'T', .name = "do_read" },
		{ .address = 0xffffffff81000080, .type = 't', .name = "do_write" },
		{ .address = 0xffffffff81001000, .type = 'D', .name = "modules" },
	};
	int err = 0;

	for (size_t i = 0; i < BUILD_KALLSYMS_RELEASES && !err; i++) {
		_cleanup_strbuf_ struct strbuf image = STRBUF_INIT;

		build_kallsyms(&image, start, &build_kallsyms_releases[i].format, symbols,
			       ARRAY_SIZE(symbols), NULL);
		err = strbuf_error(&image);
		if (!err)
			err = seed_write(build_kallsyms_releases[i].name, image.data, image.len);
	}
	return err;
}
