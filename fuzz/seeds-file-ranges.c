/* SPDX-License-Identifier: GPL-2.0-only */
/* A large file as it should be, and with headers that claim too much. */
#include <string.h>

#include "build-large.h"
#include "build-program.h"
#include "seeds.h"

static int write_seed(const char *name, const struct build_large *large,
		      const struct strbuf *library)
{
	static u8 pages[BUILD_LARGE_PAGES][4096];

	build_large_pages(large, library, pages);
	return seed_write(name, pages, sizeof(pages));
}

int write_seeds(void)
{
	struct build_program program;
	struct build_large large;
	int err;

	build_program_init(&program);
	build_large_init(&large, 3 << 20, &program.file);
	err = write_seed("whole", &large, &program.file);
	large.sections[1].sh_size = large.size;
	if (!err)
		err = write_seed("table", &large, &program.file);
	large.segments[0].p_type = PT_DYNAMIC;
	if (!err)
		err = write_seed("dynamic", &large, &program.file);
	large.header.e_shnum = large.header.e_phnum = UINT16_MAX;
	if (!err)
		err = write_seed("many", &large, &program.file);
	build_program_deinit(&program);
	return err;
}
