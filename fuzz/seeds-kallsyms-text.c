/* SPDX-License-Identifier: GPL-2.0-only */
/* Seeds of fuzz-kallsyms-text: a flag byte, then a text. */
#include <string.h>

#include "seeds.h"

int write_seeds(void)
{
	static const char kernel[] =
		"\0ffffffff81000000 T _text\nffffffff81000070 t __pfx_a\n0 A percpu\n";
	static const char modules[] =
		"\1ffffffff81000000 T _text\nffffffffc0201000 t read\t[ext4]\n"
		"ffffffffc0100000 T start\t[jbd2]\nffffffffc0201100 W read\t[ext4]\n";
	int err = seed_write("kernel", kernel, sizeof(kernel) - 1);

	return err ? err : seed_write("modules", modules, sizeof(modules) - 1);
}
