/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds for fuzz-exit-names. */
#include <string.h>

#include "build-exits.h"
#include "seeds.h"

static int write_text(const char *name, const char *text)
{
	return seed_write(name, text, strlen(text));
}

int write_seeds(void)
{
	int err = write_text("x86", BUILD_EXITS_X86);

	err = err ?: write_text("arm64", BUILD_EXITS_ARM64);
	return err ?: write_text("arm64-new", BUILD_EXITS_ARM64_NEW);
}
